"""Scans the session's folder together with the folders that were added to it.

Names in added folders are absolute paths, as those of files that tools change outside."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from app.undo.change_records import FileImage, UnstoredFile, display_path
from app.undo.disk_files import FoundFolders
from app.undo.folder_scanners import TooManyFiles
from app.undo.folder_scans import FolderScan, FolderScanner, ScannedName
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
            msgspec.structs.replace(one, path=display_path(self.absolute_name(one.path)))
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
            UnstoredFile(path=display_path(root), why=why)
            for root, why in self._unopened_repositories.items()
        ]
        for one in self._added:
            try:
                found = await one.scan()
            except (GitScanFailed, TooManyFiles) as problem:
                uncovered.append(UnstoredFile(path=display_path(one.root), why=str(problem)))
                continue
            seen.update(found.names)
            uncovered += found.unstored_files
            folders = _join_folders(folders, found.folders)
        return FolderScan(names=seen, unstored_files=tuple(uncovered), folders=folders)

    async def original_states(self, names: list[str]) -> dict[str, FileImage | str]:
        found = await self._main.original_states(self._names_in_main(names))
        for one in self._added:
            inner = await one.inner_scanner.original_states(
                [one.relative_name(name) for name in names if one.contains_name(name)]
            )
            found.update({one.absolute_name(name): image for name, image in inner.items()})
        return found

    async def present_states(self, names: list[str]) -> dict[str, ScannedName]:
        found = await self._main.present_states(self._names_in_main(names))
        for one in self._added:
            inner = await one.inner_scanner.present_states(
                [one.relative_name(name) for name in names if one.contains_name(name)]
            )
            found.update({one.absolute_name(name): seen for name, seen in inner.items()})
        return found

    async def unrestorable(self, names: list[str], *, ignored: bool) -> dict[str, str]:
        found = await self._main.unrestorable(self._names_in_main(names), ignored=ignored)
        for one in self._added:
            own = [one.relative_name(name) for name in names if one.contains_name(name)]
            if own:
                inner = await one.inner_scanner.unrestorable(own, ignored=ignored)
                found.update({one.absolute_name(name): why for name, why in inner.items()})
        return found

    def name_at(self, place: str) -> str | None:
        if any(one.contains_name(place) for one in self._added):
            return place
        return self._main.name_at(place)

    def absolute_path(self, name: str) -> str:
        return name if self._added_folder_of(name) is not None else self._main.absolute_path(name)

    def text(self, image: FileImage | None) -> str | None:
        return self._main.text(image)

    def moved_head(self) -> tuple[str, str] | None:
        return self._main.moved_head()

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
