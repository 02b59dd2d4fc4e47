"""Finds repositories and autorun files below a workspace, which are protected wherever they are.

Unchanged folders are not read again: a search costs one `stat` per folder."""

import os
from collections import deque
from collections.abc import Iterable
from typing import Final

import msgspec

from tools.git.gitlinks import MAX_LINKED, GitLinks
from tools.protected.later import PROJECT_AUTORUN_FILES, VCS_FOLDERS

MAX_ENTRIES: Final = 20_000
MAX_REPOSITORIES: Final = 50
"""Maximum number, not counting repositories that an index links to."""
_SKIPPED_FOLDERS: Final = frozenset({*VCS_FOLDERS, "node_modules", "__pycache__", ".venv", "venv", "target"})
_BARE_REPOSITORY_FILES: Final = frozenset({"HEAD", "objects", "refs"})
_AUTORUN_ROWS: Final[dict[str, list[tuple[str, ...]]]] = {}
AUTORUN_ENDINGS: Final = tuple(
    row.name.removeprefix("*")
    for row in PROJECT_AUTORUN_FILES
    if row.name.startswith("*") and "/" not in row.name
)
for _row in PROJECT_AUTORUN_FILES:
    *_folders, _name = _row.name.split("/")
    if "*" not in _row.name and not VCS_FOLDERS.intersection((*_folders, _name)):
        _AUTORUN_ROWS.setdefault(_name, []).append(tuple(_folders))


class NestedPaths(msgspec.Struct, frozen=True):
    git_folders: tuple[str, ...] = ()
    """Each `.git`, whether folder, file or link, and each bare repository."""
    later: tuple[str, ...] = ()
    """Autorun files."""
    limits: tuple[str, ...] = ()
    """Places where the search stopped, and unreadable folders."""


class _Folder(msgspec.Struct, frozen=True):
    stamp: tuple[int, int, int]
    entries: int
    folders: tuple[str, ...]
    found: NestedPaths


class NestedPathFinder:
    """Finds nested paths in the workspaces of one session."""

    def __init__(self) -> None:
        self._folders: dict[str, _Folder] = {}
        self._links = GitLinks()
        self._reported_limits: frozenset[str] = frozenset()

    def new_limits(self, limits: tuple[str, ...]) -> tuple[str, ...]:
        """Returns the limits that were not reached in the last search: each is reported once, until it is no longer
        reached."""
        new = tuple(one for one in limits if one not in self._reported_limits)
        self._reported_limits = frozenset(limits)
        return new

    def find_in(self, roots: Iterable[str]) -> NestedPaths:
        """Searches several folders."""
        found = [self.find(root) for root in roots]
        return NestedPaths(
            git_folders=tuple(dict.fromkeys(git for one in found for git in one.git_folders)),
            later=tuple(dict.fromkeys(path for one in found for path in one.later)),
            limits=tuple(dict.fromkeys(limit for one in found for limit in one.limits)),
        )

    def find(self, workspace: str) -> NestedPaths:
        """Searches breadth first, up to `MAX_ENTRIES` entries, and follows an index to linked repositories wherever
        they are."""
        if workspace == "/":
            return NestedPaths()
        waiting, seen, gits, later = deque([workspace]), 0, list[str](), list[str]()
        while waiting and seen < MAX_ENTRIES:
            folder = self._scan_folder(waiting.popleft())
            if folder is None:
                continue
            seen += folder.entries
            waiting.extend(folder.folders)
            gits += folder.found.git_folders
            later += folder.found.later
        limits = [f"more than {MAX_ENTRIES:,} entries"] if waiting else []
        if len(gits) > MAX_REPOSITORIES:
            limits.append(f"more than {MAX_REPOSITORIES} repositories")
        own = (os.path.dirname(git) if git.endswith("/.git") else git for git in gits[:MAX_REPOSITORIES])  # noqa: PTH120
        linked = self._links.find((workspace, *own))
        if not linked.is_whole:
            limits.append(f"more than {MAX_LINKED} repositories in git's index")
        limits += [f"an unreadable git index ({index})" for index in linked.unread]
        known = dict.fromkeys((*linked.gits, *gits[:MAX_REPOSITORIES]))
        return NestedPaths(tuple(known), tuple(later), tuple(limits))

    def _scan_folder(self, path: str) -> _Folder | None:
        try:
            status = os.lstat(path)
            stamp = (status.st_ino, status.st_mtime_ns, status.st_ctime_ns)
            known = self._folders.get(path)
            if known is None or known.stamp != stamp:
                known = self._folders[path] = _read_folder(path, stamp)
        except OSError:
            self._folders.pop(path, None)
            return None
        return known


def _read_folder(path: str, stamp: tuple[int, int, int]) -> _Folder:
    names: list[str] = []
    folders: list[str] = []
    with os.scandir(path) as entries:
        for entry in entries:
            names.append(entry.name)
            if entry.name not in _SKIPPED_FOLDERS and entry.is_dir(follow_symlinks=False):
                folders.append(entry.path)
    gits = [f"{path}/.git"] if ".git" in names else []
    if _BARE_REPOSITORY_FILES.issubset(names):
        gits.append(path)
    return _Folder(
        stamp,
        len(names),
        tuple(sorted(folders)),
        NestedPaths(tuple(gits), tuple(_autorun_paths(path, names))),
    )


def _autorun_paths(path: str, names: Iterable[str]) -> list[str]:
    above = path.split("/")
    return [
        f"{path}/{name}"
        for name in names
        if name.endswith(AUTORUN_ENDINGS)
        or any(
            not folders or tuple(above[-len(folders) :]) == folders for folders in _AUTORUN_ROWS.get(name, ())
        )
    ]
