"""Chooses the scanner of a folder: by git where git may be run, otherwise one that reads every file.

Nested repositories and submodules are each scanned with their index, up to a limit and if they exist
when the scanner is opened; contents of others are not stored. Without git, folders with generated files
are skipped, and a folder with too many files is not scanned at all."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

from app.undo.change_records import FileWithoutStoredContent, StoredFileState
from app.undo.content_store import GIT_INDEX_COPIES_FOLDER
from app.undo.disk_files import find_folders
from app.undo.folder_scans import (
    FolderScan,
    FolderScanLimits,
    FolderScanner,
    ScannedContentStore,
    ScannedFileState,
)
from app.undo.git_scan import GitFolderScanner, GitScanFailed
from app.values.user_errors import UserError
from tools.files.atomic_replacement import is_temporary_replacement_name
from tools.files.path_existence import exists
from tools.git.git_command import make_read_only_git_command
from tools.git.git_repository import find_repository

MAX_SCANNED_FILES = 20_000
_SCAN_LIMITS_WITHOUT_GIT = FolderScanLimits(file_bytes=1 << 20, all_bytes=200 << 20, files=MAX_SCANNED_FILES)
GENERATED_FOLDERS = frozenset(
    (
        ".git",
        ".hg",
        ".svn",
        ".venv",
        "venv",
        "node_modules",
        "__pycache__",
        ".mypy_cache",
        ".pytest_cache",
        ".tox",
    )
)


class TooManyFilesToScan(UserError):
    """Raised if the folder has too many files to be scanned before each command."""


class FullReadScanner:
    """Scans a folder without git by reading every file."""

    def __init__(self, holder: ScannedContentStore, *, root: Path, outside: Path) -> None:
        """Creates the scanner. `outside` is bayou's own folder, which is not scanned."""
        self._holder = holder
        self._root = str(root)
        self._excluded_folder = os.path.realpath(outside)

    async def scan(self) -> FolderScan:
        return await asyncio.to_thread(self._scan_folder)

    def _scan_folder(self) -> FolderScan:
        """Scans the folder for undo. Raises `TooManyFilesToScan`."""
        files, folders = self._walk_folder()
        seen = self._holder.store_files(
            [(name, f"{self._root}/{name}") for name in files],
            _SCAN_LIMITS_WITHOUT_GIT,
            was_clean=frozenset(),
        )
        seen.update(
            self._holder.store_files(
                [(f"{name}/", f"{self._root}/{name}") for name in folders],
                _SCAN_LIMITS_WITHOUT_GIT,
                was_clean=frozenset(),
            )
        )
        left_out = frozenset(f"{self._root}/{name}" for name in folders)
        return FolderScan(names=seen, folders=find_folders(self._root, left_out))

    def _walk_folder(self) -> tuple[list[str], list[str]]:
        """Returns the files and links of the folder, and the subfolders that are skipped."""
        files: list[str] = []
        left_out: list[str] = []
        waiting = [""]
        while waiting:
            below = waiting.pop()
            try:
                with os.scandir(f"{self._root}/{below}") as entries:
                    for entry in entries:
                        name = f"{below}{entry.name}"
                        if not entry.is_dir(follow_symlinks=False):
                            if not is_temporary_replacement_name(entry.name):
                                files.append(name)
                        elif entry.name in GENERATED_FOLDERS or entry.path == self._excluded_folder:
                            left_out.append(name)
                        else:
                            waiting.append(f"{name}/")
            except OSError:
                left_out.append(below.rstrip("/") or ".")
            if len(files) > MAX_SCANNED_FILES:
                raise TooManyFilesToScan(
                    f"it has more than {MAX_SCANNED_FILES:,} files and is not a git repository"
                )
        return files, [name for name in left_out if not name.endswith(".git")]

    async def file_states_at_open(self, names: list[str]) -> dict[str, StoredFileState | str]:
        return {}

    async def present_file_states(self, names: list[str]) -> dict[str, ScannedFileState]:
        places = [(name, f"{self._root}/{name}") for name in names]
        return await asyncio.to_thread(
            self._holder.store_files, places, _SCAN_LIMITS_WITHOUT_GIT, was_clean=frozenset()
        )

    async def list_unrestorable_files(self, names: list[str], *, ignored: bool) -> dict[str, str]:
        return {}  # every file is listed

    def file_name_at_path(self, place: str) -> str | None:
        if place == self._root:
            return ""
        inside = f"{self._root.rstrip('/')}/"
        return place[len(inside) :] if place.startswith(inside) else None

    def absolute_path(self, name: str) -> str:
        return f"{self._root}/{name}"

    def text(self, image: StoredFileState | None) -> str | None:
        return self._holder.text(image)

    def moved_git_head(self) -> tuple[str, str] | None:
        return None

    async def close(self) -> None:
        return


MAX_NESTED_REPOSITORIES = 20
OpenGit = Callable[[Path], GitFolderScanner | None]
"""A function that opens the scanner of the repository at a folder; returns None where git may not be run. Blocks."""


