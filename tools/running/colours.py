"""Colours of a command's output, kept beside its text: the model reads the text, a person sees both.

They are places in the text and never the text itself, so that what is taken out of the text is nowhere else.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from tools.patterns import late
from tools.results import ColouredSpan
from tools.text import plain_output

_SGR: Final = late(r"(?:\x1b\[|\x9b)([\d;:]*)m")
_VERTICAL_MOVE: Final = late(r"(?:\x1b\[|\x9b)\d*[ABEFJ]|\x1bM")
"""What goes to other lines: then nobody can say which colour is where."""
_ERASE_TO_LINE_END: Final = late(r"(?:\x1b\[|\x9b)0?K")
"""As grep and compilers write behind each colour; it changes nothing where nothing stands behind."""
MAX_COLOURED_LINES: Final = 200
MAX_LIVE_LINES: Final = 24
"""While a command runs only its end is looked at."""
_MAX_SPANS: Final = 600
_MAX_SGR_LENGTH: Final = 24


def output_colours(
    written: str, shown: str, most_lines: int = MAX_COLOURED_LINES
) -> tuple[ColouredSpan, ...]:
    """Of what was written, for the last lines of it that are shown."""
    if "\x1b[" not in written and "\x9b" not in written:
        return ()
    if _VERTICAL_MOVE.search(written):
        return ()
    lines = written.rstrip("\n").split("\n")
    seen = shown.rstrip("\n").split("\n")
    count = min(len(lines), len(seen), most_lines)
    sgr = ""
    for line in lines[: len(lines) - count]:
        sgr = _sgr_after_line(line, sgr)
    found: list[ColouredSpan] = []
    for number, line in enumerate(lines[len(lines) - count :], len(seen) - count):
        for start, end, code in _line_colours(line, seen[number], sgr):
            found.append(ColouredSpan(number, start, end, code))
        sgr = _sgr_after_line(line, sgr)
        if len(found) > _MAX_SPANS:
            return ()
    return tuple(found)


def _line_colours(line: str, seen: str, sgr: str) -> Iterator[tuple[int, int, str]]:
    """Of one that was written over, what was written last if nothing of the rest is seen; else nothing."""
    over, _, last = line.rstrip("\r").rpartition("\r")
    last = _ERASE_TO_LINE_END.sub("", last)
    if plain_output(_SGR.sub("", last)) == seen:
        yield from _sgr_spans(last, _sgr_after_line(over, sgr))


def _sgr_after_line(line: str, sgr: str) -> str:
    for code in _SGR.finditer(line):
        sgr = _apply_sgr(sgr, code[1])
    return sgr


def _apply_sgr(before: str, code: str) -> str:
    """What holds from a code on."""
    if code in ("", "0"):
        return ""
    if code.startswith(("0;", ";")):
        return code.lstrip("0").lstrip(";")[:_MAX_SGR_LENGTH]
    return (
        f"{before};{code}".lstrip(";")
        if len(before) + len(code) < _MAX_SGR_LENGTH
        else code[:_MAX_SGR_LENGTH]
    )


def _sgr_spans(line: str, sgr: str) -> Iterator[tuple[int, int, str]]:
    at = column = 0
    for code in (*_SGR.finditer(line), None):
        end = code.start() if code is not None else len(line)
        size = len(plain_output(line[at:end]))
        if sgr and size:
            yield column, column + size, sgr
        column += size
        if code is not None:
            sgr = _apply_sgr(sgr, code[1])
            at = code.end()


def stored_colours(details: Mapping[str, Any] | None) -> tuple[ColouredSpan, ...]:
    """What details hold of them; nothing where that is no such thing."""
    try:
        return msgspec.convert((details or {}).get("colours") or (), tuple[ColouredSpan, ...])
    except msgspec.ValidationError:
        return ()
