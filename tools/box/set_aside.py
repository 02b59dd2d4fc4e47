"""Moves autorun files that a sandboxed command created out of the workspace, and keeps them.

A mount cannot protect a missing file. An editor, or entering the folder, would run a new autorun file outside of
the sandbox, so it is moved before any other program sees it. The user can allow the place. Repositories are left
in place: the files in them that start programs are reported."""

import os
import shutil
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import msgspec

from tools.box.git_copies import GitCopies, RestoredFiles
from tools.box.nested import NestedPathFinder, NestedPaths
from tools.box.planted import (
    Snapshot,
    changed_paths,
    file_stamp,
    links_in_git,
    programs_of_git,
    take_snapshot,
)
from tools.box.policy import Box, covering_place, is_below
from tools.protected.later import VCS_FOLDERS

_Activity = dict[str, bytes]
"""For each thread below this process, by its folder in `/proc`, how long and how often it has run: one that has not
run has not changed a file."""
_SETTLE_SECONDS: Final = 0.01
_MAX_TRIES: Final = 5


class SetAside(msgspec.Struct, frozen=True):
    path: str
    """Where the command created the file."""
    kept: str
    """Where the file is now."""


class BoxSnapshot(msgspec.Struct, frozen=True):
    """The state of the unprotected places at one moment."""

    files: Snapshot = {}
    autorun_files: frozenset[str] = frozenset()
    """The autorun files among them."""
    limits: tuple[str, ...] = ()
    """Places where the search stopped."""


class BoxChanges(msgspec.Struct, frozen=True, kw_only=True):
    """Changes by a command that its sandbox could not prevent."""

    planted: tuple[str, ...] = ()
    """Autorun files that the command created or changed, and that stay."""
    set_aside: tuple[SetAside, ...] = ()
    """Autorun files that were moved out of the workspace."""
    put_back: tuple[RestoredFiles, ...] = ()
    """Parts of git folders that were destroyed and restored."""
    limits: tuple[str, ...] = ()
    """Places where the search stopped, so that there may be more changes; each is reported once."""


class _Lasting(msgspec.Struct, frozen=True, kw_only=True):
    """The processes that last beyond a call."""

    box: Box
    """Their policy."""
    seen: BoxSnapshot
    """The state at the last comparison."""
    activity: _Activity = {}
    """What they had done right before it; empty if that is unknown."""


