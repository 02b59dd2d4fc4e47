"""Queries about the repository map of a session's folder, answered in threads.

Paths are relative to the session's folder. The index is loaded with the first query."""

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
"""Type of the message with the map of a folder."""
SHOW_DELAY = 2.0
"""Seconds of indexing after which progress is shown; most indexes are ready sooner."""

_POLL_INTERVAL = 0.5


def _index():
    """Imports the module with the index."""
    from tools.repomap import of_session  # noqa: PLC0415  (SQLite, parsers)

    return of_session


class RepositoryMaps:
    """The repository maps of one session."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    @property
    def building(self) -> tuple[int, int] | None:
        """Indexed files and their total, while indexing takes longer than `SHOW_DELAY`."""
        repository = self._workspace.last_repository
        return repository.upkeep.progress(SHOW_DELAY) if repository is not None else None

    @property
    def is_incomplete(self) -> bool:
        """Whether indexing is running, so that results may be missing."""
        return any(one.upkeep.is_building for one in self._workspace.last_repositories)

    async def wait_for_growth(self) -> AsyncIterator[None]:
        """Yields once at first, then whenever an index in progress has grown, and once when it is complete."""
        while True:
            was_incomplete = self.is_incomplete
            yield
            if not was_incomplete and not self.is_incomplete:
                return
            await asyncio.sleep(_POLL_INTERVAL)

    def watch(self, heard: Callable[[], None]) -> None:
        """Calls `heard` from any thread when `building` may have changed."""
        self._workspace.map_heard = heard

    def may_show(self, path: Path) -> bool:
        """Whether names in a file may be offered: it is not hidden by rules and is no secret file."""
        return not self._workspace.kept_back()(os.path.realpath(path))

    async def is_there(self) -> bool:
        """Whether maps are available: the setting is on, and the files are on this machine."""
        return await asyncio.to_thread(self._workspace.repository) is not None

    async def symbols_like(self, text: str) -> "Sequence[tuple[str, Definition]]":
        """Returns symbols whose name contains the text, with their paths."""
        return await asyncio.to_thread(_index().symbols_like, self._workspace, text)

    async def files(self, folder: str = "") -> Sequence[str]:
        """Returns all files below a folder, sorted."""
        return await asyncio.to_thread(_index().files_below, self._workspace, folder)

    async def symbols_of(self, path: str) -> "Sequence[Symbol]":
        return await asyncio.to_thread(_index().symbols_of, self._workspace, path)

    async def found(self, text: str, folder: str = "") -> "Sequence[MatchedFile]":
        """Returns files that match words, a name or a part of a path, best match first; without text the most
        used."""
        return await asyncio.to_thread(_index().search_files_and_symbols, self._workspace, text, folder)

    async def known(self, names: Sequence[str]) -> Sequence[str]:
        """Returns the names that are defined in the repository, in the given order."""
        return await asyncio.to_thread(_index().known_names, self._workspace, names)

    async def definitions(self, name: str) -> "Sequence[tuple[str, Definition]]":
        """Returns the definitions of a name, the most relevant to the conversation first."""
        return await asyncio.to_thread(_index().definitions_of, self._workspace, name)

    async def uses(self, name: str) -> "Sequence[FoundUse]":
        return await asyncio.to_thread(_index().uses_of, self._workspace, name)

    async def lines(self, path: str, first: int, last: int) -> str:
        """Returns lines of a file; empty when it cannot be read as text."""
        return await asyncio.to_thread(_index().lines_of, self._workspace, path, first, last)

    async def outline_of(self, path: Path) -> str:
        """Returns the outline of one file for the user, without caching. Raises `OSError`."""
        from tools.filemap.map import map_file  # noqa: PLC0415  (as above)
        from tools.filemap.rendering.render import render_map  # noqa: PLC0415  (as above)

        return render_map(await asyncio.to_thread(map_file, path)).text

    async def map_of_folder(self, folder: str) -> str:
        """Returns the map of a folder as the model gets it. Raises `ToolError` for a folder outside of the
        repository."""
        return await asyncio.to_thread(_index().map_of_folder, self._workspace, folder)
