"""Colours of a command's output, kept beside its text: the model reads the text, a person sees both.

They are places in the text and never the text itself, so that what is taken out of the text is nowhere else.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from tools.limits import count_lines
from tools.patterns import late
from tools.results import ColouredSpan
from tools.text import plain

_SGR: Final = late(r"(?:\x1b\[|\x9b)([\d;:]*)m")
_MOVES: Final = late(r"[\r\x08](?!\n)|(?:\x1b\[|\x9b)\d*[ABCDEFGHJKPX]|\x1bM")
"""What writes over what stands there: then nobody can say which colour is where."""
_MOST_LINES: Final = 200
_MOST_SPANS: Final = 600
_LONGEST: Final = 24


def colours_of(written: str, shown: str) -> tuple[ColouredSpan, ...]:
    """Of what was written, for the last lines of it that are shown."""
    if "\x1b[" not in written and "\x9b" not in written:
        return ()
    if _MOVES.search(written):
        return ()
    lines = written.rstrip("\n").split("\n")
    count = min(len(lines), count_lines(shown), _MOST_LINES)
    first = count_lines(shown) - count
    sgr = ""
    for line in lines[: len(lines) - count]:
        sgr = _behind(line, sgr)
    found: list[ColouredSpan] = []
    for number, line in enumerate(lines[len(lines) - count :], first):
        for start, end, code in _spans(line, sgr):
            found.append(ColouredSpan(number, start, end, code))
        sgr = _behind(line, sgr)
        if len(found) > _MOST_SPANS:
            return ()
    return tuple(found)


def _behind(line: str, sgr: str) -> str:
    for code in _SGR.finditer(line):
        sgr = _after(sgr, code[1])
    return sgr


def _after(before: str, code: str) -> str:
    """What holds from a code on."""
    if code in ("", "0"):
        return ""
    if code.startswith(("0;", ";")):
        return code.lstrip("0").lstrip(";")[:_LONGEST]
    return f"{before};{code}".lstrip(";") if len(before) + len(code) < _LONGEST else code[:_LONGEST]


def _spans(line: str, sgr: str) -> Iterator[tuple[int, int, str]]:
    at = column = 0
    for code in (*_SGR.finditer(line), None):
        end = code.start() if code is not None else len(line)
        size = len(plain(line[at:end]))
        if sgr and size:
            yield column, column + size, sgr
        column += size
        if code is not None:
            sgr = _after(sgr, code[1])
            at = code.end()


def colours_in(details: Mapping[str, Any] | None) -> tuple[ColouredSpan, ...]:
    """What details hold of them; nothing where that is no such thing."""
    try:
        return msgspec.convert((details or {}).get("colours") or (), tuple[ColouredSpan, ...])
    except msgspec.ValidationError:
        return ()
