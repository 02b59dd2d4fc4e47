"""Stores the colours of a command's output separately from its text: the model reads the text, people see both.

Colours are positions in the text and contain no text, so that removed text is nowhere else."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from tools.lazy_patterns import lazy_regex
from tools.text_sanitizing import render_plain_output
from tools.tool_result_values import ColouredSpan

_SGR_SEQUENCE_PATTERN: Final = lazy_regex(r"(?:\x1b\[|\x9b)([\d;:]*)m")
_VERTICAL_CURSOR_MOVE_PATTERN: Final = lazy_regex(r"(?:\x1b\[|\x9b)\d*[ABEFJ]|\x1bM")
"""Matches escape sequences that move the cursor to another line; the colours of an output that contains one cannot
be located."""
_ERASE_TO_END_OF_LINE_PATTERN: Final = lazy_regex(r"(?:\x1b\[|\x9b)0?K")
"""Matches the sequence that erases up to the end of the line, which grep and compilers write after each colour; it
is ignored at a line's end."""
MAX_COLOURED_OUTPUT_LINES: Final = 200
MAX_COLOURED_LINES_WHILE_RUNNING: Final = 24
"""The number of last lines of a command's output that are shown in colour while the command runs."""
_MAX_COLOURED_SPANS: Final = 600
_MAX_SGR_CHARS: Final = 24


def find_output_colours(
    written: str, shown: str, most_lines: int = MAX_COLOURED_OUTPUT_LINES
) -> tuple[ColouredSpan, ...]:
    """Returns the colours of a command's output in the last lines that are shown."""
    if "\x1b[" not in written and "\x9b" not in written:
        return ()
    if _VERTICAL_CURSOR_MOVE_PATTERN.search(written):
        return ()
    lines = written.rstrip("\n").split("\n")
    seen = shown.rstrip("\n").split("\n")
    count = min(len(lines), len(seen), most_lines)
    sgr = ""
    for line in lines[: len(lines) - count]:
        sgr = _compute_sgr_after_line(line, sgr)
    found: list[ColouredSpan] = []
    for number, line in enumerate(lines[len(lines) - count :], len(seen) - count):
        for start, end, code in _find_line_colours(line, seen[number], sgr):
            found.append(ColouredSpan(number, start, end, code))
        sgr = _compute_sgr_after_line(line, sgr)
        if len(found) > _MAX_COLOURED_SPANS:
            return ()
    return tuple(found)


def _find_line_colours(line: str, seen: str, sgr: str) -> Iterator[tuple[int, int, str]]:
    """Returns the coloured spans of one line of output. For an overwritten line, those of its last version if nothing
    of the rest is visible."""
    over, _, last = line.rstrip("\r").rpartition("\r")
    last = _ERASE_TO_END_OF_LINE_PATTERN.sub("", last)
    if render_plain_output(_SGR_SEQUENCE_PATTERN.sub("", last)) == seen:
        yield from _find_sgr_spans(last, _compute_sgr_after_line(over, sgr))


def _compute_sgr_after_line(line: str, sgr: str) -> str:
    for code in _SGR_SEQUENCE_PATTERN.finditer(line):
        sgr = _apply_sgr(sgr, code[1])
    return sgr


def _apply_sgr(before: str, code: str) -> str:
    """Returns the text style after an SGR escape sequence."""
    if code in ("", "0"):
        return ""
    if code.startswith(("0;", ";")):
        return code.lstrip("0").lstrip(";")[:_MAX_SGR_CHARS]
    return (
        f"{before};{code}".lstrip(";") if len(before) + len(code) < _MAX_SGR_CHARS else code[:_MAX_SGR_CHARS]
    )


def _find_sgr_spans(line: str, sgr: str) -> Iterator[tuple[int, int, str]]:
    at = column = 0
    for code in (*_SGR_SEQUENCE_PATTERN.finditer(line), None):
        end = code.start() if code is not None else len(line)
        size = len(render_plain_output(line[at:end]))
        if sgr and size:
            yield column, column + size, sgr
        column += size
        if code is not None:
            sgr = _apply_sgr(sgr, code[1])
            at = code.end()


def read_stored_output_colours(details: Mapping[str, Any] | None) -> tuple[ColouredSpan, ...]:
    """Returns the coloured spans that the details of a command's result have; none if they are malformed."""
    try:
        return msgspec.convert((details or {}).get("colours") or (), tuple[ColouredSpan, ...])
    except msgspec.ValidationError:
        return ()
