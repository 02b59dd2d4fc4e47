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

from tools.box.git_copies import GitCopies, PutBack
from tools.box.nested import Nested, NestedFiles
from tools.box.planted import Seen, changed, links_in_git, look
from tools.box.policy import Box, covering
from tools.protected.later import VCS


class SetAside(msgspec.Struct, frozen=True):
    path: str
    """Where the command made it."""
    kept: str
    """Where it is now."""


class BoxSeen(msgspec.Struct, frozen=True):
    """What a box cannot protect, at one moment."""

    files: Seen = {}
    later: frozenset[str] = frozenset()
    """Those of them that run later."""
    limits: tuple[str, ...] = ()
    """Where the look stopped."""


class BoxChanges(msgspec.Struct, frozen=True, kw_only=True):
    """What a command did that its box could not prevent."""

    planted: tuple[str, ...] = ()
    """Files that run later, made or changed by it, which stay."""
    set_aside: tuple[SetAside, ...] = ()
    """Those that were moved out of the workspace."""
    put_back: tuple[PutBack, ...] = ()
    """What of git it had destroyed."""
    limits: tuple[str, ...] = ()
    """Where the look stopped, so that more may have been made; each is said once."""


def compared(box: Box | None) -> Box | None:
    """For a process that lasts, `box` as one would be made now: places that would be guarded now are compared, for what
    came after its beginning is not held."""
    if box is None:
        return None
    objects = tuple(f"{folder}/objects" for folder in box.repositories)
    places = tuple(path for path in box.guarded if covering(path, objects) is None)
    return msgspec.structs.replace(box, watched=(*box.watched, *places), guarded=())


def look_before(box: Box | None, nested: NestedFiles, copies: GitCopies) -> BoxSeen:
    """Before a command; each is followed by one `look_behind`. For a thread."""
    if box is not None and box.repositories:
        copies.take(box.repositories)
    return _look(box, nested)


def _look(box: Box | None, nested: NestedFiles) -> BoxSeen:
    """Looks through the folder below the box once, for both."""
    if box is None:
        return BoxSeen()
    below = nested.find(box.searched) if box.searched else Nested()
    return BoxSeen(look(box, below), _later_files(box, below), below.limits)


def look_behind(
    before: BoxSeen, box: Box | None, nested: NestedFiles, copies: GitCopies, folder: Callable[[], Path]
) -> BoxChanges:
    """`folder`: below it is kept what is moved. For a thread."""
    restored = copies.put_back(box.repositories) if box is not None and box.repositories else ()
    changes, _ = look_meanwhile(before, box, nested, folder)
    return msgspec.structs.replace(changes, put_back=restored)


def look_meanwhile(
    before: BoxSeen, box: Box | None, nested: NestedFiles, folder: Callable[[], Path]
) -> tuple[BoxChanges, BoxSeen]:
    """While it goes on: what it did, and what there is now. For a thread."""
    after = _look(box, nested)
    new = after.later - before.later
    moved = set_aside(new, folder()) if new else ()
    places = tuple(one.path for one in moved)
    planted = tuple(path for path in changed(before.files, after.files) if covering(path, places) is None)
    if moved:
        after = _look(box, nested)
    limits = nested.untold(after.limits) if box is not None and box.searched else ()
    return BoxChanges(planted=planted, set_aside=moved, limits=limits), after


def _later_files(box: Box, below: Nested) -> frozenset[str]:
    """Files that run later which are there, in the places where a command of this box can make them."""
    places = [*filter(os.path.lexists, box.watched), *below.later]
    later = frozenset(
        path for path in places if not VCS.intersection(path.split("/")) and not _is_allowed(path, box)
    )
    return later | links_in_git(box.repositories)


def set_aside(paths: frozenset[str], folder: Path) -> tuple[SetAside, ...]:
    """Moves these below that folder. What cannot be moved stays where it is."""
    moved: list[SetAside] = []
    for path in _outermost(paths):
        kept = _free_name(folder, path)
        try:
            kept.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            shutil.move(path, kept)
        except OSError:
            continue
        moved.append(SetAside(path, str(kept)))
    return tuple(moved)


def _is_allowed(path: str, box: Box) -> bool:
    return covering(path, box.allowed) is not None


def _outermost(paths: frozenset[str]) -> Sequence[str]:
    return [path for path in sorted(paths) if covering(os.path.dirname(path), paths) is None]  # noqa: PTH120


def _free_name(folder: Path, path: str) -> Path:
    name, number = Path(path).name, 1
    while os.path.lexists(kept := folder / str(number) / name):
        number += 1
    return kept
