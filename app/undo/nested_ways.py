"""A work tree with the repositories in it: nested ones and submodules, each looked at by its own index.

So many as are found when the way is opened; what comes later, or is more, is a folder of which nothing is held.
"""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

from app.undo.git_way import Failed, GitWay
from app.undo.images import FileImage, Uncovered
from app.undo.scans import Scan, Seen
from tools.files.presence import exists
from tools.git.config import read_configuration

MOST = 20
OpenGit = Callable[[Path], GitWay | None]
"""The way of the repository at a folder, opened; None where git may not be asked. Blocks."""


class NestedWays:
    def __init__(self, main: GitWay, open_git: OpenGit) -> None:
        self._main = main
        self._open_git = open_git
        self._inner: dict[str, GitWay] | None = None
        """By name, with a slash at the end."""

    async def scan(self) -> Scan:
        scan = await self._main.scan()
        if self._inner is None:
            self._inner = {}
            await self._find(self._main, scan)
        seen, uncovered = dict(scan.seen), list(scan.uncovered)
        for name, way in self._inner.items():
            try:
                inner = await way.scan()
            except Failed as problem:
                uncovered.append(Uncovered(path=name, why=str(problem)))
                continue
            seen.update(inner.seen)
        for name in self._inner:
            seen.pop(name, None)
        return Scan(seen=seen, started=scan.started, uncovered=tuple(uncovered))

    async def _find(self, way: GitWay, scan: Scan) -> None:
        assert self._inner is not None
        names = [name for name, seen in scan.seen.items() if seen.is_folder and name.endswith("/")]
        for name in (*names, *await asyncio.to_thread(_submodules, way)):
            place = Path(way.place(name))
            if len(self._inner) >= MOST or name in self._inner or not exists(place / ".git"):
                continue
            opened = await asyncio.to_thread(self._open_git, place)
            if opened is None:
                continue
            self._inner[name] = opened
            try:
                await self._find(opened, await opened.scan())
            except Failed:
                del self._inner[name]

    async def originals(self, names: list[str]) -> dict[str, FileImage | str]:
        found: dict[str, FileImage | str] = {}
        by_way: dict[int, tuple[GitWay, list[str]]] = {}
        for name in names:
            way = self._way_of(name)
            by_way.setdefault(id(way), (way, []))[1].append(name)
        for way, own in by_way.values():
            found.update(await way.originals(own))
        return found

    def _way_of(self, name: str) -> GitWay:
        inside = [one for one in self._inner or {} if name.startswith(one)]
        return (self._inner or {})[max(inside, key=len)] if inside else self._main

    async def present(self, names: list[str]) -> dict[str, Seen]:
        return await self._main.present(names)

    async def unheld(self, names: list[str], *, ignored: bool) -> dict[str, str]:
        found = await self._main.unheld(
            [name for name in names if self._way_of(f"{name}/") is self._main], ignored=ignored
        )
        for inner, way in (self._inner or {}).items():
            found.update(
                await way.unheld([name for name in names if self._way_of(f"{name}/") is way], ignored=ignored)
            )
            if ignored and any(
                not name or f"{name}/" == inner or inner.startswith(f"{name}/") for name in names
            ):
                found[inner] = "a repository is not held when all of it is removed"
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
        for way in (self._main, *(self._inner or {}).values()):
            await way.close()


def _submodules(way: GitWay) -> list[str]:
    """Those that the work tree names, as names with a slash at the end."""
    entries = read_configuration(way.top / ".gitmodules", home=way.top).entries
    paths = [entry.value for entry in entries if entry.section == "submodule" and entry.key == "path"]
    plain = [os.path.normpath(path) for path in paths if path]
    return [f"{way.name(path.encode())}/" for path in plain if not path.startswith(("/", ".."))]
