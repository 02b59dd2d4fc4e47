"""Moves autorun files that a sandboxed command created out of the workspace, and keeps them.

A mount cannot protect a missing file. An editor, or entering the folder, would run a new autorun file outside of
the sandbox, so it is moved before any other program sees it. The user can allow the place. Repositories are left
in place: the files in them that start programs are reported."""

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


def current_box(box: Box | None) -> Box | None:
    """Returns the policy that a running process would get now: places that are guarded only since its start are
    compared."""
    if box is None:
        return None
    objects = tuple(f"{folder}/objects" for folder in box.repositories)
    places = tuple(path for path in box.guarded if covering_place(path, objects) is None)
    return msgspec.structs.replace(box, watched=(*box.watched, *places), guarded=())


def snapshot_before(box: Box | None, nested: NestedPathFinder, copies: GitCopies) -> BoxSnapshot:
    """Takes a snapshot before a command; `changes_after` follows each. For a thread."""
    if box is not None and box.repositories:
        copies.take(box.repositories)
    return _take_snapshot(box, nested)


def _take_snapshot(box: Box | None, nested: NestedPathFinder) -> BoxSnapshot:
    """Searches the policy's folder once for repositories and autorun files."""
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
    """Returns the changes after a command; moved files are kept below `folder`. For a thread."""
    restored = copies.put_back(box.repositories) if box is not None and box.repositories else ()
    changes, _ = changes_so_far(before, box, nested, folder)
    return msgspec.structs.replace(changes, put_back=restored)


def changes_so_far(
    before: BoxSnapshot, box: Box | None, nested: NestedPathFinder, folder: Callable[[], Path]
) -> tuple[BoxChanges, BoxSnapshot]:
    """Returns the changes of a running command, and the present snapshot. For a thread."""
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
    """Returns existing autorun files in places where commands with this policy can create them."""
    places = [*filter(os.path.lexists, box.watched), *below.later]
    later = frozenset(
        path
        for path in places
        if not VCS_FOLDERS.intersection(path.split("/")) and not _is_allowed(path, box)
    )
    return later | links_in_git(box.repositories)


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
