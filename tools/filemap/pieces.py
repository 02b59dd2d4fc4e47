"""Cutting a large source where declarations end, so that one piece after the other is parsed and its tree forgotten.

A tree takes twenty to fifty times the memory of dense declarations, and freeing a large one holds the interpreter. A
cut is made by text alone, between declarations that stand in nothing or in known containers (a namespace, a class):
their heads are said again before the next piece. Where a piece has errors, also joined to the next, the whole counts.
"""

import re

import msgspec

from tools.filemap.watch import Deadline

_TARGET = 24 * 1024
_SMALLEST = 2 * _TARGET
"""Shorter sources stay whole."""
_SEARCHED = 256 * 1024
_OVERLAP = 256


class CutRules(msgspec.Struct, frozen=True):
    """Where a language may be cut."""

    cut: re.Pattern[bytes]
    """Ends where a line begins that opens a declaration; its group `indent` is how that is indented."""
    container: re.Pattern[bytes] | None = None
    """Matches the line that opens one, at its beginning."""
    words: tuple[bytes, ...] = ()
    """One of these stands in such a line; looked for first, because few lines have one."""
    is_indented: bool = False
    """Whether containers end by indentation, else by braces."""
    has_conditions: bool = False
    """Whether `#if` must be closed before a cut."""


class Head(msgspec.Struct, frozen=True, gc=False):
    """The line that opens a container."""

    start: int
    end: int


class SourcePiece(msgspec.Struct, frozen=True):
    start: int
    end: int
    row: int
    before: tuple[Head, ...]
    """What is open where it begins."""
    after: tuple[Head, ...]
    """What is open where it ends."""

    def joined(self, more: "SourcePiece") -> "SourcePiece":
        return SourcePiece(self.start, more.end, self.row, self.before, more.after)

    def prefix(self, source: bytes) -> bytes:
        """The heads of what is open, on a line of their own."""
        heads = [source[head.start : head.end] for head in self.before]
        return b"".join(heads) + b"\n" if heads else b""


def pieces_of(source: bytes, how: CutRules, watch: Deadline) -> list[SourcePiece]:
    """The whole as one piece, or several that follow each other. Raises `Overtime` or `Cancelled`."""
    if len(source) < _SMALLEST:
        return [SourcePiece(0, len(source), 0, (), ())]
    seen = _ByIndent(source, how) if how.is_indented else _ByBraces(source, how)
    found: list[SourcePiece] = []
    begin, row = 0, 0
    before: tuple[Head, ...] = ()
    at = _TARGET
    while at < len(source):
        watch.check()
        # A part at a time: one search through everything would hold the interpreter.
        match = how.cut.search(source, at, at + _SEARCHED)
        if match is None:
            at += _SEARCHED - _OVERLAP
            continue
        at = match.end()
        open_ = seen.open_at(at, match)
        if open_ is not None:
            found.append(SourcePiece(begin, at, row, before, open_))
            row += source.count(b"\n", begin, at)
            begin, before = at, open_
            at += _TARGET
    found.append(SourcePiece(begin, len(source), row, before, ()))
    return found


