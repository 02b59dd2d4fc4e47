"""Answers a session's questions to its repository map, with the files that the conversation knows."""

import os
from collections.abc import Callable, Sequence
from itertools import zip_longest
from pathlib import Path

import msgspec

from tools.filemap.file_map import Symbol
from tools.filemap.map_deadline import FileMapTimeLimitReached, MapDeadline
from tools.filemap.source_text import CannotMakeFileMap, read_source_text
from tools.files.paths import display_path
from tools.repomap.index.file_kinds import format_file_kind_note
from tools.repomap.index.file_records import make_index_record_with_outline
from tools.repomap.index.folder_listing import is_path_below
from tools.repomap.map_answer_texts import format_map_answer
from tools.repomap.mapped_repository import DEFAULT_INDEX_WAIT_SECONDS, MappedRepository
from tools.repomap.name_lookup import SymbolDefinition
from tools.session_workspace import SessionWorkspace
from tools.tool_definition import ToolError


def mapped_repository_of(workspace: SessionWorkspace, folder: str | None = None) -> MappedRepository:
    """Returns the repository of the working directory, or of the added folder that contains `folder`."""
    repository = workspace.repository(folder)
    if repository is None:
        raise ToolError(
            "There is no map of this folder: the setting repositoryMaps.enabled is off, or the files are "
            "on another machine. "
            "Use grep and find."
        )
    return repository


def folder_relative_to_root(repository: MappedRepository, folder: str, workspace: SessionWorkspace) -> str:
    """Returns a folder's path relative to the repository's root; the root is the empty name."""
    below = os.path.relpath(os.path.realpath(folder), os.path.realpath(repository.root))
    if below == "..":
        raise ToolError(f"{display_path(folder, workspace.cwd)} is above the repository {repository.root}.")
    if below.startswith("../"):
        raise ToolError(f"{display_path(folder, workspace.cwd)} is not in the repository {repository.root}.")
    return "" if below == "." else below


def list_known_files(repository: MappedRepository, workspace: SessionWorkspace) -> list[str]:
    """Returns the files that the conversation has read or changed, newest last, relative to the root."""
    root = os.path.realpath(repository.root)
    paths = [os.path.relpath(path, root) for path in workspace.read_cache.paths()]
    return [path for path in paths if not path.startswith("..")]


def find_session_symbols_like(
    workspace: SessionWorkspace, text: str, most: int = 100
) -> list[tuple[str, SymbolDefinition]]:
    """Returns symbols of the repository whose names resemble a text, with paths relative to the session's folder; none
    without a map."""
    found: list[tuple[str, SymbolDefinition]] = []
    for repository in _update_repositories(workspace):
        named = _make_session_path_converter(repository, workspace)
        found += [(named(one.path), one) for one in repository.find_symbols_like_text(text, most=most)]
    return found[:most]


class FileMatchingSearch(msgspec.Struct, frozen=True):
    """A file that a search may mean, with its matching symbols."""

    path: str
    lines: int | None
    symbols: tuple[Symbol, ...]
    note: str = ""


class FoundUseOfName(msgspec.Struct, frozen=True):
    """A line that contains a name as a word, with its enclosing symbol."""

    path: str
    line: int
    text: str
    enclosing_symbol: str


_MAX_INDEX_WAIT_WHILE_USER_WAITS = 2.0
"""The number of seconds that a user waits for a definition or a map before the request is given up."""
_MAX_SEARCH_RESULT_FILES = 60
_MAX_SYMBOLS_PER_SEARCH_RESULT_FILE = 12
_MAX_FOUND_TOKENS = 12_000
_MAX_LISTED_DEFINITIONS = 200
_MAX_BYTES_READ_FOR_LINES = 2_000_000


