"""The order of calls: which calls wait for others to end. Calls begin in the order in which they were
made.

The effects of earlier calls decide what a call waits for. Calls that touch the same files or share a
state (a kernel, a shell, a server) run one after the other; others run concurrently, but still begin in
order. Slots are taken one by one before calls run, so no cycles occur. Independently of this,
`tools.files.mutations` lets one call at a time change a file."""

import asyncio
from collections.abc import Iterable
from pathlib import Path

import msgspec

from tools.effects import Effects
from tools.operations import FileOperations

ResourceKey = str
"""An absolute path, which stands for everything below it too, or the identity of a file with several
names."""


class ResourceClaim(msgspec.Struct, frozen=True, kw_only=True):
    """What a call reads and changes, by which its order is decided."""

    reads: frozenset[ResourceKey] = frozenset()
    changes: frozenset[ResourceKey] = frozenset()
    names: frozenset[ResourceKey] = frozenset()
    """Paths named in a command, which may read or change them."""
    working_folder: ResourceKey | None = None
    """The folder of a command, which may also read anything in it."""
    state: str = ""
    keeps_state: bool = False

    @property
    def is_command(self) -> bool:
        return self.working_folder is not None


def claim_of_call(effects: Effects, files: FileOperations) -> ResourceClaim:
    """Returns the claim of a call with these effects. Reads the file system, so run it in a thread."""
    program = effects.runs
    return ResourceClaim(
        reads=_keys(files, (*effects.reads, *effects.lists)),
        changes=_keys(files, effects.writes) | (program.written if program else frozenset[ResourceKey]()),
        names=program.named if program else frozenset[ResourceKey](),
        working_folder=program.folder if program else None,
        state=effects.state,
        keeps_state=effects.keeps_state,
    )


def must_wait_for(later: ResourceClaim, earlier: ResourceClaim) -> bool:
    """Whether the later of two calls may begin only after the earlier has ended.

    Reads wait for changes, changes for both. A command waits for every earlier change by a tool; tools
    wait for a command that names their file, and commands for a tool that changes a file they name."""
    if later.state and later.state == earlier.state and not (later.keeps_state and earlier.keeps_state):
        return True
    if later.is_command and earlier.is_command:
        return _overlap(earlier.changes, later.names | later.changes)
    if later.is_command:
        return bool(earlier.changes) or _overlap(earlier.reads, later.names | later.changes)
    own = later.reads | later.changes
    if earlier.working_folder is not None:
        # Every word of a command counts as a name in its folder, so reads of the whole folder need not wait.
        own -= _with_parents(earlier.working_folder)
    return _overlap(earlier.changes | earlier.names, own) or _overlap(earlier.reads, later.changes)


def _keys(files: FileOperations, paths: Iterable[str]) -> frozenset[ResourceKey]:
    """Returns the real paths and the identities of the files that they link to."""
    found: set[ResourceKey] = set()
    for path in paths:
        try:
            found.add(files.real_path(path))
            stat = files.stat(path)
        except (OSError, ValueError):
            continue
        if stat.kind == "file" and stat.inode:
            found.add(f"inode {stat.device}:{stat.inode}")
    return frozenset(found)


def _overlap(some: frozenset[ResourceKey], others: frozenset[ResourceKey]) -> bool:
    """Whether a path of one set equals or is inside a path of the other."""
    if not some or not others:
        return False
    return any(_with_parents(path) & others for path in some) or any(
        _with_parents(path) & some for path in others
    )


def _with_parents(path: ResourceKey) -> set[ResourceKey]:
    return {path, *map(str, Path(path).parents)}


class CallSlot:
    """The place of a call in the order. The call leaves it once, when it has its result."""

    def __init__(self, claim: ResourceClaim, earlier: tuple["CallSlot", ...]) -> None:
        self.claim = claim
        self._earlier = earlier
        self._behind = tuple(place for place in earlier if must_wait_for(claim, place.claim))
        self._left = asyncio.Event()
        self._begun = asyncio.Event()
        """Set when the call has begun or left its slot."""
        self._followers: list[CallSlot] = []
        for place in self._behind:
            place._followers.append(self)

    @property
    def is_waited_for(self) -> bool:
        return any(not later.is_left for later in self._followers)

    @property
    def is_left(self) -> bool:
        return self._left.is_set()

    @property
    def has_to_wait(self) -> bool:
        return any(not place.is_left for place in self._behind)

    async def reached(self) -> None:
        """Waits until the calls it depends on have ended."""
        for place in self._behind:
            await place._left.wait()

    async def ready(self) -> None:
        """Waits until the calls it depends on have ended and all earlier calls have begun."""
        for place in self._behind:
            await place._left.wait()
        await self.turn()

    async def turn(self) -> None:
        """Waits until earlier calls have begun, except those that wait for others to end. The caller must
        start the tool without awaiting anything else, or later calls would pass it."""
        for place in self._earlier:
            if not place.has_to_wait:
                await place._begun.wait()
        self.begin()

    def begin(self) -> None:
        self._begun.set()

    def leave(self) -> None:
        self._begun.set()
        self._left.set()


class CallOrder:
    """The order of the calls of one answer, or of the calls made within one call."""

    def __init__(self) -> None:
        self._places: list[CallSlot] = []

    def take(self, claim: ResourceClaim) -> CallSlot:
        self._places = [place for place in self._places if not place.is_left]
        place = CallSlot(claim, tuple(self._places))
        self._places.append(place)
        return place
