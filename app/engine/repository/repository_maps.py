"""Queries about the repository map of a session's folder, answered in threads.

Paths are relative to the session's folder. The index is loaded with the first query."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tools.session_workspace import SessionWorkspace

if TYPE_CHECKING:
    from tools.filemap.file_map import Symbol
    from tools.repomap.name_lookup import SymbolDefinition
    from tools.repomap.session_map import FileMatchingSearch, FoundUseOfName

FOLDER_MAP_MESSAGE_TYPE = "repository-map"
"""The type of the message with the map of a folder."""
INDEXING_PROGRESS_DELAY_SECONDS = 2.0
"""The number of seconds of indexing after which progress is shown; most indexes are ready sooner."""

_REPOSITORY_INDEX_POLL_SECONDS = 0.5


def _import_index_module():
    """Imports and returns the module with the index, at its first use."""
    from tools.repomap import session_map  # noqa: PLC0415  (SQLite, parsers)

    return session_map


class RepositoryMaps:
    """Answers queries about the repository map of one session."""

    def __init__(self, workspace: SessionWorkspace) -> None:
        self._workspace = workspace

    @property
    def indexing_progress(self) -> tuple[int, int] | None:
        """The numbers of indexed and of all files, while indexing takes longer than
        `INDEXING_PROGRESS_DELAY_SECONDS`."""
        repository = self._workspace.last_used_repository
        return (
            repository.upkeep.index_build_progress(INDEXING_PROGRESS_DELAY_SECONDS)
            if repository is not None
            else None
        )

    @property
    def is_incomplete(self) -> bool:
        """Whether indexing of the repository is running, so that results may be missing."""
        return any(one.upkeep.is_building for one in self._workspace.last_used_repositories)

    async def wait_for_index_growth(self) -> AsyncIterator[None]:
        """Yields once at first, then whenever an index in progress has grown, and once when it is complete."""
        while True:
            was_incomplete = self.is_incomplete
            yield
            if not was_incomplete and not self.is_incomplete:
                return
            await asyncio.sleep(_REPOSITORY_INDEX_POLL_SECONDS)

    def watch_progress(self, heard: Callable[[], None]) -> None:
        """Calls `heard` from any thread when `indexing_progress` may have changed."""
        self._workspace.on_map_progress = heard

    def may_show_file(self, path: Path) -> bool:
        """Returns whether names defined in a file may be offered: rules do not hide the file, and it is no secret
        file."""
        return not self._workspace.hidden_path_test()(os.path.realpath(path))

    async def are_available(self) -> bool:
        """Whether repository maps are available: the setting is on, and the files are on this machine."""
        return await asyncio.to_thread(self._workspace.repository) is not None

    async def symbols_containing(self, text: str) -> "Sequence[tuple[str, SymbolDefinition]]":
        """Returns the symbols whose name contains the text, with their paths."""
        return await asyncio.to_thread(
            _import_index_module().find_session_symbols_like, self._workspace, text
        )

    async def files_below(self, folder: str = "") -> Sequence[str]:
        """Returns all indexed files below a folder, sorted."""
        return await asyncio.to_thread(_import_index_module().list_files_below, self._workspace, folder)

    async def symbols_of_file(self, path: str) -> "Sequence[Symbol]":
        return await asyncio.to_thread(_import_index_module().list_symbols_of_file, self._workspace, path)

    async def find_files(self, text: str, folder: str = "") -> "Sequence[FileMatchingSearch]":
        """Returns files that match words, a name or a part of a path, best match first; without text the files
        used most."""
        return await asyncio.to_thread(
            _import_index_module().search_files_and_symbols, self._workspace, text, folder
        )

    async def defined_names(self, names: Sequence[str]) -> Sequence[str]:
        """Returns those of the given names that the repository defines, in the given order."""
        return await asyncio.to_thread(_import_index_module().find_defined_names, self._workspace, names)

    async def definitions_of_name(self, name: str) -> "Sequence[tuple[str, SymbolDefinition]]":
        """Returns the definitions of a name in the repository, the most relevant to the conversation first."""
        return await asyncio.to_thread(_import_index_module().find_definitions_of, self._workspace, name)

    async def uses_of_name(self, name: str) -> "Sequence[FoundUseOfName]":
        return await asyncio.to_thread(_import_index_module().find_uses_of, self._workspace, name)

    async def read_lines(self, path: str, first: int, last: int) -> str:
        """Returns lines of a file; empty when it cannot be read as text."""
        return await asyncio.to_thread(
            _import_index_module().read_lines_of_file, self._workspace, path, first, last
        )

    async def outline_of_file(self, path: Path) -> str:
        """Returns the outline of one file for the user, without caching. Raises `OSError`."""
        from tools.filemap.file_mapper import make_file_map  # noqa: PLC0415  (as above)
        from tools.filemap.rendering.file_map_rendering import render_file_map  # noqa: PLC0415  (as above)

        return render_file_map(await asyncio.to_thread(make_file_map, path)).text

    async def map_of_folder(self, folder: str) -> str:
        """Returns the map of a folder as the model gets it. Raises `ToolError` for a folder outside of the
        repository."""
        return await asyncio.to_thread(_import_index_module().render_folder_map, self._workspace, folder)
