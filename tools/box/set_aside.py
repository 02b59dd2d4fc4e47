"""Files that run later which a command in the sandbox made: taken out of the workspace again, and kept.

A file that is not there yet cannot be protected by a mount. What a command put there would be run outside of the
sandbox, by an editor or by entering the folder, so it is moved away before anything else hears of it. A person can
allow the place. Repositories are left alone: what in them starts programs is named.
"""

import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from tools.box.git_copies import GitCopies, RestoredFiles
from tools.box.nested import NestedPathFinder, NestedPaths
from tools.box.planted import Snapshot, changed_paths, links_in_git, take_snapshot
from tools.box.policy import Box, covering_place
from tools.protected.later import VCS_FOLDERS


class SetAside(msgspec.Struct, frozen=True):
    path: str
    """Where the command made it."""
    kept: str
    """Where it is now."""


class BoxSnapshot(msgspec.Struct, frozen=True):
    """What a box cannot protect, at one moment."""

    files: Snapshot = {}
    autorun_files: frozenset[str] = frozenset()
    """Those of them that run later."""
    limits: tuple[str, ...] = ()
    """Where the look stopped."""


class BoxChanges(msgspec.Struct, frozen=True, kw_only=True):
    """What a command did that its box could not prevent."""

    planted: tuple[str, ...] = ()
    """Files that run later, made or changed by it, which stay."""
    set_aside: tuple[SetAside, ...] = ()
    """Those that were moved out of the workspace."""
    put_back: tuple[RestoredFiles, ...] = ()
    """What of git it had destroyed."""
    limits: tuple[str, ...] = ()
    """Where the look stopped, so that more may have been made; each is said once."""


def current_box(box: Box | None) -> Box | None:
    """For a process that lasts, `box` as one would be made now: places that would be guarded now are compared, for what
    came after its beginning is not held."""
    if box is None:
        return None
    objects = tuple(f"{folder}/objects" for folder in box.repositories)
    places = tuple(path for path in box.guarded if covering_place(path, objects) is None)
    return msgspec.structs.replace(box, watched=(*box.watched, *places), guarded=())


def snapshot_before(box: Box | None, nested: NestedPathFinder, copies: GitCopies) -> BoxSnapshot:
    """Before a command; each is followed by one `changes_after`. For a thread."""
    if box is not None and box.repositories:
        copies.take(box.repositories)
    return _take_snapshot(box, nested)


def _take_snapshot(box: Box | None, nested: NestedPathFinder) -> BoxSnapshot:
    """Looks through the folder below the box once, for both."""
    if box is None:
        return BoxSnapshot()
    below = nested.find(box.searched) if box.searched else NestedPaths()
    return BoxSnapshot(take_snapshot(box, below), _autorun_files(box, below), below.limits)


def changes_after(
    before: BoxSnapshot,
    box: Box | None,
    nested: NestedPathFinder,
    copies: GitCopies,
    folder: Callable[[], Path],
) -> BoxChanges:
    """`folder`: below it is kept what is moved. For a thread."""
    restored = copies.put_back(box.repositories) if box is not None and box.repositories else ()
    changes, _ = changes_so_far(before, box, nested, folder)
    return msgspec.structs.replace(changes, put_back=restored)


def changes_so_far(
    before: BoxSnapshot, box: Box | None, nested: NestedPathFinder, folder: Callable[[], Path]
) -> tuple[BoxChanges, BoxSnapshot]:
    """While it goes on: what it did, and what there is now. For a thread."""
    after = _take_snapshot(box, nested)
    new = after.autorun_files - before.autorun_files
    moved = set_aside(new, folder()) if new else ()
    places = tuple(one.path for one in moved)
    planted = tuple(
        path for path in changed_paths(before.files, after.files) if covering_place(path, places) is None
    )
    if moved:
        after = _take_snapshot(box, nested)
    limits = nested.new_limits(after.limits) if box is not None and box.searched else ()
    return BoxChanges(planted=planted, set_aside=moved, limits=limits), after


def _autorun_files(box: Box, below: NestedPaths) -> frozenset[str]:
    """Files that run later which are there, in the places where a command of this box can make them."""
    places = [*filter(os.path.lexists, box.watched), *below.later]
    later = frozenset(
        path
        for path in places
        if not VCS_FOLDERS.intersection(path.split("/")) and not _is_allowed(path, box)
    )
    return later | links_in_git(box.repositories)


def set_aside(paths: frozenset[str], folder: Path) -> tuple[SetAside, ...]:
    """Moves these below that folder. What cannot be moved stays where it is."""
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
