"""Renders Jupyter notebooks as text: cells in order, with their outputs."""

from typing import Any

import msgspec

from tools.tool_result_values import Json

MAX_RENDERED_NOTEBOOK_BYTES = 20_000_000
"""The maximum size in bytes of a notebook; a larger one is treated as plain text."""
_MAX_NOTEBOOK_OUTPUT_CHARS = 4_000


class NotebookCell(msgspec.Struct, frozen=True, kw_only=True):
    kind: str
    source: str
    """The source of the cell without trailing line ends."""
    text: str
    """The whole text of the cell as `read` shows it: a header line, the source and the output."""


class JupyterNotebook(msgspec.Struct, frozen=True, kw_only=True):
    language: str
    cells: tuple[NotebookCell, ...]

    @property
    def text(self) -> str:
        return "\n".join(cell.text for cell in self.cells)


def parse_notebook(data: bytes) -> JupyterNotebook | None:
    """Parses a notebook; None if `data` is not one."""
    try:
        found: Json = msgspec.json.decode(data)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or not isinstance(found.get("cells"), list):
        return None
    cells: list[Json] = found["cells"]
    made = [_render_cell(number, cell) for number, cell in enumerate(cells, 1) if isinstance(cell, dict)]
    return JupyterNotebook(language=_notebook_language(found.get("metadata")), cells=tuple(made))


def _notebook_language(metadata: Json) -> str:
    for part, key in (("language_info", "name"), ("kernelspec", "language")):
        about: Json = metadata.get(part) if isinstance(metadata, dict) else None
        name = about.get(key) if isinstance(about, dict) else None
        if isinstance(name, str) and name:
            return name.lower()
    return "python"


def _render_cell(number: int, cell: dict[str, Any]) -> NotebookCell:
    kind = cell.get("cell_type", "code")
    kind = kind if isinstance(kind, str) else "code"
    identity = f" id={cell['id']}" if isinstance(cell.get("id"), str) else ""
    source = _join_source(cell.get("source")).rstrip("\n")
    lines = [f"--- cell {number} [{kind}]{identity} ---", source]
    outputs: list[Json] = cell["outputs"] if isinstance(cell.get("outputs"), list) else []
    for output in outputs:
        text = _render_output(output) if isinstance(output, dict) else ""
        if text:
            lines += ["--- output ---", text]
    return NotebookCell(kind=kind, source=source, text="\n".join(lines) + "\n")


def _render_output(output: dict[str, Any]) -> str:
    if output.get("output_type") == "error":
        text = f"{output.get('ename', 'Error')}: {output.get('evalue', '')}"
    elif "text" in output:
        text = _join_source(output["text"])
    else:
        data: dict[str, Json] = output["data"] if isinstance(output.get("data"), dict) else {}
        text = _join_source(data.get("text/plain"))
        others = [kind for kind in data if kind != "text/plain"]
        if others:
            text = "\n".join(part for part in (text, f"({', '.join(sorted(others))} not shown)") if part)
    text = text.rstrip("\n")
    if len(text) > _MAX_NOTEBOOK_OUTPUT_CHARS:
        text = f"{text[:_MAX_NOTEBOOK_OUTPUT_CHARS]}... [{len(text):,} characters in all]"
    return text


def _join_source(source: Json) -> str:
    if isinstance(source, list):
        parts: list[Json] = source
        return "".join(part for part in parts if isinstance(part, str))
    return source if isinstance(source, str) else ""
