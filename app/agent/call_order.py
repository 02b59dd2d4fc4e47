"""The order of calls: which calls wait for others to end. Calls begin in the order in which they were
made.

The effects of earlier calls decide what a call waits for. Calls that touch the same files or share a
state (a kernel, a shell, a server) run one after the other; others run concurrently, but still begin in
order. Slots are taken one by one before calls run, so no cycles occur. Independently of this,
`tools.files.file_changes` lets one call at a time change a file."""

import asyncio
from collections.abc import Iterable
from pathlib import Path

import msgspec

from tools.call_effects import Effects
from tools.file_and_process_operations import FileOperations

ResourceKey = str
"""An absolute path, which stands for everything below it too, or the identity of a file with several
names."""


class CallResourceClaim(msgspec.Struct, frozen=True, kw_only=True):
    """The files and shared states that a tool call reads or changes, which decide its place in the order of calls."""

    reads: frozenset[ResourceKey] = frozenset()
    changes: frozenset[ResourceKey] = frozenset()
    named_paths: frozenset[ResourceKey] = frozenset()
    """Paths named in a command, which the command may read or change."""
    working_folder: ResourceKey | None = None
    """The working folder of a command, in which it may read anything; None for other calls."""
    shared_state: str = ""
    leaves_state_unchanged: bool = False

    @property
    def is_command(self) -> bool:
        return self.working_folder is not None


def resource_claim_of_call(effects: Effects, files: FileOperations) -> CallResourceClaim:
    """Returns the files and shared states that a tool call with these effects reads or changes. Reads the file
    system, so run it in a thread."""
    program = effects.runs
    return CallResourceClaim(
        reads=_file_identities(files, (*effects.reads, *effects.lists)),
        changes=_file_identities(files, effects.writes)
        | (program.written if program else frozenset[ResourceKey]()),
        named_paths=program.named if program else frozenset[ResourceKey](),
        working_folder=program.folder if program else None,
        shared_state=effects.state,
        leaves_state_unchanged=effects.keeps_state,
    )


def must_call_wait_for(later: CallResourceClaim, earlier: CallResourceClaim) -> bool:
    """Returns whether the later of two calls may begin only after the earlier has ended.

    Reads wait for changes, changes for both. A command waits for every earlier change by a tool; tools wait for a
    command that names their file, and commands for a tool that changes a file they name.
    """
    if (
        later.shared_state
        and later.shared_state == earlier.shared_state
        and not (later.leaves_state_unchanged and earlier.leaves_state_unchanged)
    ):
        return True
    if later.is_command and earlier.is_command:
        return _paths_overlap(earlier.changes, later.named_paths | later.changes)
    if later.is_command:
        return bool(earlier.changes) or _paths_overlap(earlier.reads, later.named_paths | later.changes)
    own = later.reads | later.changes
    if earlier.working_folder is not None:
        # Every word of a command counts as a name in its folder, so reads of the whole folder need not wait.
        own -= _with_parent_folders(earlier.working_folder)
    return _paths_overlap(earlier.changes | earlier.named_paths, own) or _paths_overlap(
        earlier.reads, later.changes
    )


def _file_identities(files: FileOperations, paths: Iterable[str]) -> frozenset[ResourceKey]:
    """Returns the real paths of files, and the device and inode of each, by which hard links to one file are
    recognised."""
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


def _paths_overlap(some: frozenset[ResourceKey], others: frozenset[ResourceKey]) -> bool:
    """Returns whether a path of one set is equal to, or inside, a path of the other."""
    if not some or not others:
        return False
    return any(_with_parent_folders(path) & others for path in some) or any(
        _with_parent_folders(path) & some for path in others
    )


def _with_parent_folders(path: ResourceKey) -> set[ResourceKey]:
    return {path, *map(str, Path(path).parents)}


class CallOrderSlot:
    """The place of a tool call in the order of calls. It is released once, when the call has its result."""

    def __init__(self, claim: CallResourceClaim, earlier: tuple["CallOrderSlot", ...]) -> None:
        self.claim = claim
        self._earlier_slots = earlier
        self._waits_for = tuple(place for place in earlier if must_call_wait_for(claim, place.claim))
        self._left_event = asyncio.Event()
        self._begun_event = asyncio.Event()
        """An event that is set when the call has begun or has left its slot."""
        self._followers: list[CallOrderSlot] = []
        for place in self._waits_for:
            place._followers.append(self)

    @property
    def has_waiting_calls(self) -> bool:
        return any(not later.is_released for later in self._followers)

    @property
    def is_released(self) -> bool:
        return self._left_event.is_set()

    @property
    def is_blocked(self) -> bool:
        return any(not place.is_released for place in self._waits_for)

    async def wait_for_dependencies(self) -> None:
        """Waits until the earlier tool calls that this one depends on have ended."""
        for place in self._waits_for:
            await place._left_event.wait()

    async def wait_for_turn(self) -> None:
        """Waits until earlier tool calls have begun, except those that wait for others to end. The caller must
        start the tool without awaiting anything else, or later calls would pass it."""
        for place in self._earlier_slots:
            if not place.is_blocked:
                await place._begun_event.wait()
        self.mark_begun()

    def mark_begun(self) -> None:
        self._begun_event.set()

    def release(self) -> None:
        self._begun_event.set()
        self._left_event.set()


class ToolCallOrder:
    """The order of the tool calls of one answer, or of the calls made within one call."""

    def __init__(self) -> None:
        self._slots: list[CallOrderSlot] = []

    def add_call(self, claim: CallResourceClaim) -> CallOrderSlot:
        self._slots = [place for place in self._slots if not place.is_released]
        place = CallOrderSlot(claim, tuple(self._slots))
        self._slots.append(place)
        return place
