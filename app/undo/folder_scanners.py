"""Chooses the scanner of a folder: by git where git may be run, otherwise one that reads every file.

Nested repositories and submodules are each scanned with their index, up to a limit and if they exist
when the scanner is opened; contents of others are not stored. Without git, folders with generated files
are skipped, and a folder with too many files is not scanned at all."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

from app.undo.change_records import FileImage, UnheldFile
from app.undo.content_store import INDEX_COPIES_FOLDER
from app.undo.disk_files import find_folders
from app.undo.folder_scans import ContentHolder, FolderScanner, Scan, ScanLimits, ScannedName
from app.undo.git_scan import GitScanFailed, GitScanner
from app.values.user_errors import UserError
from tools.files.presence import exists
from tools.files.replacing import is_temporary_name
from tools.git.command import git_command
from tools.git.repository import find_repository

MAX_FILES = 20_000
_LIMITS = ScanLimits(file_bytes=1 << 20, all_bytes=200 << 20, files=MAX_FILES)
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


class TooManyFiles(UserError):
    """The folder has too many files to be scanned before each command."""


class PlainScanner:
    """Scans a folder without git by reading every file."""

    def __init__(self, holder: ContentHolder, *, root: Path, outside: Path) -> None:
        """`outside`: bayou's own folder, which is not scanned."""
        self._holder = holder
        self._root = str(root)
        self._outside = os.path.realpath(outside)

    async def scan(self) -> Scan:
        return await asyncio.to_thread(self._scanned)

    def _scanned(self) -> Scan:
        """Scans the folder. Raises `TooManyFiles`."""
        files, folders = self._walk()
        seen = self._holder.hold(
            [(name, f"{self._root}/{name}") for name in files], _LIMITS, was_clean=frozenset()
        )
        seen.update(
            self._holder.hold(
                [(f"{name}/", f"{self._root}/{name}") for name in folders], _LIMITS, was_clean=frozenset()
            )
        )
        left_out = frozenset(f"{self._root}/{name}" for name in folders)
        return Scan(seen=seen, folders=find_folders(self._root, left_out))

    def _walk(self) -> tuple[list[str], list[str]]:
        """Returns files and links, and the folders that are skipped."""
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
                            if not is_temporary_name(entry.name):
                                files.append(name)
                        elif entry.name in GENERATED_FOLDERS or entry.path == self._outside:
                            left_out.append(name)
                        else:
                            waiting.append(f"{name}/")
            except OSError:
                left_out.append(below.rstrip("/") or ".")
            if len(files) > MAX_FILES:
                raise TooManyFiles(f"it has more than {MAX_FILES:,} files and is not a git repository")
        return files, [name for name in left_out if not name.endswith(".git")]

    async def originals(self, names: list[str]) -> dict[str, FileImage | str]:
        return {}

    async def present(self, names: list[str]) -> dict[str, ScannedName]:
        places = [(name, f"{self._root}/{name}") for name in names]
        return await asyncio.to_thread(self._holder.hold, places, _LIMITS, was_clean=frozenset())

    async def unheld(self, names: list[str], *, ignored: bool) -> dict[str, str]:
        return {}  # every file is listed

    def name_at(self, place: str) -> str | None:
        if place == self._root:
            return ""
        inside = f"{self._root.rstrip('/')}/"
        return place[len(inside) :] if place.startswith(inside) else None

    def place(self, name: str) -> str:
        return f"{self._root}/{name}"

    def text(self, image: FileImage | None) -> str | None:
        return self._holder.text(image)

    def moved_head(self) -> tuple[str, str] | None:
        return None

    async def close(self) -> None:
        return


MAX_NESTED_REPOSITORIES = 20
OpenGit = Callable[[Path], GitScanner | None]
"""Opens the scanner of the repository at a folder; None where git may not be run. Blocks."""


