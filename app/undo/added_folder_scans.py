"""Scans the session's folder together with the folders that were added to it.

Names in added folders are absolute paths, as those of files that tools change outside."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from app.undo.change_records import FileImage, UnheldFile, display_path
from app.undo.disk_files import FoundFolders
from app.undo.folder_scanners import TooManyFiles
from app.undo.folder_scans import FolderScanner, Scan, ScannedName
from app.undo.git_scan import GitScanFailed


class AddedFolderScanner:
    """Scans an added folder with a scanner whose names are relative to it."""

    def __init__(self, inner: FolderScanner, root: str) -> None:
        self.inner = inner
        self.root = root

    def whole(self, name: str) -> str:
        return f"{self.root}/{name}"

    def relative(self, name: str) -> str:
        return name[len(self.root) + 1 :]

    def holds(self, name: str) -> bool:
        return name == self.root or name.startswith(f"{self.root}/")

    async def scan(self) -> Scan:
        found = await self.inner.scan()
        seen = {self.whole(name): one for name, one in found.seen.items()}
        uncovered = tuple(
            msgspec.structs.replace(one, path=display_path(self.whole(one.path))) for one in found.uncovered
        )
        return Scan(seen=seen, uncovered=uncovered, folders=found.folders)


class ManyFoldersScanner:
    """Scans several folders as if they were one. A folder that cannot be scanned does not stop the others."""

    def __init__(
        self, main: FolderScanner, added: Sequence[AddedFolderScanner], unopened: Mapping[str, str]
    ) -> None:
        """`unopened`: why folders have no scanner."""
        self._main = main
        self._added = added
        self._unopened = unopened

    async def scan(self) -> Scan:
        main = await self._main.scan()
        seen, uncovered, folders = dict(main.seen), list(main.uncovered), main.folders
        uncovered += [UnheldFile(path=display_path(root), why=why) for root, why in self._unopened.items()]
        for one in self._added:
            try:
                found = await one.scan()
            except (GitScanFailed, TooManyFiles) as problem:
                uncovered.append(UnheldFile(path=display_path(one.root), why=str(problem)))
                continue
            seen.update(found.seen)
            uncovered += found.uncovered
            folders = _together(folders, found.folders)
        return Scan(seen=seen, uncovered=tuple(uncovered), folders=folders)

    async def originals(self, names: list[str]) -> dict[str, FileImage | str]:
        found = await self._main.originals(self._of_main(names))
        for one in self._added:
            inner = await one.inner.originals([one.relative(name) for name in names if one.holds(name)])
            found.update({one.whole(name): image for name, image in inner.items()})
        return found

    async def present(self, names: list[str]) -> dict[str, ScannedName]:
        found = await self._main.present(self._of_main(names))
        for one in self._added:
            inner = await one.inner.present([one.relative(name) for name in names if one.holds(name)])
            found.update({one.whole(name): seen for name, seen in inner.items()})
        return found

    async def unheld(self, names: list[str], *, ignored: bool) -> dict[str, str]:
        found = await self._main.unheld(self._of_main(names), ignored=ignored)
        for one in self._added:
            own = [one.relative(name) for name in names if one.holds(name)]
            if own:
                inner = await one.inner.unheld(own, ignored=ignored)
                found.update({one.whole(name): why for name, why in inner.items()})
        return found

    def name_at(self, place: str) -> str | None:
        if any(one.holds(place) for one in self._added):
            return place
        return self._main.name_at(place)

    def place(self, name: str) -> str:
        return name if self._added_of(name) is not None else self._main.place(name)

    def text(self, image: FileImage | None) -> str | None:
        return self._main.text(image)

    def moved_head(self) -> tuple[str, str] | None:
        return self._main.moved_head()

    async def close(self) -> None:
        for scanner in (self._main, *(one.inner for one in self._added)):
            await scanner.close()

    def _added_of(self, name: str) -> AddedFolderScanner | None:
        return next((one for one in self._added if one.holds(name)), None)

    def _of_main(self, names: list[str]) -> list[str]:
        return [name for name in names if self._added_of(name) is None]


def scanner_of_many(
    main: FolderScanner, added: Sequence[Path], scanner_of: Callable[[Path], FolderScanner | str]
) -> ManyFoldersScanner:
    """Opens scanners of added folders beside the one of the session's folder. Blocks."""
    opened: list[AddedFolderScanner] = []
    unopened: dict[str, str] = {}
    for folder in added:
        scanner = scanner_of(folder)
        if isinstance(scanner, str):
            unopened[str(folder)] = scanner
        else:
            opened.append(AddedFolderScanner(scanner, str(folder)))
    return ManyFoldersScanner(main, opened, unopened)


def _together(one: FoundFolders | None, other: FoundFolders | None) -> FoundFolders | None:
    return None if one is None or other is None else one | other
