"""Adds facts from the repository map to a grep for one name: its definitions, and the symbols that use it."""

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from tools.filemap.rendering.map_symbol_lines import format_line_range
from tools.repomap.index.file_kinds import RANKING_WEIGHT_BY_FILE_KIND
from tools.repomap.index.outline_packing import StoredOutline
from tools.repomap.index.repository_index import last_part_of_symbol_name
from tools.repomap.map_answer_texts import format_definition_line
from tools.repomap.mapped_repository import MappedRepository
from tools.repomap.name_lookup import enclosing_symbol_names, innermost_symbol_around_line
from tools.repomap.session_map import list_known_files
from tools.session_workspace import SessionWorkspace
from tools.text_sanitizing import escape_controls, one_line

_IDENTIFIER_SEARCH_PATTERN = re.compile(
    r"(?:\\b)?(?:(?:def|class|func|function|fn|struct|interface|type|enum|trait)(?: +|\\s\+|\\s\*))?"
    r"(?P<name>[A-Za-z_$][\w$]{2,}|[^\W\da-zA-Z_]\w*)(?:\\b|\\\()?"
)
_MAX_DEFINITIONS_IN_GREP_HEADING = 5
_MIN_GREP_SYMBOL_CONTEXT_BYTES = 400
_MAX_GREP_SYMBOL_CONTEXT_SHARE = 0.15


def find_identifier_in_pattern(pattern: str) -> str | None:
    """Returns the identifier that a grep pattern searches for; None for other patterns."""
    match = _IDENTIFIER_SEARCH_PATTERN.fullmatch(pattern.strip())
    return match["name"] if match else None


class GrepSymbolContext:
    """The definitions and enclosing symbols that one grep adds to its result."""

    def __init__(self, repository: MappedRepository, folder: str, name: str, near: Sequence[str]) -> None:
        self._repository = repository
        self._folder = folder
        self._name = name
        self._near = near
        self._outlines: dict[str, StoredOutline | None] = {}
        self._remaining_bytes = 0

    def set_byte_budget(self, found_bytes: int) -> None:
        """Limits what the repository map adds to a small share of the search result's size."""
        self._remaining_bytes = max(
            _MIN_GREP_SYMBOL_CONTEXT_BYTES, int(found_bytes * _MAX_GREP_SYMBOL_CONTEXT_SHARE)
        )

    def definitions_heading(self) -> list[str]:
        """Returns the heading of a grep result: the definitions of the name, and how many more there are."""
        found, count = self._repository.find_definitions(
            self._name, near=self._near, most=_MAX_DEFINITIONS_IN_GREP_HEADING
        )
        rows = [
            f"{format_definition_line(one)}, {one_line(escape_controls(one.path))}"
            for one in found
            if self._name in (one.symbol.name, last_part_of_symbol_name(one.symbol.name))
        ]
        if rows and count > len(found):
            rows[-1] += f" ({count - len(found)} more of this name: locate finds them)"
        return [row for row in rows if self.has_byte_budget_for(row)]

    def sort_by_file_kind(self, paths: Iterable[str]) -> list[str]:
        """Sorts the found files: code before tests, and tests before generated files; called once for all files."""
        below = {path: self._path_from_root(path) for path in paths}
        kinds = self._repository.file_kinds_of(below.values())

        def order(path: str) -> tuple[float, str]:
            kind = kinds.get(below[path])
            return (-RANKING_WEIGHT_BY_FILE_KIND[kind] if kind else 0.0, path)

        return sorted(below, key=order)

    def format_enclosing_symbol(self, path: str, line: int) -> str:
        """Returns a line that names the symbol around a found line; empty if the symbol is unknown or the size
        limit is reached."""
        if self._remaining_bytes <= 0:
            return ""
        if path not in self._outlines:
            self._outlines[path] = self._repository.outline_of_file(self._path_from_root(path))
        outline = self._outlines[path]
        inner = innermost_symbol_around_line(outline.symbols, line) if outline is not None else None
        if outline is None or inner is None:
            return ""
        name = ".".join([*enclosing_symbol_names(outline.symbols, inner), inner.name])
        return f"{one_line(escape_controls(name))} {format_line_range(inner.start_line, inner.end_line)}"

    def has_byte_budget_for(self, row: str) -> bool:
        cost = len(row.encode("utf-8", "replace")) + 1
        if cost > self._remaining_bytes:
            return False
        self._remaining_bytes -= cost
        return True

    def _path_from_root(self, path: str) -> str:
        return os.path.relpath(
            Path(os.path.realpath(self._folder), path), os.path.realpath(self._repository.root)
        )


def make_grep_symbol_context(
    workspace: SessionWorkspace, pattern: str, folder: str
) -> GrepSymbolContext | None:
    """Returns the symbol context for a grep; None if the pattern is not a name, or the index is incomplete. The first
    search for a name starts the index."""
    name = find_identifier_in_pattern(pattern)
    repository = workspace.repository(folder) if name is not None else None
    if name is None or repository is None:
        return None
    if os.path.relpath(os.path.realpath(folder), os.path.realpath(repository.root)).startswith(".."):
        return None
    repository.index_changed_files(patience=0.0)
    if not repository.is_index_complete or not Path(folder).is_dir():
        return None
    return GrepSymbolContext(repository, folder, name, list_known_files(repository, workspace))