class AutorunGuard:
    """Compares the places of one session that its sandboxes cannot protect: around each process, and between calls
    while a process lasts that is not tied to one, such as an MCP server. All methods but `accept` are for threads."""

    def __init__(
        self,
        nested: NestedPathFinder,
        private_folder: Callable[[str], Path],
        folder: Callable[[], Path],
    ) -> None:
        """`private_folder` makes one for copies of git's files. Moved files are kept below `folder`."""
        self._nested = nested
        self._copies = GitCopies(private_folder)
        self._folder = folder
        self._lock = threading.Lock()
        self._lasting: _Lasting | None = None
        self._lasting_names: dict[str, None] = {}
        self._untold = BoxChanges()
        self._accepted: dict[str, tuple[int, ...]] = {}
        """The files that bayou itself wrote, each as it was then."""

    @property
    def is_watching(self) -> bool:
        return self._lasting is not None

    @property
    def lasting_names(self) -> tuple[str, ...]:
        return tuple(self._lasting_names)

    def before(self, box: Box | None) -> BoxSnapshot:
        """Takes a snapshot before a process; `after` follows each. `box` None: it runs outside."""
        if box is None or box.kind == "work":
            self._note(self._compare_lasting())
        if box is not None and box.repositories:
            self._copies.take(box.repositories)
        return _take_snapshot(_current_box(box), self._nested)

    def after(self, before: BoxSnapshot, box: Box | None) -> BoxChanges:
        """Returns the changes by a process that has ended."""
        restored = self._copies.put_back(box.repositories) if box is not None and box.repositories else ()
        changes, _ = self.so_far(before, box)
        return msgspec.structs.replace(changes, put_back=restored)

    def so_far(self, before: BoxSnapshot, box: Box | None) -> tuple[BoxChanges, BoxSnapshot]:
        """Returns the changes by a running process, and the present snapshot."""
        found = self._compare(before, _current_box(box))
        if box is None or box.kind == "work":
            self._take_as_known()
        return found

    def watch(self, box: Box, name: str) -> None:
        """Begins to compare between calls, before the process `name` starts; again if its policy has changed."""
        with self._lock:
            self._lasting_names[name] = None
            now = _current_box(box)
            assert now is not None
            known = self._lasting or _Lasting(box=now, seen=_take_snapshot(now, self._nested))
            self._lasting = msgspec.structs.replace(known, box=now)

    def between(self) -> BoxChanges:
        """Returns the changes that no call accounts for, since the last time."""
        self._note(self._compare_lasting())
        with self._lock:
            found, self._untold = self._untold, BoxChanges()
        return found

    def close(self) -> None:
        self._copies.close()

    def accept(self, path: str) -> None:
        """Leaves a file in place that bayou itself has written, because it was allowed to."""
        real = os.path.realpath(path)
        self._accepted[real] = file_stamp(real)

    def _compare_lasting(self) -> BoxChanges:
        """What appeared while none of the processes ran was made by somebody else, such as the user."""
        with self._lock:
            if self._lasting is None:
                return BoxChanges()
            activity = _settled_activity()
            box, before = self._lasting.box, self._lasting.seen
            after = _take_snapshot(box, self._nested)
            changes = BoxChanges()
            if after.files != before.files and _has_run(self._lasting.activity, _current_activity()):
                changes, after = self._compare(before, box)
            self._lasting = _Lasting(box=box, seen=after, activity=activity)
            return changes

    def _take_as_known(self) -> None:
        """Takes what is there now as done by a process that was allowed to, or named for it."""
        with self._lock:
            if self._lasting is not None:
                seen = _take_snapshot(self._lasting.box, self._nested)
                self._lasting = msgspec.structs.replace(self._lasting, seen=seen, activity={})

    def _note(self, changes: BoxChanges) -> None:
        with self._lock:
            self._untold = joined_changes(self._untold, changes)

    def _compare(self, before: BoxSnapshot, box: Box | None) -> tuple[BoxChanges, BoxSnapshot]:
        after = _take_snapshot(box, self._nested)
        new = frozenset(
            path for path in after.autorun_files - before.autorun_files if not self._has_accepted(path)
        )
        moved = set_aside(new, self._folder()) if new else ()
        places = tuple(one.path for one in moved)
        planted = tuple(
            path
            for path in changed_paths(before.files, after.files)
            if covering_place(path, places) is None and not self._is_as_accepted(path, after.files)
        )
        if moved:
            after = _take_snapshot(box, self._nested)
        limits = self._nested.new_limits(after.limits) if box is not None and box.searched else ()
        return BoxChanges(planted=planted, set_aside=moved, limits=limits), after

    def _has_accepted(self, path: str) -> bool:
        """Returns whether bayou wrote the file, or one in the folder."""
        return path in self._accepted or any(is_below(one, path) for one in tuple(self._accepted))

    def _is_as_accepted(self, path: str, files: Snapshot) -> bool:
        if path in self._accepted:
            return files.get(path, ()) == self._accepted[path]
        return any(is_below(one, path) for one in tuple(self._accepted))


def _current_box(box: Box | None) -> Box | None:
    """Returns the policy that a running process would get now: places that are guarded only since its start are
    compared."""
    if box is None:
        return None
    unseen = (*(f"{folder}/objects" for folder in box.repositories), *box.hidden_folders)
    places = tuple(path for path in box.guarded if covering_place(path, unseen) is None)
    return msgspec.structs.replace(box, watched=(*box.watched, *places), guarded=())


