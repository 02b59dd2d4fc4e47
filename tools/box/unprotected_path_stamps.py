"""Compares the state of unprotected places before and after a command: missing files, everything where mounts are
unavailable, and repositories and autorun files below the workspace."""

import os
import re
import stat
import zlib
from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

from tools.box.git_sandbox_paths import (
    NEUTRAL_CONTENT_BY_GIT_FILE,
    GitSandboxPaths,
    git_file_has_effect,
    resolve_git_folder,
)
from tools.box.guarded_paths_and_sockets import list_folder
from tools.box.hard_link_search import find_names_of_inodes
from tools.box.nested_repositories import NestedRepositoryPaths
from tools.box.sandbox_policy import SandboxPolicy, innermost_containing
from tools.files.paths import real_path
from tools.git.git_config import read_small_text_file
from tools.git.git_repository import GitRepository, RiskyGitSetting, find_repository, repository_of_git_folder
from tools.lazy_patterns import lazy_regex
from tools.protected.autorun_files import VCS_CONTROL_FILES, VCS_FOLDERS

FileStampsByPath = dict[str, tuple[int, ...]]
_MAX_COMPARED_ENTRIES_PER_PLACE: Final = 1_000
"""Maximum number of entries that are compared in one place."""
_MAX_COMPARED_HARD_LINKED_FILES: Final = 5_000
"""The maximum number of hard-linked files whose state is compared."""
_MAX_GIT_FOLDER_ENTRIES_SEARCHED: Final = 20_000
"""Maximum number of entries of one git folder that are searched for links."""
_DOT_GIT: Final = ".git"
_GIT_REBASE_TODO_FILE: Final = "rebase-merge/git-rebase-todo"
"""The todo file of an interrupted rebase: its `exec` lines run when the rebase continues."""
_LEGACY_GIT_REMOTE_FOLDERS: Final = ("remotes", "branches")
"""Folders of files that name another repository, from before git's configuration did."""
_REBASE_EXEC_LINE_PATTERN: Final = lazy_regex(r"^\s*(?:exec|x)\s.*$", re.MULTILINE)
_MAX_REBASE_TODO_BYTES: Final = 1 << 20


def stamp_unprotected_paths(
    box: SandboxPolicy, below: NestedRepositoryPaths, git: GitSandboxPaths
) -> FileStampsByPath:
    """Records the state of the places in which sandboxed commands may create files; `below` are the repositories and
    autorun files of the searched folder, `git` the places of the repository that it belongs to."""
    found: FileStampsByPath = {}
    _add_paths(
        found,
        (*box.watched, *(path for path in git.started if innermost_containing(path, box.writable))),
    )
    _add_paths(
        found, (path for path in below.likely_later if innermost_containing(path, box.guarded) is None)
    )
    for path in below.later:
        if path.rpartition("/")[2] in VCS_FOLDERS:
            _add_vcs_folder(found, path)
        elif innermost_containing(path, box.guarded) is None:
            _add_paths(found, (path,))
    for link in below.git_folders:
        _add_repository(found, link)
    for folder in git.repositories:
        repository = repository_of_git_folder(Path(folder))
        with suppress(OSError, ValueError):
            _add_settings(found, repository, repository.risky_settings_of_git_folder(Path.home()))
    return found


def stamp_hard_linked_files(places: Iterable[str]) -> FileStampsByPath:
    """Returns the stamps of files with several names (hard links) at these places and in folders among them, which show
    later which of them were written."""
    found: FileStampsByPath = {}
    waiting, seen = deque(places), 0
    while waiting and seen < _MAX_COMPARED_HARD_LINKED_FILES:
        path = waiting.popleft()
        seen += 1
        try:
            known = os.lstat(path)
            if stat.S_ISDIR(known.st_mode):
                with os.scandir(path) as entries:
                    waiting.extend(entry.path for entry in entries)
            elif stat.S_ISREG(known.st_mode) and known.st_nlink > 1:
                found[path] = _shared_stamp(known)
        except OSError:
            continue
    return found


