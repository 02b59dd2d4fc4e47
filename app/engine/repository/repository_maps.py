"""What a session's face asks of the map of the repository that the session works in. Answers are made in threads.

Paths are those from the session's folder on, upwards too. Nothing of the index is loaded before somebody asks.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tools.workspace import Workspace

if TYPE_CHECKING:
    from tools.filemap.symbols import Symbol
    from tools.repomap.lookup import Definition
    from tools.repomap.of_session import FoundUse, MatchedFile

FOLDER_MAP = "repository-map"
"""What a message is called that tells of a folder."""
SHOW_DELAY = 2.0
"""Seconds after which it is told that an index is being made: most are done sooner."""

_POLL_INTERVAL = 0.5


def _index():
    """The module that is asked."""
    from tools.repomap import of_session  # noqa: PLC0415  (SQLite, parsers)

    return of_session


class RepositoryMaps:
    """Of one session."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    @property
    def building(self) -> tuple[int, int] | None:
        """While an index has been made for a while: how many files of how many."""
        repository = self._workspace.mapped
        return repository.upkeep.progress(SHOW_DELAY) if repository is not None else None

    @property
    def is_incomplete(self) -> bool:
        """An index is being made at this moment: what is not found may come yet."""
        repository = self._workspace.mapped
        return repository is not None and repository.upkeep.is_building

    async def wait_for_growth(self) -> AsyncIterator[None]:
        """Once now; while an index is made again and again, and once more when it is done: then more is found."""
        while True:
            was_incomplete = self.is_incomplete
            yield
            if not was_incomplete and not self.is_incomplete:
                return
            await asyncio.sleep(_POLL_INTERVAL)

    def watch(self, heard: Callable[[], None]) -> None:
        """Calls it, from any thread, whenever `building` may be another."""
        self._workspace.map_heard = heard

    def may_show(self, path: Path) -> bool:
        """Whether names in a file are offered: not of one that rules keep from being read, or that may hold secrets."""
        return not self._workspace.kept_back()(os.path.realpath(path))

    async def is_there(self) -> bool:
        """Whether there is anything to ask: the setting is on, and the files are of this machine."""
        return await asyncio.to_thread(self._workspace.repository) is not None

    async def symbols_like(self, text: str) -> "Sequence[tuple[str, Definition]]":
        """Symbols by a part of their name, each with its path."""
        return await asyncio.to_thread(_index().symbols_like, self._workspace, text)

    async def files(self, folder: str = "") -> Sequence[str]:
        """All files below a folder, sorted."""
        return await asyncio.to_thread(_index().files_below, self._workspace, folder)

    async def symbols_of(self, path: str) -> "Sequence[Symbol]":
        return await asyncio.to_thread(_index().symbols_of, self._workspace, path)

    async def found(self, text: str, folder: str = "") -> "Sequence[MatchedFile]":
        """Files that words, a name or a part of a path may mean, the likeliest first; without words the most used."""
        return await asyncio.to_thread(_index().found_for, self._workspace, text, folder)

    async def known(self, names: Sequence[str]) -> Sequence[str]:
        """Those of them that are defined somewhere, in the order given."""
        return await asyncio.to_thread(_index().known_names, self._workspace, names)

    async def definitions(self, name: str) -> "Sequence[tuple[str, Definition]]":
        """Where it is defined, by name, the nearest to the conversation first."""
        return await asyncio.to_thread(_index().definitions_of, self._workspace, name)

    async def uses(self, name: str) -> "Sequence[FoundUse]":
        return await asyncio.to_thread(_index().uses_of, self._workspace, name)

    async def lines(self, path: str, first: int, last: int) -> str:
        """Those lines of a file as they are now; empty when it cannot be read as text."""
        return await asyncio.to_thread(_index().lines_of, self._workspace, path, first, last)

    async def outline_of(self, path: Path) -> str:
        """Of one file, for its person: kept nowhere. Raises `OSError`."""
        from tools.filemap.map import map_file  # noqa: PLC0415  (as above)
        from tools.filemap.rendering.render import render_map  # noqa: PLC0415  (as above)

        return render_map(await asyncio.to_thread(map_file, path)).text

    async def map_of_folder(self, folder: str) -> str:
        """As a model gets it. Raises `ToolError` for a folder outside of the repository."""
        return await asyncio.to_thread(_index().map_of_folder, self._workspace, folder)
