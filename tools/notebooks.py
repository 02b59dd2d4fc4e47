"""Jupyter notebooks as text: cells in order, with what they printed."""

from typing import Any

import msgspec

_MAX_OUTPUT_CHARS = 4_000


def notebook_text(data: bytes) -> str | None:
    """The cells of a notebook, or None when `data` is none."""
    try:
        notebook = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError):
        return None
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    if not isinstance(cells, list):
        return None
    parts = [_cell(number, cell) for number, cell in enumerate(cells, 1) if isinstance(cell, dict)]
    return "\n".join(parts)


def _cell(number: int, cell: dict[str, Any]) -> str:
    kind = cell.get("cell_type", "code")
    identity = f" id={cell['id']}" if isinstance(cell.get("id"), str) else ""
    lines = [f"--- cell {number} [{kind}]{identity} ---", _joined(cell.get("source")).rstrip("\n")]
    outputs = cell.get("outputs")
    for output in outputs if isinstance(outputs, list) else []:
        text = _output(output) if isinstance(output, dict) else ""
        if text:
            lines += ["--- output ---", text]
    return "\n".join(lines) + "\n"


def _output(output: dict[str, Any]) -> str:
    if output.get("output_type") == "error":
        text = f"{output.get('ename', 'Error')}: {output.get('evalue', '')}"
    elif "text" in output:
        text = _joined(output["text"])
    else:
        data = output.get("data")
        data = data if isinstance(data, dict) else {}
        text = _joined(data.get("text/plain"))
        others = [kind for kind in data if kind != "text/plain"]
        if others:
            text = "\n".join(part for part in (text, f"({', '.join(sorted(others))} not shown)") if part)
    text = text.rstrip("\n")
    if len(text) > _MAX_OUTPUT_CHARS:
        text = f"{text[:_MAX_OUTPUT_CHARS]}... [{len(text):,} characters in all]"
    return text


def _joined(source: Any) -> str:
    if isinstance(source, list):
        return "".join(part for part in source if isinstance(part, str))
    return source if isinstance(source, str) else ""
