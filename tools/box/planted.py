"""What a box cannot protect is looked at before and after: what is not there yet, all where mounts are missing; and
which repositories and files that run later there are below the workspace.
"""

import os
import re
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from tools.box.nested import NestedPaths
from tools.box.policy import Box, covering_place
from tools.git.config import read_small_text
from tools.git.repository import Repository, find_repository
from tools.patterns import late

Snapshot = dict[str, tuple[int, ...]]
_MAX_LINKS: Final = 1_000
_REBASE_TODO: Final = "rebase-merge/git-rebase-todo"
"""Of a rebase that waits: its `exec` lines run when it goes on. It is gone when that has ended."""
_EXEC: Final = late(r"^\s*(?:exec|x)\s.*$", re.MULTILINE)
_MAX_TODO_BYTES: Final = 1 << 20


def take_snapshot(box: Box, below: NestedPaths) -> Snapshot:
    """What there is of what commands in the box may plant; `below`: what lies in the folder that it searches."""
    found: Snapshot = {}
    _add_paths(found, box.watched)
    _add_paths(found, (path for path in below.later if covering_place(path, box.guarded) is None))
    for git in below.git_folders:
        _add_repository(found, git)
    return found


def links_in_git(folders: Iterable[str]) -> frozenset[str]:
    """Symbolic links right in them and among the logs: git writes through `COMMIT_EDITMSG` and `logs/HEAD`."""
    found: set[str] = set()
    for folder in folders:
        waiting = [folder, f"{folder}/logs"]
        while waiting and len(found) < _MAX_LINKS:
            place = waiting.pop()
            try:
                with os.scandir(place) as entries:
                    for entry in entries:
                        if entry.is_symlink():
                            found.add(entry.path)
                        elif place != folder and entry.is_dir(follow_symlinks=False):
                            waiting.append(entry.path)
            except OSError:
                continue
    return frozenset(found)


def changed_paths(before: Snapshot, after: Snapshot) -> tuple[str, ...]:
    """Made, changed or removed; a folder only if nothing in it says so."""
    found = [
        path
        for path in sorted({*before, *after})
        if before.get(path) != after.get(path) and (path in after or not path.endswith(_REBASE_TODO))
    ]
    return tuple(path for path in found if not any(other.startswith(path + "/") for other in found))


def _add_paths(found: Snapshot, paths: Iterable[str]) -> None:
    """And of folders what is in them."""
    for path in paths:
        _add_path(found, path)
        try:
            names = sorted(os.listdir(path))[:200]  # noqa: PTH208  (texts are wanted)
        except OSError:
            continue
        for name in names:
            if not name.endswith(".sample"):
                _add_path(found, f"{path}/{name}")


def _add_path(found: Snapshot, path: str) -> None:
    try:
        seen = os.lstat(path)
    except OSError:
        return
    found[path] = (seen.st_ino, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns, seen.st_mode)


def _add_repository(found: Snapshot, git: str) -> None:
    """What of it starts programs or leads elsewhere; nothing of one as git makes it."""
    place = Path(git)
    try:
        repository = find_repository(place.parent if place.name == ".git" else place)
        if repository is None or place not in (repository.top / ".git", repository.top):
            return
        odd = list(repository.risky_settings(Path.home()))
    except (OSError, ValueError):
        _add_path(found, git)
        return
    for one in odd:
        path = str(one.file)
        found[path] = (*found.get(path, ()), zlib.crc32(one.text.encode(errors="replace")))
    _add_paths(found, _hook_files(repository))
    _add_rebase(found, repository.folder / _REBASE_TODO)
    if place == repository.folder and repository.common != repository.folder:
        _add_path(found, str(repository.folder / "commondir"))


def _add_rebase(found: Snapshot, todo: Path) -> None:
    try:
        commands = set(_EXEC.findall(read_small_text(todo, _MAX_TODO_BYTES) or ""))
    except (OSError, ValueError):
        commands = {""}
    if commands:
        found[str(todo)] = tuple(sorted(zlib.crc32(one.encode(errors="replace")) for one in commands))


def _hook_files(repository: Repository) -> list[str]:
    folder = repository.common / "hooks"
    try:
        names = os.listdir(folder)  # noqa: PTH208  (texts are wanted)
    except OSError:
        return []
    return [
        path
        for name in sorted(names)
        if not name.endswith(".sample") and os.access(path := f"{folder}/{name}", os.X_OK)
    ]
