"""Bodies of functions in which nothing is defined, taken out before a text is parsed: most of a source is such bodies.

A grammar spends its time and its memory on them for nothing. Their line ends stay, so rows are right, and what remains
is a text of its own for all that follows. A body is judged by text alone; therefore it is only taken out when it is
indented as its head says and all that it opens is closed in it.
"""

import re
from collections.abc import Callable
from functools import lru_cache

import msgspec

from tools.filemap.watch import Deadline

_CHECK_EVERY = 256
_SMALLEST = 24
_LARGE = 4 * 1024
_LONGEST = 2 * 1024 * 1024
_HEAD_LINES = 16
_MAX_MISSES = 64
"""So many bodies without an end say that this text is not indented: the rest is left as it is."""

Defines = Callable[[bytes, int, int], bool]


class Bodies(msgspec.Struct, frozen=True):
    """How a language writes the bodies of its functions."""

    head: re.Pattern[bytes]
    """Matches a line up to its brace when that opens a body; its indentation is the group `indent`."""
    before: re.Pattern[bytes] | None = None
    """For a brace alone on its line: matches the line before when it is a head. Without: such braces open no bodies."""
    defines: Defines | None = None
    """Whether a range may hold a symbol; None where functions are never looked into."""
    words: tuple[bytes, ...] = ()
    """A body with one of these may hold a symbol."""
    table: re.Pattern[bytes] | None = None
    """Matches the line that opens a list of data, up to its bracket; such a list holds no symbol."""


class WhatIsLeft:
    """A source without what was taken out of it so far: of that the line ends stay."""

    def __init__(self, source: bytes) -> None:
        self.source = source
        self.begin = 0
        """Where that begins of which nothing was taken."""
        self.gone = 0
        """How many bytes shorter the text is than the source up to there."""
        self._pieces: list[bytes] = []

    def take(self, start: int, end: int) -> None:
        lines = self.source.count(b"\n", start, end)
        self._pieces += self.source[self.begin : start], b"\n" * lines
        self.begin = end
        self.gone += end - start - lines

    def text(self) -> bytes:
        return b"".join((*self._pieces, self.source[self.begin :])) if self._pieces else self.source


def without_bodies(source: bytes, bodies: Bodies, watch: Deadline) -> bytes:
    """The source without such bodies. Raises `Overtime` or `Cancelled`."""
    if bodies.table is not None:
        source = _without_tables(source, bodies.table, watch)
    end_of_line = b"\r\n" if b"\r\n" in source[:4096] else b"\n"
    opening = b"{" + end_of_line
    left = WhatIsLeft(source)
    at = steps = misses = 0
    find, rfind, defines = source.find, source.rfind, bodies.defines
    while (brace := find(opening, at)) >= 0 and misses <= _MAX_MISSES:
        steps += 1
        if steps % _CHECK_EVERY == 0:
            watch.check()
        at = start = brace + 1
        line = rfind(b"\n", left.begin, brace) + 1
        indent = _indent(source, line, brace, bodies)
        if indent is None:
            continue
        end = find(b"\n" + indent + b"}", start, start + _LONGEST)
        if end < 0:
            misses += 1
        elif (
            end - start >= _SMALLEST
            and not any(find(word, start, end) >= 0 for word in bodies.words)
            and (defines is None or not defines(source, start, end))
        ):
            body = source[start:end]
            if _is_closed(body) and not _outside(indent).search(body):
                left.take(start, end)
                at = end
    return left.text()


def _without_tables(source: bytes, table: re.Pattern[bytes], watch: Deadline) -> bytes:
    """The source without what stands in large lists of data that begin and end in column 0."""
    left, start = WhatIsLeft(source), 0
    while (head := table.search(source, start)) is not None:
        watch.check()
        start = head.end()
        closing = b"\n)" if source[start - 1 : start] == b"(" else b"\n}"
        end = source.find(closing, start, start + _LONGEST)
        body = source[start:end] if end >= start + _LARGE else b""
        if body and _is_closed(body) and body.count(b"(") == body.count(b")"):
            left.take(start, end)
            start = end
    return left.text()


def _indent(source: bytes, line: int, brace: int, bodies: Bodies) -> bytes | None:
    """The indentation of what opens a body with this brace; None when it opens something else."""
    line = _first_line(source, line, brace)
    head = bodies.head.match(source, line, brace)
    if head is not None:
        return head["indent"]
    if bodies.before is None or line == 0 or source[line:brace].strip():
        return None
    above = _first_line(source, source.rfind(b"\n", 0, line - 1) + 1, line - 1)
    return source[line:brace] if bodies.before.match(source, above, line - 1) else None


def _first_line(source: bytes, line: int, end: int) -> int:
    """Where the line begins in which the bracket opens that is closed between `line` and `end`."""
    open_ = source.count(b")", line, end) - source.count(b"(", line, end)
    start = line
    for _ in range(_HEAD_LINES):
        if open_ <= 0 or start == 0:
            return start
        last, start = start - 1, source.rfind(b"\n", 0, start - 1) + 1
        open_ += source.count(b")", start, last) - source.count(b"(", start, last)
    return line


@lru_cache(maxsize=64)
def _outside(indent: bytes) -> re.Pattern[bytes]:
    """A line that stands no deeper than the head, and is no label and nothing for a preprocessor."""
    return re.compile(rb"\n(?!" + re.escape(indent) + rb"[ \t]|[ \t\r]*(?:\n|$)|#|[ \t]*\w+:)")


def _is_closed(body: bytes) -> bool:
    """Whether braces and comments that begin in it also end in it, and no string reaches over its ends."""
    return (
        body.count(b"{") == body.count(b"}")
        and body.count(b"/*") == body.count(b"*/")
        and body.count(b"`") % 2 == 0
        and body.count(b'"""') % 2 == 0
    )