def find_written_hard_linked_files(
    before: FileStampsByPath, after: FileStampsByPath, roots: Iterable[str]
) -> tuple[str, ...]:
    """Returns the files with several names (hard links) that were written since they were recorded, also those that got
    another name below `roots`."""
    found = [path for path, stamp in after.items() if path in before and _is_written(before[path], stamp)]
    lost = {
        (stamp[0], stamp[1]): stamp
        for path, stamp in before.items()
        if path not in after or after[path][:2] != stamp[:2]
    }
    for name in (name for root in roots for name in (find_names_of_inodes(root, set(lost)) if lost else ())):
        try:
            now = _shared_stamp(os.lstat(name))
        except OSError:
            continue
        if _is_written(lost.get((now[0], now[1]), now), now):
            found.append(name)
    return tuple(dict.fromkeys(found))


def _is_written(before: tuple[int, ...], now: tuple[int, ...]) -> bool:
    return before[:2] == now[:2] and before != now


def _shared_stamp(known: os.stat_result) -> tuple[int, ...]:
    return (known.st_dev, known.st_ino, known.st_size, known.st_mtime_ns, known.st_mode)


def find_vcs_control_files(folders: Iterable[str]) -> list[str]:
    """Returns the files in repositories other than git's that start programs or lead to another repository."""
    tops = [folder.rpartition("/") for folder in folders]
    return [
        path
        for top, _, folder in tops
        for name in VCS_CONTROL_FILES
        if name.startswith(f"{folder}/") and os.path.lexists(path := f"{top}/{name}")
    ]


def find_links_in_git_folders(
    places: Iterable[str], writable: Iterable[str]
) -> tuple[frozenset[str], tuple[str, ...]]:
    """Returns the symbolic links in git's folders, each given by its path or its `.git`, that lie in writable places,
    because git writes through them; and where there is too much to see.

    Objects are left out, which git never changes, and how git itself can keep the name of the branch (a `HEAD` that
    leads to one of the references, with `core.preferSymlinkRefs`)."""
    writable, found, limits = tuple(writable), set[str](), dict[str, None]()
    named = {resolve_git_folder(place) for place in places}
    folders = {folder for folder in named if os.path.lexists(f"{folder}/HEAD")}
    with_own = [folder for folder in folders if _DOT_GIT in folder.split("/")]
    for folder in folders:
        if innermost_containing(folder.rpartition("/")[0], with_own) is not None:
            continue
        waiting, seen = deque((folder,)), 0
        while waiting and seen < _MAX_GIT_FOLDER_ENTRIES_SEARCHED:
            place = waiting.popleft()
            try:
                with os.scandir(place) as entries:
                    held = list(entries)
            except OSError:
                continue
            is_bare = place != folder and _DOT_GIT not in place.split("/")
            if is_bare and any(one.name == _DOT_GIT for one in held):
                continue  # A work tree in a bare repository.
            seen += len(held)
            for entry in held:
                if entry.is_symlink():
                    is_writable = innermost_containing(entry.path, writable) is not None
                    if is_writable and not real_path(entry.path).startswith(f"{place}/refs/"):
                        found.add(entry.path)
                elif entry.is_dir(follow_symlinks=False) and not (
                    len(entry.name) == 2 and place.endswith("/objects")
                ):
                    waiting.append(entry.path)
        if waiting:
            limits[f"more than {_MAX_GIT_FOLDER_ENTRIES_SEARCHED:,} entries in a folder of git"] = None
    return frozenset(found), tuple(limits)


def find_git_hooks_and_redirects(folders: Iterable[str]) -> list[str]:
    """Returns the hooks in git folders, and the files by which git would use another folder or configuration. Without
    mounts commands can create them."""
    found: list[str] = []
    for folder in folders:
        hooks = f"{folder}/hooks"
        try:
            found += [f"{hooks}/{name}" for name in os.listdir(hooks) if not name.endswith(".sample")]  # noqa: PTH208  (as below)
        except OSError:
            pass  # There are none.
        found += [
            path for name in NEUTRAL_CONTENT_BY_GIT_FILE if git_file_has_effect(path := f"{folder}/{name}")
        ]
    return found


