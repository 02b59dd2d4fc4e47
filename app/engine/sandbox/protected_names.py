"""Finds the other names (hard links) of a file that are protected: where keys are kept, and what runs later.

A path is judged by its name; a second name of the same file must not be judged otherwise."""

import os
import stat
import time
from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from tools.box.nested_repositories import NestedRepositoryFinder
from tools.files.paths import real_path
from tools.git.git_repository import find_repository
from tools.protected.autorun_files import HOME_AUTORUN_FILES, PROJECT_AUTORUN_FILES
from tools.protected.credential_tables import CREDENTIAL_PLACES

_MAX_ENTRIES_SEARCHED_FOR_LINKS: Final = 1_000
"""The maximum number of entries of one place that are searched for hard links."""
_PROTECTED_LINKS_CACHE_SECONDS: Final = 1.0
_GIT_DATA_FOLDERS: Final = frozenset({"objects", "refs", "logs", "lfs"})
"""Folders of git whose content starts no program."""
_DeviceAndInode = tuple[int, int]
_NamesByInode = dict[_DeviceAndInode, tuple[str, ...]]


class ProtectedHardLinks:
    """Finds protected files with several hard links in one home folder and its workspaces."""

    def __init__(
        self,
        home: str,
        own: tuple[str, ...],
        *,
        secret_files_below: Callable[[str], Iterable[str]],
        is_protected: Callable[[str], bool],
    ) -> None:
        """Prepares the search. `own` are bayou's folders. `is_protected` judges a path by its name."""
        self._home = home
        self._own_folder = own
        self._secrets_below = secret_files_below
        self._is_protected = is_protected
        self._nested_finder = NestedRepositoryFinder()
        self._table: _NamesByInode = {}
        self._table_roots: tuple[str, ...] = ()
        self._table_made_at = 0.0

    def protected_hard_links_of(self, path: str, roots: tuple[str, ...]) -> tuple[str, ...]:
        """Returns those other hard links of a file that are protected. A file with one name, as nearly all have,
        costs one `stat`."""
        inode = _linked_inode(path)
        if inode is None:
            return ()
        if (
            self._table_roots != roots
            or time.monotonic() - self._table_made_at > _PROTECTED_LINKS_CACHE_SECONDS
        ):
            self._table = self._read_names(roots)
            self._table_roots, self._table_made_at = roots, time.monotonic()
        return tuple(name for name in self._table.get(inode, ()) if name != path)

    def _read_names(self, roots: tuple[str, ...]) -> _NamesByInode:
        table: _NamesByInode = {}
        for path in dict.fromkeys(self._candidate_paths(roots)):
            inode = _linked_inode(path)
            if inode is not None and self._is_protected(path):
                table[inode] = (*table.get(inode, ()), path)
        return table

    def _candidate_paths(self, roots: tuple[str, ...]) -> Iterable[str]:
        for row in (*HOME_AUTORUN_FILES, *CREDENTIAL_PLACES):
            yield from files_at_or_below(f"{self._home}/{row.name}")
        for folder in self._own_folder:
            yield from files_at_or_below(folder)
        for root in dict.fromkeys((self._home, *roots)):
            yield from _files_in_folder(root)
        for root in roots:
            for row in PROJECT_AUTORUN_FILES:
                yield from files_at_or_below(f"{root}/{row.name}", skipped=_GIT_DATA_FOLDERS)
            yield from self._secrets_below(root)
            found = self._nested_finder.find(root)
            for path in (*found.later, *found.git_folders, *_git_folders(root)):
                yield from files_at_or_below(real_path(path), skipped=_GIT_DATA_FOLDERS)


def _git_folders(root: str) -> tuple[str, ...]:
    try:
        repository = find_repository(Path(root))
    except (OSError, ValueError):
        return ()
    return (str(repository.git_folder), str(repository.common_git_folder)) if repository is not None else ()


def _linked_inode(path: str) -> _DeviceAndInode | None:
    """Returns device and inode of a file with several hard links; None for other files."""
    try:
        known = os.lstat(path)
    except (OSError, ValueError):
        return None
    if known.st_nlink < 2 or not stat.S_ISREG(known.st_mode):
        return None
    return known.st_dev, known.st_ino


def _files_in_folder(folder: str) -> Iterable[str]:
    try:
        with os.scandir(folder) as entries:
            for number, entry in enumerate(entries):
                if number >= _MAX_ENTRIES_SEARCHED_FOR_LINKS:
                    return
                if entry.is_file(follow_symlinks=False):
                    yield entry.path
    except OSError:
        return


def files_at_or_below(place: str, *, skipped: frozenset[str] = frozenset()) -> Iterable[str]:
    """Yields the path, and if it is a folder the files below it, breadth first."""
    yield place
    waiting, seen = deque([place]), 0
    while waiting and seen < _MAX_ENTRIES_SEARCHED_FOR_LINKS:
        try:
            with os.scandir(waiting.popleft()) as entries:
                for entry in entries:
                    seen += 1
                    if not entry.is_dir(follow_symlinks=False):
                        yield entry.path
                    elif entry.name not in skipped:
                        waiting.append(entry.path)
        except OSError:
            continue
