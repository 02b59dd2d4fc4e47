"""Edits notebooks in the form that `read` shows: a sequence of cells whose sources can change.

Everything else (ids, outputs, metadata) and, where detectable, the formatting of the JSON stay unchanged."""

import bisect
import json
from collections.abc import Sequence
from typing import Any

import msgspec

from tools.edits.dialects.old_text_matching import TextEdit
from tools.edits.editable_text import replace_text_spans
from tools.files.notebook_text import JupyterNotebook, parse_notebook
from tools.text_sanitizing import one_line
from tools.tool_definition import ToolError
from tools.tool_result_values import Json


class EditableNotebook(msgspec.Struct, frozen=True, kw_only=True):
    """A notebook opened for editing, as the text that `read` shows. Only the sources of its cells can be changed."""

    notebook: JupyterNotebook
    data: bytes
    text: str

    @property
    def raw_text(self) -> str:
        return self.text

    @property
    def is_as_stored(self) -> bool:
        return False

    def to_line_feeds(self, text: str) -> str:
        return text.removeprefix("\ufeff").replace("\r\n", "\n")

    def encode_with_edits(self, spans: Sequence[TextEdit], path: str) -> bytes:
        return _replace_cell_sources(
            self.data, _compute_changed_sources(self.notebook, self.text, spans, path)
        )


def open_editable_notebook(data: bytes) -> EditableNotebook | None:
    """Opens a file as an editable notebook; None if it is not a notebook."""
    notebook = parse_notebook(data)
    return None if notebook is None else EditableNotebook(notebook=notebook, data=data, text=notebook.text)


def are_old_texts_from_notebook_json(data: bytes, texts: Sequence[str], shown: str) -> bool:
    """Returns whether the old texts of a notebook edit are taken from the file's JSON, and not from the text that
    `read` shows."""
    raw = data.decode("utf-8", "replace").replace("\r\n", "\n")
    return all(text in raw for text in texts) and not all(text in shown for text in texts)


def _compute_changed_sources(
    notebook: JupyterNotebook, text: str, spans: Sequence[TextEdit], path: str
) -> dict[int, str]:
    """Returns the new sources of the edited notebook cells by the index of their cell, from 0."""
    starts: list[int] = []
    position = 0
    for cell in notebook.cells:
        starts.append(position + cell.text.index("\n") + 1)
        position += len(cell.text) + 1
    by_cell: dict[int, list[TextEdit]] = {}
    for span in spans:
        index = bisect.bisect_right(starts, span.start) - 1
        end = starts[index] + len(notebook.cells[index].source) if index >= 0 else 0
        if span.end == end + 1 and text[end : span.end] == "\n" and span.new_text.endswith("\n"):
            # The line feed behind a source is not part of it, and stays.
            span = msgspec.structs.replace(span, end=end, new_text=span.new_text[:-1])
        if index < 0 or span.end > end:
            line = text.count("\n", 0, span.start) + 1
            raise ToolError(
                f"Line {line} of {one_line(path)}, as read shows it: only the sources of its "
                "cells can be edited, one cell with each edit; their headings and outputs cannot. Nothing "
                "was changed."
            )
        by_cell.setdefault(index, []).append(span)
    return {index: _edit_cell_source(notebook, starts, index, own) for index, own in by_cell.items()}


def _edit_cell_source(notebook: JupyterNotebook, starts: list[int], index: int, spans: list[TextEdit]) -> str:
    start = starts[index]
    own = [
        TextEdit(
            start=span.start - start, end=span.end - start, new_text=span.new_text, strategy=span.strategy
        )
        for span in spans
    ]
    return replace_text_spans(notebook.cells[index].source, own)


def _replace_cell_sources(data: bytes, sources: dict[int, str]) -> bytes:
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
    return _encode_in_same_format(text, whole, data)


def _encode_in_same_format(before: str, whole: dict[str, Any], data: bytes) -> bytes:
    """Encodes a notebook as JSON in the formatting of the old file: its indentation, its escapes, its end."""
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
