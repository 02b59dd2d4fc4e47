"""Extracts the code cells of a notebook file, to run them; the file's outputs stay unchanged."""

from pathlib import Path
from typing import Final

from tools.files.notebook_text import MAX_RENDERED_NOTEBOOK_BYTES, parse_notebook
from tools.lazy_patterns import lazy_regex
from tools.text_sanitizing import escape_controls
from tools.tool_definition import ToolError

_CELL_RANGE_PATTERN: Final = lazy_regex(r"(?P<first>\d+)?(?P<to>-)?(?P<last>\d+)?")


def read_code_cells(path: Path, wanted: str = "") -> tuple[tuple[int, str], ...]:
    """Returns the code cells of a notebook, each with its number, as `read` numbers them. Raises `ToolError`."""
    try:
        with path.open("rb") as file:
            notebook = parse_notebook(file.read(MAX_RENDERED_NOTEBOOK_BYTES))
    except OSError as problem:
        raise ToolError(f"{escape_controls(str(path))}: {problem.strerror or problem}") from None
    if notebook is None:
        raise ToolError(f"{escape_controls(str(path))} is not a notebook.")
    if notebook.language not in ("python", "ipython"):
        raise ToolError(
            f"{escape_controls(path.name)} is in {escape_controls(notebook.language)}, but only Python "
            f"runs here."
        )
    first, last = _parse_cell_range(wanted, len(notebook.cells))
    found = tuple(
        (number, _comment_out_magics(cell.source))
        for number, cell in enumerate(notebook.cells, 1)
        if cell.kind == "code" and cell.source.strip() and first <= number <= last
    )
    if not found:
        raise ToolError(f"{escape_controls(path.name)} has no code cells{' ' + wanted if wanted else ''}.")
    return found


def _parse_cell_range(wanted: str, count: int) -> tuple[int, int]:
    text = wanted.strip()
    if not text:
        return 1, count
    found = _CELL_RANGE_PATTERN.fullmatch(text)
    if found is None or (found["first"] is None and found["last"] is None):
        raise ToolError(f"{escape_controls(wanted)} is not a range of cells. Write 3, 2-5 or 4-.")
    first = int(found["first"] or 1)
    return first, int(found["last"] or count) if found["to"] else first


def _comment_out_magics(source: str) -> str:
    """Turns notebook lines that only IPython understands into comments, so that line numbers stay the same."""
    lines = source.split("\n")
    if lines and lines[0].lstrip().startswith("%%"):
        lines[0] = f"# {lines[0].lstrip()}"
    return "\n".join(f"pass  # {line.strip()}" if line.startswith("%") else line for line in lines)