def _take_snapshot(box: Box | None, nested: NestedPathFinder) -> BoxSnapshot:
    """Searches the policy's folder once for repositories and autorun files."""
    if box is None:
        return BoxSnapshot()
    below = nested.find_in(box.searched)
    return BoxSnapshot(take_snapshot(box, below), _autorun_files(box, below), below.limits)


def joined_changes(first: BoxChanges, then: BoxChanges) -> BoxChanges:
    """Returns the changes of two comparisons, each path once."""
    return BoxChanges(
        planted=tuple(dict.fromkeys((*first.planted, *then.planted))),
        set_aside=(*first.set_aside, *then.set_aside),
        put_back=(*first.put_back, *then.put_back),
        limits=(*first.limits, *then.limits),
    )


def _autorun_files(box: Box, below: NestedPaths) -> frozenset[str]:
    """Returns existing autorun files in places where commands with this policy can create them."""
    places = [*filter(os.path.lexists, box.watched), *below.later]
    later = [path for path in places if not VCS_FOLDERS.intersection(path.split("/"))]
    later += programs_of_git(box.repositories)
    return frozenset(path for path in later if not _is_allowed(path, box)) | links_in_git(box.repositories)


def set_aside(paths: frozenset[str], folder: Path) -> tuple[SetAside, ...]:
    """Moves the paths below `folder`. What cannot be moved stays in place."""
    moved: list[SetAside] = []
    for path in _outermost(paths):
        kept = _unused_path(folder, path)
        try:
            kept.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            shutil.move(path, kept)
        except OSError:
            continue
        moved.append(SetAside(path, str(kept)))
    return tuple(moved)


def _is_allowed(path: str, box: Box) -> bool:
    return covering_place(path, box.allowed) is not None


def _outermost(paths: frozenset[str]) -> Sequence[str]:
    return [path for path in sorted(paths) if covering_place(os.path.dirname(path), paths) is None]  # noqa: PTH120


def _unused_path(folder: Path, path: str) -> Path:
    name, number = Path(path).name, 1
    while os.path.lexists(kept := folder / str(number) / name):
        number += 1
    return kept


def _current_activity() -> _Activity:
    """Returns the counts of all processes below this one; empty if they are unknown. For a thread."""
    found: _Activity = {}
    for process in _descendants(os.getpid()):
        folder = f"/proc/{process}/task"
        try:
            for thread in os.listdir(folder):  # noqa: PTH208  (texts are wanted)
                with open(f"{folder}/{thread}/schedstat", "rb") as file:  # noqa: PTH123  (a text, and many)
                    found[f"{folder}/{thread}"] = file.read()
        except OSError:
            found[folder] = b""  # It ended, which is an activity too.
    return found


def _settled_activity() -> _Activity:
    """Returns the counts once nothing runs any more, or after a moment. For a thread."""
    before = _current_activity()
    for _ in range(_MAX_TRIES):
        time.sleep(_SETTLE_SECONDS)
        now = _current_activity()
        if now == before:
            break
        before = now
    return before


def _has_run(before: _Activity, now: _Activity) -> bool:
    """Returns whether one of the processes has run, or may have."""
    return not before or before != now


def _descendants(parent: int) -> set[int]:
    above: dict[int, int] = {}
    try:
        names = os.listdir("/proc")  # noqa: PTH208  (texts are wanted)
    except OSError:
        return set()
    for name in filter(str.isdigit, names):
        try:
            with open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123  (a text, and many)
                said = file.read()
        except OSError:
            continue
        # The name, in parentheses, may contain anything; the fields follow the last parenthesis.
        above[int(name)] = int(said[said.rfind(b")") + 2 :].split(maxsplit=2)[1])
    found = {parent}
    while new := {process for process, one in above.items() if one in found} - found:
        found |= new
    return found - {parent}