def compare_file_stamps(before: FileStampsByPath, after: FileStampsByPath) -> tuple[str, ...]:
    """Returns the paths that were created, changed or removed between two snapshots; a folder only if no path in it is
    reported."""
    found = [
        path
        for path in sorted({*before, *after})
        if before.get(path) != after.get(path) and (path in after or not path.endswith(_GIT_REBASE_TODO_FILE))
    ]
    return tuple(path for path in found if not any(other.startswith(path + "/") for other in found))


def _add_paths(found: FileStampsByPath, paths: Iterable[str]) -> None:
    """Adds the state of the paths, and of the content of folders among them, to a snapshot."""
    for path in paths:
        _add_path(found, path)
        waiting, seen = deque((path,) if path in found else ()), 0
        while waiting and seen < _MAX_COMPARED_ENTRIES_PER_PLACE:
            try:
                with os.scandir(waiting.popleft()) as entries:
                    for entry in sorted(entries, key=lambda entry: entry.name)[
                        : _MAX_COMPARED_ENTRIES_PER_PLACE - seen
                    ]:
                        seen += 1
                        if not entry.name.endswith(".sample"):
                            _add_path(found, entry.path)
                        if entry.is_dir(follow_symlinks=False):
                            waiting.append(entry.path)
            except OSError:
                continue


def _add_vcs_folder(found: FileStampsByPath, folder: str) -> None:
    """Adds a repository that is not git's to a snapshot: its existence, and its files that start programs."""
    for path in (folder, f"{folder}/repo"):
        stamp = file_change_stamp(path)
        if stamp:
            found[path] = stamp[:1]
    for path in find_vcs_control_files((folder,)):
        _add_path(found, path)


def file_change_stamp(path: str) -> tuple[int, ...]:
    """Returns values (such as size and modification time) that differ after each change of a file; empty if it is
    missing."""
    try:
        seen = os.lstat(path)
    except OSError:
        return ()
    return (seen.st_ino, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns, seen.st_mode)


def _add_path(found: FileStampsByPath, path: str) -> None:
    stamp = file_change_stamp(path)
    if stamp:
        found[path] = stamp


def _add_repository(found: FileStampsByPath, git: str) -> None:
    """Adds to a snapshot the settings and files of a git repository that start programs or redirect git; nothing of an
    untouched repository."""
    place = Path(git)
    try:
        repository = find_repository(place.parent if place.name == ".git" else place)
        if repository is None or place not in (repository.work_tree / ".git", repository.work_tree):
            return
        odd = list(repository.risky_settings(Path.home()))
    except (OSError, ValueError):
        _add_path(found, git)
        return
    _add_settings(found, repository, odd)
    if place == repository.git_folder and repository.common_git_folder != repository.git_folder:
        _add_path(found, str(repository.git_folder / "commondir"))


def _add_settings(found: FileStampsByPath, repository: GitRepository, odd: Iterable[RiskyGitSetting]) -> None:
    for one in odd:
        path, stamp = str(one.file), zlib.crc32(one.text.encode(errors="replace"))
        if stamp not in found.get(path, ()):
            found[path] = (*found.get(path, ()), stamp)
    _add_paths(found, _hook_files(repository))
    _add_rebase(found, repository.git_folder / _GIT_REBASE_TODO_FILE)
    for name in _LEGACY_GIT_REMOTE_FOLDERS:
        for path in list_folder(folder := f"{repository.common_git_folder}/{name}"):
            _add_path(found, f"{folder}/{path}")


def _add_rebase(found: FileStampsByPath, todo: Path) -> None:
    try:
        commands = set(
            _REBASE_EXEC_LINE_PATTERN.findall(read_small_text_file(todo, _MAX_REBASE_TODO_BYTES) or "")
        )
    except (OSError, ValueError):
        commands = {""}
    if commands:
        found[str(todo)] = tuple(sorted(zlib.crc32(one.encode(errors="replace")) for one in commands))


def _hook_files(repository: GitRepository) -> list[str]:
    folder = repository.common_git_folder / "hooks"
    try:
        names = os.listdir(folder)  # noqa: PTH208  (texts are wanted)
    except OSError:
        return []
    return [
        path
        for name in sorted(names)
        if not name.endswith(".sample") and os.access(path := f"{folder}/{name}", os.X_OK)
    ]