class _ByBraces:
    """Containers with braces: a cut is where nothing but containers is open."""

    def __init__(self, source: bytes, how: CutRules) -> None:
        self._source, self._how = source, how
        self._indents = _Indents(source)
        self._open: list[Head] = []
        self._depth = self._conditions = self._counted = 0

    def open_at(self, at: int, match: re.Match[bytes]) -> tuple[Head, ...] | None:
        """None: in the middle of something."""
        for start, end in self._heads(at):
            self._go_to(start)
            is_outside = self._depth == len(self._open)
            self._go_to(end)
            if is_outside:
                self._open.append(Head(start, end))
        self._go_to(at)
        if self._depth != len(self._open) or self._conditions:
            return None
        # Braces in strings count, too: what begins here must also stand where such things begin.
        expected = self._indents.inside(self._open[-1].end) if self._open else b""
        return tuple(self._open) if match["indent"] == expected else None

    def _heads(self, until: int) -> list[tuple[int, int]]:
        """Lines from here on that open a container."""
        source, container = self._source, self._how.container
        found: set[tuple[int, int]] = set()
        if container is None:
            return []
        for word in self._how.words:
            at = source.find(word, self._counted, until)
            while at >= 0:
                head = container.match(source, source.rfind(b"\n", 0, at) + 1)
                if head is not None:
                    found.add(head.span())
                at = source.find(word, at + len(word), until)
        return sorted(found)

    def _go_to(self, at: int) -> None:
        source, counted = self._source, self._counted
        self._depth += source.count(b"{", counted, at) - source.count(b"}", counted, at)
        if self._how.has_conditions:
            self._conditions += source.count(b"#if", counted, at) - source.count(b"#endif", counted, at)
        while len(self._open) > max(0, self._depth):
            self._open.pop()
        self._counted = at


_TOP_LINE = re.compile(rb"^[^\s#)\]}][^\n]*$", re.M)


class _ByIndent:
    """Containers by indentation: a cut is in column 0, or where the members of the last container stand."""

    def __init__(self, source: bytes, how: CutRules) -> None:
        self._source, self._how = source, how
        self._indents = _Indents(source)
        self._counted = 0
        self._top: tuple[int, int] = (0, 0)

    def open_at(self, at: int, match: re.Match[bytes]) -> tuple[Head, ...] | None:
        source, container = self._source, self._how.container
        for line in _TOP_LINE.finditer(source, self._counted, at):
            self._top = line.span()
        self._counted = at
        indent = match["indent"]
        if not indent:
            return ()
        start, end = self._top
        if (
            container is None
            or not container.match(source, start, end)
            or self._indents.inside(end) != indent
        ):
            return None
        return (Head(start, end),)


_FIRST_INSIDE = re.compile(rb"\s*?\n([ \t]*)(?=[^\s#])")


class _Indents:
    def __init__(self, source: bytes) -> None:
        self._source = source
        self._known: tuple[int, bytes] = (-1, b"")

    def inside(self, head_end: int) -> bytes:
        """How the first line after a head is indented."""
        if self._known[0] != head_end:
            first = _FIRST_INSIDE.match(self._source, head_end, head_end + 2000)
            self._known = (head_end, first[1] if first is not None else b"")
        return self._known[1]


_BETWEEN = rb"\n[ \t\r]*\n(?=(?P<indent>[ \t]*)[^\s)\]}])"
BRACES = CutRules(re.compile(_BETWEEN))
CONDITIONAL = CutRules(
    re.compile(_BETWEEN),
    re.compile(rb"[ \t]*(?:(?:inline[ \t]+)?namespace\b[^\n{};=]*|extern[ \t]+\"C\"[ \t]*)\{(?=[ \t\r]*\n)"),
    words=(b"namespace", b"extern"),
    has_conditions=True,
)
SCRIPT = CutRules(
    re.compile(_BETWEEN),
    re.compile(
        rb"[ \t]*(?:export[ \t]+|declare[ \t]+)*(?:(?:namespace|module)[ \t]+[^\s{}][^\n{};]*|global[ \t]*)"
        rb"\{(?=[ \t\r]*\n)"
    ),
    words=(b"namespace ", b"module ", b"global "),
)
INDENTED = CutRules(
    re.compile(rb"\n[ \t\r]*\n(?=(?P<indent>[ \t]*)(?:async[ \t]+def|def|class|@)[ \t\w])"),
    re.compile(rb"class[ \t]+\w[^\n]*:[ \t\r]*$"),
    is_indented=True,
)
FORMS = CutRules(re.compile(rb"\n[ \t\r]*\n(?=(?P<indent>)\()"))
CLAUSES = CutRules(re.compile(rb"\.[ \t\r]*\n(?:[ \t\r]*\n)+(?=(?P<indent>)[a-z%-])"))
