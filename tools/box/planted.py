"""Compares the state of unprotected places before and after a command: missing files, everything where mounts are
unavailable, and repositories and autorun files below the workspace."""

import os
import re
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from tools.box.git_places import RESERVED_CONTENT, has_effect
from tools.box.nested import NestedPaths
from tools.box.policy import Box, covering_place
from tools.git.config import read_small_text
from tools.git.repository import Repository, find_repository
from tools.patterns import late

Snapshot = dict[str, tuple[int, ...]]
_MAX_LINKS: Final = 1_000
_REBASE_TODO: Final = "rebase-merge/git-rebase-todo"
"""The todo file of an interrupted rebase: its `exec` lines run when the rebase continues."""
_EXEC: Final = late(r"^\s*(?:exec|x)\s.*$", re.MULTILINE)
_MAX_TODO_BYTES: Final = 1 << 20


def take_snapshot(box: Box, below: NestedPaths) -> Snapshot:
    """Records what commands in the sandbox may plant; `below` are the nested paths of the searched folder."""
    found: Snapshot = {}
    _add_paths(found, box.watched)
    _add_paths(found, (path for path in below.later if covering_place(path, box.guarded) is None))
    for git in below.git_folders:
        _add_repository(found, git)
    return found


def links_in_git(folders: Iterable[str]) -> frozenset[str]:
    """Returns symbolic links directly in git folders and in their logs: git writes through `COMMIT_EDITMSG` and
    `logs/HEAD`."""
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


def programs_of_git(folders: Iterable[str]) -> list[str]:
    """Returns the hooks in git folders, and the files by which git would use another folder or configuration. Without
    mounts commands can create them."""
    found: list[str] = []
    for folder in folders:
        hooks = f"{folder}/hooks"
        try:
            found += [f"{hooks}/{name}" for name in os.listdir(hooks) if not name.endswith(".sample")]  # noqa: PTH208  (as below)
        except OSError:
            pass  # There are none.
        found += [path for name in RESERVED_CONTENT if has_effect(path := f"{folder}/{name}")]
    return found


def changed_paths(before: Snapshot, after: Snapshot) -> tuple[str, ...]:
    """Returns created, changed and removed paths; a folder only if no path in it is reported."""
    found = [
        path
        for path in sorted({*before, *after})
        if before.get(path) != after.get(path) and (path in after or not path.endswith(_REBASE_TODO))
    ]
    return tuple(path for path in found if not any(other.startswith(path + "/") for other in found))


def _add_paths(found: Snapshot, paths: Iterable[str]) -> None:
    """Adds paths, and the content of folders."""
    for path in paths:
        _add_path(found, path)
        try:
            names = sorted(os.listdir(path))[:200]  # noqa: PTH208  (texts are wanted)
        except OSError:
            continue
        for name in names:
            if not name.endswith(".sample"):
                _add_path(found, f"{path}/{name}")


def file_stamp(path: str) -> tuple[int, ...]:
    """Returns what changes with the file; nothing if it is missing."""
    try:
        seen = os.lstat(path)
    except OSError:
        return ()
    return (seen.st_ino, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns, seen.st_mode)


def _add_path(found: Snapshot, path: str) -> None:
    stamp = file_stamp(path)
    if stamp:
        found[path] = stamp


def _add_repository(found: Snapshot, git: str) -> None:
    """Adds the settings and files of a repository that start programs or redirect git; nothing of an untouched
    repository."""
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
