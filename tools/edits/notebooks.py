"""Edits notebooks in the form that `read` shows: a sequence of cells whose sources can change.

Everything else (ids, outputs, metadata) and, where detectable, the formatting of the JSON stay unchanged."""

import bisect
import json
from collections.abc import Sequence
from typing import Any

import msgspec

from tools.base import ToolError
from tools.edits.dialects.matching import Span
from tools.edits.texts import apply_spans
from tools.files.notebooks import Notebook, parse_notebook
from tools.results import Json
from tools.text import one_line


class NotebookText(msgspec.Struct, frozen=True, kw_only=True):
    """A notebook as `read` shows it. Only the sources of its cells can be changed."""

    notebook: Notebook
    data: bytes
    text: str

    @property
    def raw(self) -> str:
        return self.text

    @property
    def is_as_stored(self) -> bool:
        return False

    def with_line_feeds(self, text: str) -> str:
        return text.removeprefix("\ufeff").replace("\r\n", "\n")

    def bytes_with(self, spans: Sequence[Span], path: str) -> bytes:
        return _with_sources(self.data, _changed_sources(self.notebook, self.text, spans, path))


def notebook_text(data: bytes) -> NotebookText | None:
    """Parses a notebook; None if the file is not one."""
    notebook = parse_notebook(data)
    return None if notebook is None else NotebookText(notebook=notebook, data=data, text=notebook.text)


def are_in_raw_json(data: bytes, texts: Sequence[str], shown: str) -> bool:
    """Returns whether all texts occur in the file's JSON, and not all in the shown form."""
    raw = data.decode("utf-8", "replace").replace("\r\n", "\n")
    return all(text in raw for text in texts) and not all(text in shown for text in texts)


def _changed_sources(notebook: Notebook, text: str, spans: Sequence[Span], path: str) -> dict[int, str]:
    """Returns the changed sources by the index of their cell, from 0."""
    starts: list[int] = []
    position = 0
    for cell in notebook.cells:
        starts.append(position + cell.text.index("\n") + 1)
        position += len(cell.text) + 1
    by_cell: dict[int, list[Span]] = {}
    for span in spans:
        index = bisect.bisect_right(starts, span.start) - 1
        end = starts[index] + len(notebook.cells[index].source) if index >= 0 else 0
        if span.end == end + 1 and text[end : span.end] == "\n" and span.new_text.endswith("\n"):
            # The line feed behind a source is not part of it, and stays.
            span = msgspec.structs.replace(span, end=end, new_text=span.new_text[:-1])
        if index < 0 or span.end > end:
            line = text.count("\n", 0, span.start) + 1
            raise ToolError(
                f"Line {line} of {one_line(path)} as it is read: only the sources of its "
                "cells can be edited, one cell with each edit; their headings and outputs cannot. Nothing was changed."
            )
        by_cell.setdefault(index, []).append(span)
    return {index: _edited_source(notebook, starts, index, own) for index, own in by_cell.items()}


def _edited_source(notebook: Notebook, starts: list[int], index: int, spans: list[Span]) -> str:
    start = starts[index]
    own = [
        Span(start=span.start - start, end=span.end - start, new_text=span.new_text, strategy=span.strategy)
        for span in spans
    ]
    return apply_spans(notebook.cells[index].source, own)


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
    return _encode_like(text, whole, data)


def _encode_like(before: str, whole: dict[str, Any], data: bytes) -> bytes:
    """Writes JSON like the old file: its indentation, its escapes, its end."""
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