def _make_session_path_converter(
    repository: MappedRepository, workspace: SessionWorkspace
) -> Callable[[str], str]:
    """Returns a function that converts a path relative to the repository's root into one relative to the session's
    folder; in an added folder's repository into an absolute one."""
    cwd, root = os.path.realpath(workspace.cwd), os.path.realpath(repository.root)
    if any(Path(root).is_relative_to(one) for one in workspace.added.paths):
        return lambda path: os.path.join(root, path)  # noqa: PTH118  (paths that are no text)
    return lambda path: os.path.relpath(os.path.join(root, path), cwd)  # noqa: PTH118  (paths that are no text)


def _update_repositories(
    workspace: SessionWorkspace, patience: float = DEFAULT_INDEX_WAIT_SECONDS
) -> tuple[MappedRepository, ...]:
    repositories = workspace.repositories()
    for repository in repositories:
        repository.index_changed_files(patience)
    return repositories


def _path_in_repository(repository: MappedRepository, workspace: SessionWorkspace, path: str) -> str:
    return folder_relative_to_root(repository, os.path.join(workspace.cwd, path), workspace)  # noqa: PTH118  (as above)


def repositories_containing(workspace: SessionWorkspace, folder: str) -> list[tuple[MappedRepository, str]]:
    """Returns the repository that contains a folder, with the folder's path in it. Without a folder, returns the
    repositories of all folders of the session, each once."""
    if folder:
        place = os.path.join(workspace.cwd, folder)  # noqa: PTH118  (as above)
        repository = workspace.repository(place)
        return (
            []
            if repository is None
            else [(repository, folder_relative_to_root(repository, place, workspace))]
        )
    main = workspace.repository()
    if main is None:
        return []
    found = {main.root: (main, _path_in_repository(main, workspace, ""))}
    for added in workspace.added.real:
        repository = workspace.repository(str(added))
        if repository is not None and repository.root not in found:
            found[repository.root] = (repository, folder_relative_to_root(repository, str(added), workspace))
    return list(found.values())


def list_files_below(workspace: SessionWorkspace, folder: str) -> list[str]:
    found: list[str] = []
    for repository, below in repositories_containing(workspace, folder):
        repository.index_changed_files(DEFAULT_INDEX_WAIT_SECONDS)
        named = _make_session_path_converter(repository, workspace)
        found += sorted(named(path) for path in repository.visible_paths() if is_path_below(path, below))
    return found


def list_symbols_of_file(workspace: SessionWorkspace, path: str) -> tuple[Symbol, ...]:
    repository = workspace.repository(os.path.join(workspace.cwd, path))  # noqa: PTH118  (as above)
    if repository is None:
        return ()
    below = _path_in_repository(repository, workspace, path)
    outline = repository.outline_of_file(below)
    if outline is None and not repository.is_hidden(below):  # its turn in the index has not come yet
        made = make_index_record_with_outline(repository.root, below)
        return made.symbols or () if made is not None else ()
    return outline.symbols if outline is not None else ()


def search_files_and_symbols(workspace: SessionWorkspace, text: str, folder: str) -> list[FileMatchingSearch]:
    """Searches files and symbols: first matches of a part of a name or path, then files related to the words. With
    several repositories, their results alternate."""
    lists: list[list[FileMatchingSearch]] = []
    for repository, below in repositories_containing(workspace, folder):
        repository.index_changed_files(DEFAULT_INDEX_WAIT_SECONDS)
        named = _make_session_path_converter(repository, workspace)
        found = _search_in_repository(repository, workspace, text.strip(), below)
        lists.append([msgspec.structs.replace(one, path=named(one.path)) for one in found])
    merged = [one for row in zip_longest(*lists) for one in row if one is not None]
    return merged[:_MAX_SEARCH_RESULT_FILES] if text.strip() else merged


