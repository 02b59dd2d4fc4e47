"""The code cells of a notebook, to be run from its file; its outputs stay as they are."""

from pathlib import Path
from typing import Final

from tools.base import ToolError
from tools.files.notebooks import MAX_NOTEBOOK_BYTES, notebook_of
from tools.patterns import late
from tools.text import visible

_RANGE: Final = late(r"(?P<first>\d+)?(?P<to>-)?(?P<last>\d+)?")


def code_cells(path: Path, wanted: str = "") -> tuple[tuple[int, str], ...]:
    """Each with its number, as `read` numbers them. Raises `ToolError`."""
    try:
        with path.open("rb") as file:
            notebook = notebook_of(file.read(MAX_NOTEBOOK_BYTES))
    except OSError as problem:
        raise ToolError(f"{visible(str(path))}: {problem.strerror or problem}") from None
    if notebook is None:
        raise ToolError(f"{visible(str(path))} is no notebook.")
    if notebook.language not in ("python", "ipython"):
        raise ToolError(f"{visible(path.name)} is in {visible(notebook.language)}. Only Python runs here.")
    first, last = _range(wanted, len(notebook.cells))
    found = tuple(
        (number, _python_of(cell.source))
        for number, cell in enumerate(notebook.cells, 1)
        if cell.kind == "code" and cell.source.strip() and first <= number <= last
    )
    if not found:
        raise ToolError(f"{visible(path.name)} has no cells of code{' ' + wanted if wanted else ''}.")
    return found


def _range(wanted: str, count: int) -> tuple[int, int]:
    text = wanted.strip()
    if not text:
        return 1, count
    found = _RANGE.fullmatch(text)
    if found is None or (found["first"] is None and found["last"] is None):
        raise ToolError(f"{visible(wanted)} names no cells. Say 3, 2-5 or 4-.")
    first = int(found["first"] or 1)
    return first, int(found["last"] or count) if found["to"] else first


def _python_of(source: str) -> str:
    """Lines that only IPython understands are left as remarks, so that the numbers of lines stay."""
    lines = source.split("\n")
    if lines and lines[0].lstrip().startswith("%%"):
        lines[0] = f"# {lines[0].lstrip()}"
    return "\n".join(f"pass  # {line.strip()}" if line.startswith("%") else line for line in lines)
