"""Colours of a command's output, kept beside its text: the model reads the text, a person sees both.

They are places in the text and never the text itself, so that what is taken out of the text is nowhere else.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from tools.patterns import late
from tools.results import ColouredSpan
from tools.text import plain

_SGR: Final = late(r"(?:\x1b\[|\x9b)([\d;:]*)m")
_ELSEWHERE: Final = late(r"(?:\x1b\[|\x9b)\d*[ABEFJ]|\x1bM")
"""What goes to other lines: then nobody can say which colour is where."""
_ERASES_BEHIND: Final = late(r"(?:\x1b\[|\x9b)0?K")
"""As grep and compilers write behind each colour; it changes nothing where nothing stands behind."""
MOST_LINES: Final = 200
LIVE_LINES: Final = 24
"""While a command runs only its end is looked at."""
_MOST_SPANS: Final = 600
_LONGEST: Final = 24


def colours_of(written: str, shown: str, most_lines: int = MOST_LINES) -> tuple[ColouredSpan, ...]:
    """Of what was written, for the last lines of it that are shown."""
    if "\x1b[" not in written and "\x9b" not in written:
        return ()
    if _ELSEWHERE.search(written):
        return ()
    lines = written.rstrip("\n").split("\n")
    seen = shown.rstrip("\n").split("\n")
    count = min(len(lines), len(seen), most_lines)
    sgr = ""
    for line in lines[: len(lines) - count]:
        sgr = _behind(line, sgr)
    found: list[ColouredSpan] = []
    for number, line in enumerate(lines[len(lines) - count :], len(seen) - count):
        for start, end, code in _of_line(line, seen[number], sgr):
            found.append(ColouredSpan(number, start, end, code))
        sgr = _behind(line, sgr)
        if len(found) > _MOST_SPANS:
            return ()
    return tuple(found)


def _of_line(line: str, seen: str, sgr: str) -> Iterator[tuple[int, int, str]]:
    """Of one that was written over, what was written last if nothing of the rest is seen; else nothing."""
    over, _, last = line.rstrip("\r").rpartition("\r")
    last = _ERASES_BEHIND.sub("", last)
    if plain(_SGR.sub("", last)) == seen:
        yield from _spans(last, _behind(over, sgr))


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
