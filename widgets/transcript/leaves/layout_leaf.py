"""Leaves: the smallest units of layout. A leaf is plain text with style runs and a prefix for its rows.

`layout(width)` computes the rows and needs no styles; `pieces(row)` returns what a row shows and which characters of
the
leaf's text are there. `painting` turns rows into strips."""

from bisect import bisect_right
from typing import NamedTuple

from widgets.transcript.leaves.safe_text import (
    TAB_CELLS,
    cells,
    cut_end_to_fit,
    has_joining_characters,
    safe_cut_position,
    wrap_line_into_ranges,
)

MAX_PROSE_CELLS = 100
"""The longest line of prose, in cells: longer ones are hard to follow from the end of one to the next."""
ACTION_LINK_URL_PREFIX = "do:"
"""The beginning of a link's address that names an action of the page."""
StyleRun = tuple[int, int, str]
"""A style run: start, end, style key."""


class StyledPiece(NamedTuple):
    """Cells of a drawn row in one style: a range of the block's text, or decoration (then `start` is -1)."""

    text: str
    key: str
    start: int = -1
    end: int = -1


class LayoutLeaf:
    """The smallest unit of a transcript's layout: plain text with style runs and a prefix for its rows, wrapped to a
    width."""

    __slots__ = (
        "_rows",
        "_width",
        "blank",
        "copied_indent",
        "fill",
        "first",
        "hang",
        "key",
        "link",
        "measure",
        "plain",
        "prefix_key",
        "rest",
        "runs",
        "shift",
        "strips",
    )

    def __init__(
        self,
        plain: str,
        runs: list[StyleRun] | None = None,
        *,
        key: str = "text",
        first: str = "",
        rest: str = "",
        prefix_key: str = "dim",
        blank: int = 0,
        fill: str = "",
        link: str = "",
    ) -> None:
        self.plain = plain
        self.runs = runs or []
        self.key = key
        self.first = first
        self.rest = rest
        self.prefix_key = prefix_key
        self.blank = blank
        """Empty rows above."""
        self.hang = 0
        """The length of a list marker at the start; continuation rows are indented by it."""
        self.fill = fill
        """Style key for the rest of the row; empty for the page."""
        self.link = link
        """The action of a click anywhere on the leaf: the name of a view action with its arguments."""
        self.measure = 0
        """The longest line in cells; 0 for the whole width."""
        self.copied_indent = ""
        """The indent before the text in a copy, for content below a list item."""
        self.shift = 0
        """The number of cells that a wide leaf is scrolled to the right."""
        self.strips: dict[int, object] = {}
        self._rows: list[tuple[int, int]] = []
        self._width = -1

    def layout(self, width: int) -> list[tuple[int, int]]:
        """Wraps the leaf's text to a width; returns its rows as ranges of the text."""
        if self._width != width:
            self._width = width
            self.strips = {}
            self._rows = self._lay_out(width)
        return self._rows

    def _room(self, width: int) -> int:
        room = max(1, width - cells(self._prefix(0, width)))
        return min(room, self.measure) if self.measure else room

    def _lay_out(self, width: int) -> list[tuple[int, int]]:
        return self._break_lines(0, self._room(width))

    def _break_lines(self, at: int, room: int) -> list[tuple[int, int]]:
        rows: list[tuple[int, int]] = []
        hang = self.hang if at == 0 else 0
        inner = max(1, room - hang) if self.hang else room
        for line in self.plain[at:].split("\n") if at else self.plain.split("\n"):
            size = len(line)
            if size <= inner and line.isascii() and "\t" not in line:
                rows.append((at, at + size))
            elif hang:
                spans = wrap_line_into_ranges(line[hang:], inner)
                rows.append((at, at + hang + spans[0][1]))
                rows.extend((at + hang + start, at + hang + end) for start, end in spans[1:])
            else:
                rows.extend((at + start, at + end) for start, end in wrap_line_into_ranges(line, inner))
            at += size + 1
            hang = 0
        return rows

    @property
    def width(self) -> int:
        """The width in cells of the leaf's current layout."""
        return self._width

    def measure_height(self, width: int) -> int:
        return self.blank + len(self.layout(width))

    def discard_painted_rows(self) -> None:
        """Drops the painted rows of a leaf after the colours changed."""
        self.strips = {}

    def scroll_sideways(self, cells_right: int) -> None:
        """Scrolls a leaf sideways that is wider than the view; leaves that fit do not move."""
        shift = max(0, min(self.shift + cells_right, self.natural_width() - self._width))
        if shift != self.shift:
            self.shift = shift
            self.strips = {}

    def natural_width(self) -> int:
        """Returns the width of the widest row in cells; 0 for leaves that wrap their text."""
        return 0

    def discard_layout(self) -> None:
        self._width = -1
        self.strips = {}

    def style_runs_for(self, start: int, end: int) -> list[StyleRun]:
        """Returns style runs that cover at least the given range of the text; sorted, not overlapping."""
        del start, end
        return self.runs

    def row_fill_style_key(self, row: int) -> str:
        """Returns the style key for the cells of a row after its text."""
        del row
        return self.fill

    def _prefix(self, row: int, width: int) -> str:
        prefix = self.first if row == 0 else self.rest
        limit = max(2, width // 2)
        return prefix if len(prefix) <= limit else prefix[: limit - 1] + " "

    def _before(self, row: int) -> list[StyledPiece]:
        """Returns the prefix of a leaf's row (indent, bullet or bar) as pieces; empty if it has none."""
        prefix = self._prefix(row, self._width)
        return [StyledPiece(prefix, self.prefix_key)] if prefix else []

    def pieces(self, row: int) -> list[StyledPiece]:
        """Returns the styled pieces of text that a row of the leaf shows, from the left."""
        start, end = self._rows[row]
        out = self._before(row)
        if row and self.hang and start:
            out.append(StyledPiece(" " * self.hang, self.key))
        out.extend(self._text_pieces(start, start + len(self.plain[start:end].rstrip(" "))))
        return out

    def _text_pieces(self, start: int, end: int) -> list[StyledPiece]:
        plain = self.plain
        sticky = has_joining_characters(plain[start:end])
        out: list[StyledPiece] = []
        at = start
        runs = self.style_runs_for(start, end)
        if runs:
            for index in range(max(0, bisect_right(runs, (start, 1 << 60, "")) - 1), len(runs)):
                first, last, key = runs[index]
                if first >= end:
                    break
                if last <= at:
                    continue
                if sticky:
                    first, last = safe_cut_position(plain, first), safe_cut_position(plain, last)
                if first > at:
                    out.append(StyledPiece(plain[at:first], self.key, at, first))
                    at = first
                last = min(last, end)
                if last > at:
                    out.append(StyledPiece(plain[at:last], key, at, last))
                    at = last
        if at < end:
            out.append(StyledPiece(plain[at:end], self.key, at, end))
        return _without_tabs(out) if "\t" in plain[start:end] else out

    def row_at(self, offset: int) -> int:
        """Returns the row of the leaf that shows the character at an offset of its text."""
        return max(0, bisect_right(self._rows, (offset, 1 << 60)) - 1)

    def replace_text_end(self, at: int, text: str, runs: list[StyleRun]) -> None:
        """Replaces the leaf's text from a character on, and lays out only the rows that this can change."""
        keep = max(0, self.row_at(at) - 1) if self._rows and self._width > 0 else 0
        self.plain = self.plain[:at] + text
        self.runs = runs
        if keep < 2:
            self.discard_layout()
            return
        start = self._rows[keep][0]
        room = self._room(self._width)
        self._rows = self._rows[:keep] + self._break_lines(start, room)
        self.strips = {row: strip for row, strip in self.strips.items() if row < keep}


def _without_tabs(pieces: list[StyledPiece]) -> list[StyledPiece]:
    out: list[StyledPiece] = []
    column = 0
    for piece in pieces:
        at = piece.start
        for index, part in enumerate(piece.text.split("\t")):
            if index:
                size = TAB_CELLS - column % TAB_CELLS
                out.append(StyledPiece(" " * size, piece.key, at, at + 1))
                at += 1
                column += size
            if part:
                out.append(StyledPiece(part, piece.key, at, at + len(part)))
                at += len(part)
                column += cells(part)
    return out


class LongTextLeaf(LayoutLeaf):
    """A leaf for a part of a very long text. It is laid out only when it becomes visible, since there may be
    thousands."""

    __slots__ = ("_lines",)

    def __init__(
        self, plain: str, *, key: str, first: str = "", rest: str = "", blank: int = 0, fill: str = ""
    ) -> None:
        super().__init__(plain, key=key, first=first, rest=rest, blank=blank, fill=fill)
        self.measure = MAX_PROSE_CELLS
        self._lines = -1
        """The number of lines; -1 until it is counted."""

    def estimated_height(self, width: int) -> int:
        """Returns the estimated number of rows of a long text at a width, without laying it out."""
        if self._lines < 0:
            self._lines = self.plain.count("\n") + 1
        width = min(MAX_PROSE_CELLS, width - len(self.first))
        full = max(0, len(self.plain) - self._lines * (width // 2))
        return self.blank + self._lines + full // max(1, width)

    def replace_text_end(self, at: int, text: str, runs: list[StyleRun]) -> None:
        self._lines = -1
        super().replace_text_end(at, text, runs)


FIRST_PAGE_COLUMN_CELLS = 68
"""The width of what stands in the middle of the page."""


class OneLineLeaf(LayoutLeaf):
    """A leaf of a single row: if it does not fit, one part in the middle is cut, so that both ends stay readable."""

    __slots__ = ("_parts", "flexible")

    def __init__(
        self,
        parts: list[tuple[str, str]],
        *,
        flexible: int,
        first: str = "",
        blank: int = 0,
        link: str = "",
    ) -> None:
        super().__init__("", first=first, blank=blank, link=link)
        self._parts = parts
        self.flexible = flexible
        """The index of the part that is cut."""
        self.plain = "".join(text for text, _ in parts)

    def _lay_out(self, width: int) -> list[tuple[int, int]]:
        del width
        return [(0, len(self.plain))]

    def pieces(self, row: int) -> list[StyledPiece]:
        out = self._before(row)
        room = self._room(self._width)
        sizes = [cells(text) for text, _ in self._parts]
        spare = room - sum(sizes)
        at = 0
        for index, (text, key) in enumerate(self._parts):
            shown = text
            if spare < 0 and index == self.flexible:
                shown = cut_end_to_fit(text, max(min(8, sizes[index]), sizes[index] + spare))
            shown = cut_end_to_fit(shown, room)
            room -= cells(shown)
            if shown:
                out.append(StyledPiece(shown, key, at, at + len(shown) - (shown != text)))
            at += len(text)
            if room <= 0:
                break
        return out


class CentredLineLeaf(OneLineLeaf):
    """A row in the middle of the page: centred by itself, or beginning at the same column as the other rows of the
    first page."""

    __slots__ = ("_is_alone",)

    def __init__(
        self,
        parts: list[tuple[str, str]],
        *,
        flexible: int = 0,
        blank: int = 0,
        link: str = "",
        is_alone: bool = False,
    ) -> None:
        super().__init__(parts, flexible=flexible, blank=blank, link=link)
        self._is_alone = is_alone

    def _prefix(self, row: int, width: int) -> str:
        return _centring_blanks(width, cells(self.plain) if self._is_alone else FIRST_PAGE_COLUMN_CELLS)


class CentredColumnRowLeaf(CentredLineLeaf):
    """A row in the centred column of the first page; its last part is at the column's right edge."""

    __slots__ = ()

    def __init__(self, parts: list[tuple[str, str]], *, flexible: int, link: str = "") -> None:
        super().__init__(parts, flexible=flexible, link=link)
        self.measure = FIRST_PAGE_COLUMN_CELLS

    def pieces(self, row: int) -> list[StyledPiece]:
        before, *shown = super().pieces(row)
        spare = self._room(self._width) - sum(cells(piece.text) for piece in shown)
        return [before, *shown[:-1], StyledPiece(" " * spare, self.key), shown[-1]]


class CentredTextLeaf(LayoutLeaf):
    """A paragraph in the centred column of the first page."""

    __slots__ = ()

    def __init__(self, plain: str, runs: list[StyleRun], *, key: str, blank: int = 0) -> None:
        super().__init__(plain, runs, key=key, blank=blank)
        self.measure = FIRST_PAGE_COLUMN_CELLS

    def _prefix(self, row: int, width: int) -> str:
        return _centring_blanks(width, FIRST_PAGE_COLUMN_CELLS)


def _centring_blanks(width: int, size: int) -> str:
    return " " * max(2, (width - size) // 2)