def _search_in_repository(
    repository: MappedRepository, workspace: SessionWorkspace, wanted: str, below: str
) -> list[FileMatchingSearch]:
    found: dict[str, FileMatchingSearch] = {}
    if not wanted:
        shown = repository.map_folder(below, tokens=_MAX_FOUND_TOKENS).ranked_map.files
        return [
            FileMatchingSearch(file.path, None, file.symbols) for file in shown if not file.path.endswith("/")
        ]
    if not any(sign.isspace() for sign in wanted):
        for one in repository.find_symbols_like_text(wanted, most=3 * _MAX_SEARCH_RESULT_FILES):
            if is_path_below(one.path, below):
                _add_matched_file(found, one.path, (one.symbol,), format_file_kind_note(one.file_kind))
    for file in repository.map_files_for_task(
        wanted, below=below, tokens=_MAX_FOUND_TOKENS, known=list_known_files(repository, workspace)
    ).ranked_map.files:
        if file.path not in found:
            _add_matched_file(found, file.path, file.symbols)
    lowered = wanted.lower()
    for path in repository.visible_paths():
        if len(found) >= _MAX_SEARCH_RESULT_FILES:
            break
        if lowered in path.lower() and is_path_below(path, below):
            _add_matched_file(found, path, ())
    return list(found.values())[:_MAX_SEARCH_RESULT_FILES]


def _add_matched_file(
    found: dict[str, FileMatchingSearch], path: str, symbols: Sequence[Symbol], note: str = ""
) -> None:
    before = found.get(path, FileMatchingSearch(path, None, (), note))
    places = {(symbol.name, symbol.start_line): symbol for symbol in (*before.symbols, *symbols)}
    kept = sorted(
        list(places.values())[:_MAX_SYMBOLS_PER_SEARCH_RESULT_FILE],
        key=lambda symbol: (symbol.start_line, -symbol.end_line),
    )
    found[path] = msgspec.structs.replace(before, symbols=tuple(kept))


def find_defined_names(workspace: SessionWorkspace, names: Sequence[str]) -> list[str]:
    found = (
        one.defined_names(names) for one in _update_repositories(workspace, _MAX_INDEX_WAIT_WHILE_USER_WAITS)
    )
    return list(dict.fromkeys(name for names in found for name in names))


def find_definitions_of(workspace: SessionWorkspace, name: str) -> list[tuple[str, SymbolDefinition]]:
    told: list[tuple[str, SymbolDefinition]] = []
    for repository in _update_repositories(workspace, _MAX_INDEX_WAIT_WHILE_USER_WAITS):
        named = _make_session_path_converter(repository, workspace)
        found, _ = repository.find_definitions(
            name,
            near=list_known_files(repository, workspace),
            most=_MAX_LISTED_DEFINITIONS,
            searches_text=True,
        )
        told += [(named(one.path), one) for one in found]
    return told


def find_uses_of(workspace: SessionWorkspace, name: str) -> list[FoundUseOfName]:
    told: list[FoundUseOfName] = []
    for repository in _update_repositories(workspace):
        named = _make_session_path_converter(repository, workspace)
        found = repository.find_uses_of_name(name, most=500).listed_uses
        told += [FoundUseOfName(named(use.path), use.line, use.text, use.enclosing_symbol) for use in found]
    return told


def read_lines_of_file(workspace: SessionWorkspace, path: str, first: int, last: int) -> str:
    place = Path(workspace.cwd, path)
    try:
        if place.stat().st_size > _MAX_BYTES_READ_FOR_LINES:
            return ""
        text = read_source_text(place, MapDeadline(2.0, None)).source.decode("utf-8", "replace")
    except (CannotMakeFileMap, FileMapTimeLimitReached, OSError):
        return ""
    return "\n".join(text.split("\n")[max(0, first - 1) : last])


def render_folder_map(workspace: SessionWorkspace, folder: str) -> str:
    repository = mapped_repository_of(workspace, folder)
    repository.index_changed_files(_MAX_INDEX_WAIT_WHILE_USER_WAITS)
    answer = repository.map_folder(folder_relative_to_root(repository, folder, workspace))
    return format_map_answer(answer, is_question=False)
