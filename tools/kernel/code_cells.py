"""Splits the `code` of an `eval` call into cells, also in the form with headers that models know from other agents."""

from typing import Final

import msgspec

from tools.lazy_patterns import lazy_regex
from tools.tool_definition import ToolError

_CELL_HEADER_PATTERN: Final = lazy_regex(r"={5,}\s*(?P<words>.*?)\s*={5,}\s*")
_CELL_HEADER_WORD_PATTERN: Final = lazy_regex(
    r"""(?P<name>[\w-]+)(?::(?:"(?P<double>[^"]*)"|'(?P<single>[^']*)'|(?P<bare>\S+)))?|\S+"""
)
_CELL_TIMEOUT_PATTERN: Final = lazy_regex(r"(?P<number>\d+(?:\.\d+)?)(?P<unit>ms|s|m)?")
_SECONDS_PER_UNIT: Final = {"ms": 0.001, "s": 1.0, "m": 60.0}
_PYTHON_LANGUAGE_NAMES: Final = frozenset(("py", "python", "python3", "ipython"))
_UNSUPPORTED_LANGUAGE_NAMES: Final = frozenset(
    ("js", "javascript", "ts", "typescript", "node", "sh", "bash", "rb", "ruby", "jl", "julia")
)


class CodeCell(msgspec.Struct, frozen=True, kw_only=True):
    code: str
    title: str = ""
    timeout: float | None = None
    resets_kernel: bool = False
    """Whether the kernel is restarted before this cell runs."""


def parse_code_cells(code: str) -> tuple[CodeCell, ...]:
    """Splits code into cells; returns one cell, unless the code begins with a header. Raises `ToolError` for another
    language."""
    lines = code.split("\n")
    first = next((line for line in lines if line.strip()), "")
    if not _CELL_HEADER_PATTERN.fullmatch(first.strip()):
        return (CodeCell(code=code),)
    found: list[CodeCell] = []
    head: CodeCell | None = None
    body: list[str] = []
    for line in lines:
        header = _CELL_HEADER_PATTERN.fullmatch(line.strip())
        if header is None:
            body.append(line)
            continue
        if head is not None:
            found.append(msgspec.structs.replace(head, code="\n".join(body).strip("\n")))
        head, body = _parse_cell_header(header["words"]), []
    if head is not None:
        found.append(msgspec.structs.replace(head, code="\n".join(body).strip("\n")))
    return tuple(cell for cell in found if cell.code.strip())


def _parse_cell_header(words: str) -> CodeCell:
    title, timeout, resets = "", None, False
    for word in _CELL_HEADER_WORD_PATTERN.finditer(words):
        name = (word["name"] or "").lower()
        value = next((word[kind] for kind in ("double", "single", "bare") if word[kind] is not None), "")
        if name in _UNSUPPORTED_LANGUAGE_NAMES:
            raise ToolError(f"A cell is in {name}, but only Python runs here. Use bash for other languages.")
        if name in _PYTHON_LANGUAGE_NAMES or name == "title":
            title = value or title
        elif name in ("t", "timeout"):
            timeout = _parse_duration(value)
        elif name in ("reset", "rst"):
            resets = True
    return CodeCell(code="", title=title, timeout=timeout, resets_kernel=resets)


def _parse_duration(text: str) -> float | None:
    found = _CELL_TIMEOUT_PATTERN.fullmatch(text)
    return float(found["number"]) * _SECONDS_PER_UNIT[found["unit"] or "s"] if found else None
