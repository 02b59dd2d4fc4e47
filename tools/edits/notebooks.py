"""Edits of notebooks, in the words of what `read` shows of them: cells in a row, of which the sources can change.

What is not a source (ids, outputs, metadata) stays as it is in the file, and so does how the file is written where that
can be told.
"""

import bisect
import json
from typing import Any

from tools.base import ToolError
from tools.edits.diffs import diff_spans
from tools.edits.editing import Edit, Edited, FileText, in_order, located, spliced
from tools.edits.matching import Document, Span
from tools.files.encoding import UTF8
from tools.files.notebooks import Notebook, notebook_of
from tools.results import Json
from tools.text import one_line


def apply_to_notebook(data: bytes, edits: tuple[Edit, ...], path: str) -> Edited | None:
    """None: the file is no notebook, or the texts are those of the file itself and not what is shown of it."""
    notebook = notebook_of(data)
    if notebook is None or _are_raw(data, edits, notebook):
        return None
    text = notebook.text
    document = Document(text)
    shown = FileText(text=text, raw=text, encoding=UTF8, endings="lf")
    found = located(document, shown, edits, path, {})
    ordered = in_order(document, found, path)
    sources = _changed(notebook, document, ordered, path)
    return Edited(
        data=_with_sources(data, sources),
        text=spliced(text, ordered),
        diff=diff_spans(path, text, [(span.start, span.end, span.new_text) for span in ordered]),
        strategies=tuple(spans[0].strategy for spans in found),
        count=len(ordered),
        is_as_stored=False,
    )


def _are_raw(data: bytes, edits: tuple[Edit, ...], notebook: Notebook) -> bool:
    """All of them stand in the file's JSON as they are, and not all in what is shown."""
    raw, shown = data.decode("utf-8", "replace").replace("\r\n", "\n"), notebook.text
    return all(edit.old_text in raw for edit in edits) and not all(edit.old_text in shown for edit in edits)


def _changed(notebook: Notebook, document: Document, spans: list[Span], path: str) -> dict[int, str]:
    """The sources that the edits change, by the number of their cell, from 0."""
    starts: list[int] = []
    position = 0
    for cell in notebook.cells:
        starts.append(position + cell.text.index("\n") + 1)
        position += len(cell.text) + 1
    by_cell: dict[int, list[Span]] = {}
    for span in spans:
        index = bisect.bisect_right(starts, span.start) - 1
        if index < 0 or span.end > starts[index] + len(notebook.cells[index].source):
            raise ToolError(
                f"Line {document.line_of(span.start)} of {one_line(path)} as it is read: only the sources of its "
                "cells can be edited, one cell with each edit; their headings and outputs cannot. Nothing was changed."
            )
        by_cell.setdefault(index, []).append(span)
    return {index: _source(notebook, starts, index, own) for index, own in by_cell.items()}


def _source(notebook: Notebook, starts: list[int], index: int, spans: list[Span]) -> str:
    start = starts[index]
    own = [
        Span(start=span.start - start, end=span.end - start, new_text=span.new_text, strategy=span.strategy)
        for span in spans
    ]
    return spliced(notebook.cells[index].source, own)


def _with_sources(data: bytes, sources: dict[int, str]) -> bytes:
    text = data.decode("utf-8-sig")
    whole: dict[str, Any] = json.loads(text)
    cells: list[dict[str, Any]] = [cell for cell in whole["cells"] if isinstance(cell, dict)]
    for index, source in sources.items():
        old: Json = cells[index].get("source")
        kept = (
            "".join(str(part) for part in old)
            if isinstance(old, list)
            else old
            if isinstance(old, str)
            else ""
        )
        source += kept[len(kept.rstrip("\n")) :]
        cells[index]["source"] = source.splitlines(keepends=True) if isinstance(old, list) else source
    return _written(text, whole, data)


def _written(before: str, whole: dict[str, Any], data: bytes) -> bytes:
    """As the file was written: its indentation, its escapes, its end."""
    second = before.split("\n", 2)[1] if "\n" in before.rstrip() else ""
    indent = len(second) - len(second.lstrip(" ")) or None
    made = json.dumps(
        whole,
        indent="\t" if second.startswith("\t") else indent,
        ensure_ascii=before.isascii() and "\\u" in before,
        separators=None if indent or ": " in before[:200] else (",", ":"),
    )
    end = before[len(before.rstrip()) :].replace("\r\n", "\n")
    made = f"{made}{end}"
    mark = b"\xef\xbb\xbf" if data.startswith(b"\xef\xbb\xbf") else b""
    return mark + (made.replace("\n", "\r\n") if "\r\n" in before else made).encode("utf-8", "surrogatepass")