class NestedScanner:
    """Scans a repository together with the repositories nested in it."""

    def __init__(self, main: GitScanner, open_git: OpenGit) -> None:
        self._main = main
        self._open_git = open_git
        self._inner: dict[str, GitScanner] | None = None
        """Scanners of nested repositories by name, with a slash at the end."""
        self._unopened: list[str] = []
        """Unscanned repositories that the index names: a change in them is noticed, but not stored."""

    async def scan(self) -> Scan:
        scan = await self._main.scan()
        if self._inner is None:
            self._inner = {}
            await self._find(self._main, scan)
        seen, uncovered = dict(scan.seen), list(scan.uncovered)
        folders = scan.folders
        for name, scanner in self._inner.items():
            seen.pop(name, None)
            if not scanner.is_there():
                why = "the repository in it was removed or renamed, and its commits are not stored"
                uncovered.append(UnheldFile(path=name, why=why))
                continue
            try:
                inner = await scanner.scan()
            except GitScanFailed as problem:
                uncovered.append(UnheldFile(path=name, why=str(problem)))
                continue
            seen.update(inner.seen)
            folders = folders | inner.folders if folders is not None and inner.folders is not None else None
        for name in self._inner:
            seen.pop(name, None)
        seen.update(await self._main.present(self._unopened))
        return Scan(seen=seen, uncovered=tuple(uncovered), folders=folders)

    async def _find(self, scanner: GitScanner, scan: Scan) -> None:
        assert self._inner is not None
        names = [name for name, seen in scan.seen.items() if seen.is_folder and name.endswith("/")]
        linked = await scanner.gitlinks()
        for name in dict.fromkeys((*names, *linked)):
            place = Path(scanner.place(name))
            if name in self._inner or not exists(place / ".git"):
                continue
            opened = (
                await asyncio.to_thread(self._open_git, place)
                if len(self._inner) < MAX_NESTED_REPOSITORIES
                else None
            )
            if opened is None:
                self._unopened += [name] if name in linked else []
                continue
            self._inner[name] = opened
            try:
                await self._find(opened, await opened.scan())
            except GitScanFailed:
                del self._inner[name]

    async def originals(self, names: list[str]) -> dict[str, FileImage | str]:
        found: dict[str, FileImage | str] = {}
        by_scanner: dict[int, tuple[GitScanner, list[str]]] = {}
        for name in names:
            scanner = self._scanner_of(name)
            by_scanner.setdefault(id(scanner), (scanner, []))[1].append(name)
        for scanner, own in by_scanner.values():
            found.update(await scanner.originals(own))
        return found

    def _scanner_of(self, name: str) -> GitScanner:
        inside = [one for one in self._inner or {} if name.startswith(one)]
        return (self._inner or {})[max(inside, key=len)] if inside else self._main

    async def present(self, names: list[str]) -> dict[str, ScannedName]:
        return await self._main.present(names)

    async def unheld(self, names: list[str], *, ignored: bool) -> dict[str, str]:
        found = await self._main.unheld(
            [name for name in names if self._scanner_of(f"{name}/") is self._main], ignored=ignored
        )
        for inner, scanner in (self._inner or {}).items():
            found.update(
                await scanner.unheld(
                    [name for name in names if self._scanner_of(f"{name}/") is scanner], ignored=ignored
                )
            )
            if ignored and any(
                not name or f"{name}/" == inner or inner.startswith(f"{name}/") for name in names
            ):
                found[inner] = "deleting a whole repository cannot be undone"
        return found

    def name_at(self, place: str) -> str | None:
        return self._main.name_at(place)

    def place(self, name: str) -> str:
        return self._main.place(name)

    def text(self, image: FileImage | None) -> str | None:
        return self._main.text(image)

    def moved_head(self) -> tuple[str, str] | None:
        return self._main.moved_head()

    async def close(self) -> None:
        for scanner in (self._main, *(self._inner or {}).values()):
            await scanner.close()


def scanner_for(
    root: Path,
    holder: ContentHolder,
    *,
    home: Path,
    store: Path,
    may_ask_git: Callable[[], bool],
    max_bytes: int,
) -> FolderScanner | str:
    """Opens a scanner for the folder, or returns the reason why there is none. Blocks."""
    agent = Path(os.path.realpath(store))
    if not root.is_dir():
        return "the session's folder is gone"

    def open_git(folder: Path) -> GitScanner | None:
        return _open_git_scanner(
            folder, holder, root=root, home=home, agent=agent, may_ask_git=may_ask_git, max_bytes=max_bytes
        )

    opened = open_git(root)
    if opened is not None:
        return NestedScanner(opened, open_git)
    if str(root) == "/" or root == Path(os.path.realpath(home)):
        return f"changes by commands in {root} are not recorded"
    return PlainScanner(holder, root=root, outside=agent.parent)


def _open_git_scanner(
    folder: Path,
    holder: ContentHolder,
    *,
    root: Path,
    home: Path,
    agent: Path,
    may_ask_git: Callable[[], bool],
    max_bytes: int,
) -> GitScanner | None:
    repository = find_repository(folder)
    if repository is None or repository.is_bare or agent.is_relative_to(os.path.realpath(repository.top)):
        return None
    if repository.risky_settings(home) and not may_ask_git():
        return None
    configuration = repository.configuration(home)
    if git_command(repository.top, "status", repository=configuration, home=home) is None:
        return None
    scanner = GitScanner(
        repository,
        configuration,
        holder,
        root=root,
        home=home,
        folder=agent / INDEX_COPIES_FOLDER,
        max_bytes=max_bytes,
    )
    try:
        scanner.open()
    except OSError:
        return None
    return scanner
