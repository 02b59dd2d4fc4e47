"""Scans the session's folder together with the folders that were added to it.

Names in added folders are absolute paths, as those of files that tools change outside."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from app.undo.change_records import FileWithoutStoredContent, StoredFileState, readable_file_name
from app.undo.disk_files import FoundFolders
from app.undo.folder_scanners import TooManyFilesToScan
from app.undo.folder_scans import FolderScan, FolderScanner, ScannedFileState
from app.undo.git_scan import GitScanFailed


class AddedFolderScanner:
    """Scans an added folder for undo: turns the names that the folder's scanner gives, which are relative to the
    folder, into absolute ones."""

    def __init__(self, inner: FolderScanner, root: str) -> None:
        self.inner_scanner = inner
        self.root = root

    def absolute_name(self, name: str) -> str:
        return f"{self.root}/{name}"

    def relative_name(self, name: str) -> str:
        return name[len(self.root) + 1 :]

    def contains_name(self, name: str) -> bool:
        return name == self.root or name.startswith(f"{self.root}/")

    async def scan(self) -> FolderScan:
        found = await self.inner_scanner.scan()
        seen = {self.absolute_name(name): one for name, one in found.names.items()}
        uncovered = tuple(
            msgspec.structs.replace(one, path=readable_file_name(self.absolute_name(one.path)))
            for one in found.unstored_files
        )
        return FolderScan(names=seen, unstored_files=uncovered, folders=found.folders)


class ManyFoldersScanner:
    """Scans several folders as if they were one. A folder that cannot be scanned does not stop the others."""

    def __init__(
        self, main: FolderScanner, added: Sequence[AddedFolderScanner], unopened: Mapping[str, str]
    ) -> None:
        """Creates the scanner. `unopened` has the reasons why some folders have no scanner."""
        self._main = main
        self._added = added
        self._unopened_repositories = unopened

    async def scan(self) -> FolderScan:
        main = await self._main.scan()
        seen, uncovered, folders = dict(main.names), list(main.unstored_files), main.folders
        uncovered += [
            FileWithoutStoredContent(path=readable_file_name(root), why=why)
            for root, why in self._unopened_repositories.items()
        ]
        for one in self._added:
            try:
                found = await one.scan()
            except (GitScanFailed, TooManyFilesToScan) as problem:
                uncovered.append(
                    FileWithoutStoredContent(path=readable_file_name(one.root), why=str(problem))
                )
                continue
            seen.update(found.names)
            uncovered += found.unstored_files
            folders = _join_folders(folders, found.folders)
        return FolderScan(names=seen, unstored_files=tuple(uncovered), folders=folders)

    async def file_states_at_open(self, names: list[str]) -> dict[str, StoredFileState | str]:
        found = await self._main.file_states_at_open(self._names_in_main(names))
        for one in self._added:
            inner = await one.inner_scanner.file_states_at_open(
                [one.relative_name(name) for name in names if one.contains_name(name)]
            )
            found.update({one.absolute_name(name): image for name, image in inner.items()})
        return found

    async def present_file_states(self, names: list[str]) -> dict[str, ScannedFileState]:
        found = await self._main.present_file_states(self._names_in_main(names))
        for one in self._added:
            inner = await one.inner_scanner.present_file_states(
                [one.relative_name(name) for name in names if one.contains_name(name)]
            )
            found.update({one.absolute_name(name): seen for name, seen in inner.items()})
        return found

    async def list_unrestorable_files(self, names: list[str], *, ignored: bool) -> dict[str, str]:
        found = await self._main.list_unrestorable_files(self._names_in_main(names), ignored=ignored)
        for one in self._added:
            own = [one.relative_name(name) for name in names if one.contains_name(name)]
            if own:
                inner = await one.inner_scanner.list_unrestorable_files(own, ignored=ignored)
                found.update({one.absolute_name(name): why for name, why in inner.items()})
        return found

    def file_name_at_path(self, place: str) -> str | None:
        if any(one.contains_name(place) for one in self._added):
            return place
        return self._main.file_name_at_path(place)

    def absolute_path(self, name: str) -> str:
        return name if self._added_folder_of(name) is not None else self._main.absolute_path(name)

    def text(self, image: StoredFileState | None) -> str | None:
        return self._main.text(image)

    def moved_git_head(self) -> tuple[str, str] | None:
        return self._main.moved_git_head()

    async def close(self) -> None:
        for scanner in (self._main, *(one.inner_scanner for one in self._added)):
            await scanner.close()

    def _added_folder_of(self, name: str) -> AddedFolderScanner | None:
        return next((one for one in self._added if one.contains_name(name)), None)

    def _names_in_main(self, names: list[str]) -> list[str]:
        return [name for name in names if self._added_folder_of(name) is None]


def open_many_folders_scanner(
    main: FolderScanner, added: Sequence[Path], scanner_of: Callable[[Path], FolderScanner | str]
) -> ManyFoldersScanner:
    """Opens scanners of added folders beside the scanner of the session's folder. Blocks."""
    opened: list[AddedFolderScanner] = []
    unopened: dict[str, str] = {}
    for folder in added:
        scanner = scanner_of(folder)
        if isinstance(scanner, str):
            unopened[str(folder)] = scanner
        else:
            opened.append(AddedFolderScanner(scanner, str(folder)))
    return ManyFoldersScanner(main, opened, unopened)


def _join_folders(one: FoundFolders | None, other: FoundFolders | None) -> FoundFolders | None:
    return None if one is None or other is None else one | other
