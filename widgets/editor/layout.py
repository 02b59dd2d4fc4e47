"""Lines broken into rows of a width, and the way between positions and places on the screen.

Word wrap by character; the last column of the width is kept free for the caret, and a blank may hang into it. Pure.
"""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

from widgets.editor.graphemes import TAB, Grapheme, boundary_before, graphemes, is_chip, width

Span = tuple[int, int]


class Row(NamedTuple):
    """A row on the screen: part of a line."""

    line: int
    start: int
    end: int


@lru_cache(64)
def _ascii_rows(room: int) -> re.Pattern[str]:
    return re.compile(f".{{1,{room}}}$|.{{0,{room}}} |.{{1,{room}}}")


def wrap(line: str, room: int, chip_cells: Callable[[str], int]) -> list[Span]:
    """Ranges of a line that each fit `room` cells, one blank not counted."""
    room = max(1, room)
    if line.isascii() and "\t" not in line:
        if len(line) <= room:
            return [(0, len(line))]
        spans = [match.span() for match in _ascii_rows(room).finditer(line)]
        if spans[-1][1] - spans[-1][0] > room:  # ends in a blank that hangs: the caret needs a row of its own
            spans.append((len(line), len(line)))
        return spans
    return _wrap_slowly(line, room, chip_cells)


def _wrap_slowly(line: str, room: int, chip_cells: Callable[[str], int]) -> list[Span]:
    spans: list[Span] = []
    cells = graphemes(line)
    start = index = column = 0
    after_blank = -1
    while index < len(cells):
        size = _size(cells[index], line, column, room, chip_cells)
        first, last, _ = cells[index]
        if column + size <= room:
            column += size
            index += 1
            if line[first] in " \t":
                after_blank = last
            continue
        if line[first] == " " and column == room:
            cut = last
        elif after_blank > start:
            cut = after_blank
        else:
            cut = max(first, cells[_index_at(cells, start)].end)
        spans.append((start, cut))
        start, column, after_blank = cut, 0, -1
        index = _index_at(cells, start)
    spans.append((start, len(line)))
    return spans


def _size(grapheme: Grapheme, line: str, column: int, room: int, chip_cells: Callable[[str], int]) -> int:
    char = line[grapheme.start]
    if char == "\t":
        return TAB - column % TAB
    if is_chip(char):
        return min(room, chip_cells(char))
    return grapheme.cells


def _index_at(cells: list[Grapheme], start: int) -> int:
    low, high = 0, len(cells)
    while low < high:
        middle = (low + high) // 2
        if cells[middle].start < start:
            low = middle + 1
        else:
            high = middle
    return low


class Layout:
    """The rows of a text at a width. Lines that did not change are not broken again."""

    def __init__(self) -> None:
        self.rows: list[Row] = [Row(0, 0, 0)]
        self._first_rows: list[int] = [0]
        self._lines: Sequence[str] = [""]
        self._cache: dict[str, list[Span]] = {}
        self._key: object = None
        self._labels: dict[str, str] = {}
        self._room = 1

    def update(self, lines: Sequence[str], total: int, labels: dict[str, str]) -> None:
        """Break the lines for a width of `total` cells, the caret's column included."""
        room = max(1, total - 1)
        if (room, labels) != (self._room, self._labels):
            self._cache = {}
            self._room, self._labels = room, labels
        known = self._cache
        cache: dict[str, list[Span]] = {}
        rows: list[Row] = []
        firsts: list[int] = []
        for number, line in enumerate(lines):
            spans = known.get(line)
            if spans is None:
                spans = wrap(line, room, self.chip_cells)
            cache[line] = spans
            firsts.append(len(rows))
            rows.extend(Row(number, start, end) for start, end in spans)
        self._cache, self.rows, self._first_rows = cache, rows, firsts
        self._lines = list(lines)

    def chip_cells(self, char: str) -> int:
        return min(self._room, len(self._labels.get(char, "?")))

    def label(self, char: str) -> str:
        label = self._labels.get(char, "?")
        return label if len(label) <= self._room else label[: max(0, self._room - 1)] + "…"

    def place(self, position: tuple[int, int]) -> tuple[int, int]:
        """Screen row and cell of a position."""
        line, at = position
        row = self._first_rows[line]
        while row + 1 < len(self.rows) and self.rows[row + 1].line == line and self.rows[row + 1].start <= at:
            row += 1
        start = self.rows[row].start
        return row, width(self._lines[line][start:at], self.chip_cells)

    def position(self, row: int, cell: int) -> tuple[int, int]:
        """The position at a place of the screen, or the nearest to it in the row."""
        row = min(max(0, row), len(self.rows) - 1)
        line, start, end = self.rows[row]
        text = self._lines[line][start:end]
        column = 0
        for grapheme in graphemes(text):
            size = _size(grapheme, text, column, self._room, self.chip_cells)
            if column + size > cell:
                return line, start + grapheme.start
            column += size
        is_last = row + 1 >= len(self.rows) or self.rows[row + 1].line != line
        if is_last or end == start:
            return line, end
        return line, boundary_before(self._lines[line], end)
