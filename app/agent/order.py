"""The order of calls: which waits until which has ended, and that they begin as they were made.

What a call waits for follows from the effects of the calls before it. Calls that touch the same files, or share a state
(a kernel, a shell, a server), run one after the other; the others run side by side, and begin in their order all the
same. A place is taken before the call runs, one call after the other, so no calls wait for each other in a circle. No
two calls change one file at the same time in any case: that is `tools.files.mutations`' business.
"""

import asyncio
from collections.abc import Iterable
from pathlib import Path

import msgspec

from tools.effects import Effects
from tools.operations import FileOperations

Key = str
"""An absolute path, which stands for all that is below it too, or a file by whichever name it goes."""


class ResourceClaim(msgspec.Struct, frozen=True, kw_only=True):
    """What a call needs in its order."""

    reads: frozenset[Key] = frozenset()
    changes: frozenset[Key] = frozenset()
    names: frozenset[Key] = frozenset()
    """Named in a command, which may read them or change them."""
    works_in: Key | None = None
    """The folder of a command, which may read whatever there is, besides."""
    state: str = ""
    keeps_state: bool = False

    @property
    def is_command(self) -> bool:
        return self.works_in is not None


def claim_of(effects: Effects, files: FileOperations) -> ResourceClaim:
    """Looks at files, so it is for a thread."""
    program = effects.runs
    return ResourceClaim(
        reads=_keys(files, (*effects.reads, *effects.lists)),
        changes=_keys(files, effects.writes) | (program.written if program else frozenset[Key]()),
        names=program.named if program else frozenset[Key](),
        works_in=program.folder if program else None,
        state=effects.state,
        keeps_state=effects.keeps_state,
    )


def must_wait_for(later: ResourceClaim, earlier: ResourceClaim) -> bool:
    """Whether the later of two calls begins only when the earlier one has ended.

    Reads wait for changes and changes for both. A command waits for every change of a tool before it; tools wait for a
    command that names their file, and commands for one that writes into a file that they name.
    """
    if later.state and later.state == earlier.state and not (later.keeps_state and earlier.keeps_state):
        return True
    if later.is_command and earlier.is_command:
        return _overlap(earlier.changes, later.names | later.changes)
    if later.is_command:
        return bool(earlier.changes) or _overlap(earlier.reads, later.names | later.changes)
    own = later.reads | later.changes
    if earlier.works_in is not None:
        # Every word is a name in its folder: whoever looks at all of that is not meant.
        own -= _with_parents(earlier.works_in)
    return _overlap(earlier.changes | earlier.names, own) or _overlap(earlier.reads, later.changes)


def _keys(files: FileOperations, paths: Iterable[str]) -> frozenset[Key]:
    """The paths as they really are, and the files that they are links to."""
    found: set[Key] = set()
    for path in paths:
        try:
            found.add(files.real_path(path))
            stat = files.stat(path)
        except (OSError, ValueError):
            continue
        if stat.kind == "file" and stat.inode:
            found.add(f"inode {stat.device}:{stat.inode}")
    return frozenset(found)


def _overlap(some: frozenset[Key], others: frozenset[Key]) -> bool:
    """Whether one of these is one of those, or lies in it."""
    if not some or not others:
        return False
    return any(_with_parents(path) & others for path in some) or any(
        _with_parents(path) & some for path in others
    )


def _with_parents(path: Key) -> set[Key]:
    return {path, *map(str, Path(path).parents)}


class CallSlot:
    """Where a call stands. It is left once, when the call has its result."""

    def __init__(self, claim: ResourceClaim, earlier: tuple["CallSlot", ...]) -> None:
        self.claim = claim
        self._earlier = earlier
        self._behind = tuple(place for place in earlier if must_wait_for(claim, place.claim))
        self._left = asyncio.Event()
        self._begun = asyncio.Event()
        """Or it will not begin before calls that are still under way have ended."""
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
        """Those that it waits for have ended."""
        for place in self._behind:
            await place._left.wait()

    async def ready(self) -> None:
        """Both: those that it waits for have ended, and those before it have begun."""
        for place in self._behind:
            await place._left.wait()
        await self.turn()

    async def turn(self) -> None:
        """Until those before it have begun, but for the ones that wait for others to end. From here on it may begin at
        once: what is awaited between this and the first step of the tool would let later calls pass."""
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
    """Of the calls of one answer, or of those that are made within one call."""

    def __init__(self) -> None:
        self._places: list[CallSlot] = []

    def take(self, claim: ResourceClaim) -> CallSlot:
        self._places = [place for place in self._places if not place.is_left]
        place = CallSlot(claim, tuple(self._places))
        self._places.append(place)
        return place