class NestedRepositoriesScanner:
    """Scans a repository together with the repositories nested in it."""

    def __init__(self, main: GitFolderScanner, open_git: OpenGit) -> None:
        self._main = main
        self._open_git = open_git
        self._nested_scanners: dict[str, GitFolderScanner] | None = None
        """Scanners of nested repositories by name, with a slash at the end."""
        self._unopened_repositories: list[str] = []
        """Unscanned repositories that the index names: a change in them is noticed, but not stored."""

    async def scan(self) -> FolderScan:
        scan = await self._main.scan()
        if self._nested_scanners is None:
            self._nested_scanners = {}
            await self._find_repositories(self._main, scan)
        seen, uncovered = dict(scan.names), list(scan.unstored_files)
        folders = scan.folders
        for name, scanner in self._nested_scanners.items():
            seen.pop(name, None)
            if not scanner.has_repository():
                why = "the repository in it was removed or renamed, and its commits are not stored"
                uncovered.append(FileWithoutStoredContent(path=name, why=why))
                continue
            try:
                inner = await scanner.scan()
            except GitScanFailed as problem:
                uncovered.append(FileWithoutStoredContent(path=name, why=str(problem)))
                continue
            seen.update(inner.names)
            folders = folders | inner.folders if folders is not None and inner.folders is not None else None
        for name in self._nested_scanners:
            seen.pop(name, None)
        seen.update(await self._main.present_file_states(self._unopened_repositories))
        return FolderScan(names=seen, unstored_files=tuple(uncovered), folders=folders)

    async def _find_repositories(self, scanner: GitFolderScanner, scan: FolderScan) -> None:
        assert self._nested_scanners is not None
        names = [name for name, seen in scan.names.items() if seen.is_folder and name.endswith("/")]
        linked = await scanner.gitlinks()
        for name in dict.fromkeys((*names, *linked)):
            place = Path(scanner.absolute_path(name))
            if name in self._nested_scanners or not exists(place / ".git"):
                continue
            opened = (
                await asyncio.to_thread(self._open_git, place)
                if len(self._nested_scanners) < MAX_NESTED_REPOSITORIES
                else None
            )
            if opened is None:
                self._unopened_repositories += [name] if name in linked else []
                continue
            self._nested_scanners[name] = opened
            try:
                await self._find_repositories(opened, await opened.scan())
            except GitScanFailed:
                del self._nested_scanners[name]

    async def file_states_at_open(self, names: list[str]) -> dict[str, StoredFileState | str]:
        found: dict[str, StoredFileState | str] = {}
        by_scanner: dict[int, tuple[GitFolderScanner, list[str]]] = {}
        for name in names:
            scanner = self._scanner_of(name)
            by_scanner.setdefault(id(scanner), (scanner, []))[1].append(name)
        for scanner, own in by_scanner.values():
            found.update(await scanner.file_states_at_open(own))
        return found

    def _scanner_of(self, name: str) -> GitFolderScanner:
        inside = [one for one in self._nested_scanners or {} if name.startswith(one)]
        return (self._nested_scanners or {})[max(inside, key=len)] if inside else self._main

    async def present_file_states(self, names: list[str]) -> dict[str, ScannedFileState]:
        return await self._main.present_file_states(names)

    async def list_unrestorable_files(self, names: list[str], *, ignored: bool) -> dict[str, str]:
        found = await self._main.list_unrestorable_files(
            [name for name in names if self._scanner_of(f"{name}/") is self._main], ignored=ignored
        )
        for inner, scanner in (self._nested_scanners or {}).items():
            found.update(
                await scanner.list_unrestorable_files(
                    [name for name in names if self._scanner_of(f"{name}/") is scanner], ignored=ignored
                )
            )
            if ignored and any(
                not name or f"{name}/" == inner or inner.startswith(f"{name}/") for name in names
            ):
                found[inner] = "deleting a whole repository cannot be undone"
        return found

    def file_name_at_path(self, place: str) -> str | None:
        return self._main.file_name_at_path(place)

    def absolute_path(self, name: str) -> str:
        return self._main.absolute_path(name)

    def text(self, image: StoredFileState | None) -> str | None:
        return self._main.text(image)

    def moved_git_head(self) -> tuple[str, str] | None:
        return self._main.moved_git_head()

    async def close(self) -> None:
        for scanner in (self._main, *(self._nested_scanners or {}).values()):
            await scanner.close()


def open_folder_scanner(
    root: Path,
    holder: ScannedContentStore,
    *,
    home: Path,
    store: Path,
    may_ask_git: Callable[[], bool],
    max_bytes: int,
) -> FolderScanner | str:
    """Opens a scanner that watches the folder for undo, or returns the reason why there is none. Blocks."""
    agent = Path(os.path.realpath(store))
    if not root.is_dir():
        return "the session's folder is gone"

    def open_git(folder: Path) -> GitFolderScanner | None:
        return _open_git_scanner(
            folder, holder, root=root, home=home, agent=agent, may_ask_git=may_ask_git, max_bytes=max_bytes
        )

    opened = open_git(root)
    if opened is not None:
        return NestedRepositoriesScanner(opened, open_git)
    if str(root) == "/" or root == Path(os.path.realpath(home)):
        return f"changes by commands in {root} are not recorded"
    return FullReadScanner(holder, root=root, outside=agent.parent)


def _open_git_scanner(
    folder: Path,
    holder: ScannedContentStore,
    *,
    root: Path,
    home: Path,
    agent: Path,
    may_ask_git: Callable[[], bool],
    max_bytes: int,
) -> GitFolderScanner | None:
    repository = find_repository(folder)
    if (
        repository is None
        or repository.is_bare
        or agent.is_relative_to(os.path.realpath(repository.work_tree))
    ):
        return None
    if repository.risky_settings(home) and not may_ask_git():
        return None
    configuration = repository.configuration(home)
    if (
        make_read_only_git_command(repository.work_tree, "status", repository=configuration, home=home)
        is None
    ):
        return None
    scanner = GitFolderScanner(
        repository,
        configuration,
        holder,
        root=root,
        home=home,
        folder=agent / GIT_INDEX_COPIES_FOLDER,
        max_bytes=max_bytes,
    )
    try:
        scanner.open()
    except OSError:
        return None
    return scanner
