"""Adds facts from the repository map to a grep for one name: its definitions, and the symbols that use it."""

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from tools.filemap.rendering.symbol_lines import line_range
from tools.repomap.answer_texts import symbol_text
from tools.repomap.index.kinds import FILE_KIND_WEIGHTS
from tools.repomap.index.packing import StoredOutline
from tools.repomap.index.store import last_name_part
from tools.repomap.lookup import innermost_symbol, names_of_enclosing_symbols
from tools.repomap.repository import MappedRepository
from tools.repomap.session_map import known_files
from tools.text import escape_controls, one_line
from tools.workspace import Workspace

_IDENTIFIER_PATTERN = re.compile(
    r"(?:\\b)?(?:(?:def|class|func|function|fn|struct|interface|type|enum|trait)(?: +|\\s\+|\\s\*))?"
    r"(?P<name>[A-Za-z_$][\w$]{2,}|[^\W\da-zA-Z_]\w*)(?:\\b|\\\()?"
)
_MAX_DEFINITIONS = 5
_MIN_EXTRA_BYTES = 400
_MAX_EXTRA_SHARE = 0.15


def identifier_in(pattern: str) -> str | None:
    """Returns the identifier that a grep pattern searches for; None for other patterns."""
    match = _IDENTIFIER_PATTERN.fullmatch(pattern.strip())
    return match["name"] if match else None


class SymbolContext:
    """The definitions and enclosing symbols that one grep adds to its result."""

    def __init__(self, repository: MappedRepository, folder: str, name: str, near: Sequence[str]) -> None:
        self._repository = repository
        self._folder = folder
        self._name = name
        self._near = near
        self._outlines: dict[str, StoredOutline | None] = {}
        self._more = 0

    def set_budget(self, found_bytes: int) -> None:
        """Limits what the repository map adds to a small share of the search result."""
        self._more = max(_MIN_EXTRA_BYTES, int(found_bytes * _MAX_EXTRA_SHARE))

    def definitions_heading(self) -> list[str]:
        """Returns the heading of a grep result: the definitions of the name, and how many more there are."""
        found, count = self._repository.find_definitions(self._name, near=self._near, most=_MAX_DEFINITIONS)
        rows = [
            f"{symbol_text(one)}, {one_line(escape_controls(one.path))}"
            for one in found
            if self._name in (one.symbol.name, last_name_part(one.symbol.name))
        ]
        if rows and count > len(found):
            rows[-1] += f" ({count - len(found)} more of this name: locate finds them)"
        return [row for row in rows if self.has_budget_for(row)]

    def sorted_by_kind(self, paths: Iterable[str]) -> list[str]:
        """Sorts the found files: code before tests, and tests before generated files; called once for all files."""
        below = {path: self._path_from_root(path) for path in paths}
        kinds = self._repository.file_kinds_of(below.values())

        def order(path: str) -> tuple[float, str]:
            kind = kinds.get(below[path])
            return (-FILE_KIND_WEIGHTS[kind] if kind else 0.0, path)

        return sorted(below, key=order)

    def enclosing_symbol(self, path: str, line: int) -> str:
        """Returns the symbol around a found line; empty if unknown, or if the budget is used up."""
        if self._more <= 0:
            return ""
        if path not in self._outlines:
            self._outlines[path] = self._repository.outline_of(self._path_from_root(path))
        outline = self._outlines[path]
        inner = innermost_symbol(outline.symbols, line) if outline is not None else None
        if outline is None or inner is None:
            return ""
        name = ".".join([*names_of_enclosing_symbols(outline.symbols, inner), inner.name])
        return f"{one_line(escape_controls(name))} {line_range(inner.start_line, inner.end_line)}"

    def has_budget_for(self, row: str) -> bool:
        cost = len(row.encode("utf-8", "replace")) + 1
        if cost > self._more:
            return False
        self._more -= cost
        return True

    def _path_from_root(self, path: str) -> str:
        return os.path.relpath(
            Path(os.path.realpath(self._folder), path), os.path.realpath(self._repository.root)
        )


def symbol_context_for(workspace: Workspace, pattern: str, folder: str) -> SymbolContext | None:
    """Returns the symbol context for a grep; None if the pattern is not a name, or the index is incomplete. The first
    search for a name starts the index."""
    name = identifier_in(pattern)
    repository = workspace.repository(folder) if name is not None else None
    if name is None or repository is None:
        return None
    if os.path.relpath(os.path.realpath(folder), os.path.realpath(repository.root)).startswith(".."):
        return None
    repository.index_changes(patience=0.0)
    if not repository.is_index_complete or not Path(folder).is_dir():
        return None
    return SymbolContext(repository, folder, name, known_files(repository, workspace))
