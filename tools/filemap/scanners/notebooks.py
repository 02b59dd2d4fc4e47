"""Finds the cells of Jupyter notebooks in order, with their headings and definitions.

Lines are those of the cells' text, as `read` shows a notebook, not those of the file."""

import re

from tools.filemap.grammar_outline import outline_with_grammar
from tools.filemap.language_description import FoundSymbol
from tools.filemap.languages.language_registry import has_language_description, language_named
from tools.filemap.map_deadline import MapDeadline
from tools.filemap.scanners import json, markdown
from tools.filemap.scanners.scan_result import ScannedOutline
from tools.files.notebook_text import MAX_RENDERED_NOTEBOOK_BYTES, NotebookCell, parse_notebook

_NOTEBOOK_LINES_NOTE = "the lines are those of the cells' text, as read shows it"
_MAGIC_LINE_PATTERN = re.compile(r"^[ \t]*[%!?]", re.M)
"""Matches a line of a cell with a command for the notebook or the shell (`%run`, `!ls`), which is turned into a
comment because no language can parse it."""


def outline_notebook(source: bytes, watch: MapDeadline) -> ScannedOutline:
    notebook = parse_notebook(source) if len(source) <= MAX_RENDERED_NOTEBOOK_BYTES else None
    if notebook is None:
        return json.outline_json(source, watch)
    drafts: list[FoundSymbol] = []
    row = 0
    for number, cell in enumerate(notebook.cells, 1):
        watch.raise_if_deadline_over()
        _add_notebook_cell(drafts, cell, number, row, notebook.language, watch)
        row += cell.text.count("\n") + 1
    return ScannedOutline(
        symbols=drafts,
        title=f"Jupyter notebook ({notebook.language})",
        notes=(_NOTEBOOK_LINES_NOTE,),
        total_lines=max(1, row),
        parser="tree-sitter",
    )


def _add_notebook_cell(
    drafts: list[FoundSymbol], cell: NotebookCell, number: int, row: int, language: str, watch: MapDeadline
) -> None:
    index = len(drafts)
    first = next((line.strip() for line in cell.source.split("\n") if line.strip()), "")
    drafts.append(
        FoundSymbol(
            name=f"cell {number}",
            kind=cell.kind,
            start=row,
            start_row=row,
            end_row=row + cell.text.count("\n") - 1,
            signature=" ".join(first.split())[:100],
        )
    )
    last = cell.source.count("\n")
    for draft in _outline_notebook_cell(cell, language, watch):
        draft.start = row + 1 + draft.start_row
        draft.start_row, draft.end_row = (
            row + 1 + min(each, last) for each in (draft.start_row, draft.end_row)
        )
        draft.decorator_row = row + 1 + draft.decorator_row if draft.decorator_row >= 0 else -1
        draft.parent = draft.parent + index + 1 if draft.parent >= 0 else index
        drafts.append(draft)


def _outline_notebook_cell(cell: NotebookCell, language: str, watch: MapDeadline) -> list[FoundSymbol]:
    source = cell.source.replace("\r", "")
    if cell.kind == "markdown":
        found = markdown.outline_markdown(source.encode("utf-8", "replace"), watch).symbols
        inside = [draft for draft in found if draft.kind == "heading"]
        for draft in inside:
            draft.parent = -1
        return inside
    if cell.kind != "code" or not has_language_description(language) or source.lstrip().startswith("%%"):
        return []
    text = _MAGIC_LINE_PATTERN.sub("#", source) if language in ("python", "julia", "r") else source
    return outline_with_grammar(
        language_named(language), text.encode("utf-8", "replace") + b"\n", watch
    ).symbols
