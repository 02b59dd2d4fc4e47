"""Wraps the editor's lines into screen rows and converts between text positions and screen positions.

Words wrap by grapheme; the last column is reserved for the caret, and a trailing space may hang into it. Pure."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import accumulate
from operator import attrgetter
from typing import NamedTuple

from widgets.editor.graphemes import (
    TAB_CELLS,
    Grapheme,
    grapheme_boundary_before,
    is_chip_character,
    line_graphemes,
    text_width_in_cells,
)

CharacterRange = tuple[int, int]
_get_start = attrgetter("start")


class EditorLayoutRow(NamedTuple):
    """A row of the editor on the screen: the number of a line, and which characters of it are in the row."""

    line: int
    start: int
    end: int


@lru_cache(64)
def _make_ascii_row_pattern(room: int) -> re.Pattern[str]:
    return re.compile(f".{{1,{room}}}$|.{{0,{room}}} |.{{1,{room}}}")


def wrap_line(line: str, room: int, chip_cells: Callable[[str], int]) -> list[CharacterRange]:
    """Wraps a line of the editor: returns the range of characters in each row. A row fits `room` cells, not counting
    one trailing space."""
    room = max(1, room)
    if line.isascii() and "\t" not in line:
        if len(line) <= room:
            return [(0, len(line))]
        spans = [match.span() for match in _make_ascii_row_pattern(room).finditer(line)]
        if (
            spans[-1][1] - spans[-1][0] > room
        ):  # it ends in a space that hangs into the last column, so the caret needs another row
            spans.append((len(line), len(line)))
        return spans
    return _wrap_slowly(line, room, chip_cells)


def _wrap_slowly(line: str, room: int, chip_cells: Callable[[str], int]) -> list[CharacterRange]:
    spans: list[CharacterRange] = []
    cells = line_graphemes(line)
    start = index = column = 0
    after_blank = -1
    while index < len(cells):
        size = _measure_grapheme(cells[index], line, column, room, chip_cells)
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
            cut = max(first, cells[bisect_left(cells, start, key=_get_start)].end)
        spans.append((start, cut))
        start, column, after_blank = cut, 0, -1
        index = bisect_left(cells, start, key=_get_start)
    spans.append((start, len(line)))
    return spans


def _measure_grapheme(
    grapheme: Grapheme, line: str, column: int, room: int, chip_cells: Callable[[str], int]
) -> int:
    char = line[grapheme.start]
    if char == "\t":
        return TAB_CELLS - column % TAB_CELLS
    if is_chip_character(char):
        return min(room, chip_cells(char))
    return grapheme.cells


class TextLayout:
    """The editor's text wrapped into screen rows of a given width. When the text changes, only changed lines are
    wrapped again."""

    def __init__(self) -> None:
        self.row_count = 1
        self._lines: list[str] = [""]
        self._spans: list[list[CharacterRange]] = [[(0, 0)]]
        self._first_rows: list[int] = [0]
        """The first row of each line."""
        self._chip_labels: dict[str, str] = {}
        self._text_width = 1

    def update(self, lines: Sequence[str], total: int, labels: dict[str, str]) -> None:
        """Wraps the editor's lines again for a width of `total` cells, including the column of the caret; unchanged
        lines keep their rows."""
        room = max(1, total - 1)
        old = self._lines
        if (room, labels) != (self._text_width, self._chip_labels):
            self._text_width, self._chip_labels = room, labels
            old = []
        least = min(len(old), len(lines))
        head = 0
        while head < least and old[head] is lines[head]:
            head += 1
        tail = 0
        while tail < least - head and old[-1 - tail] is lines[-1 - tail]:
            tail += 1
        changed = [wrap_line(line, room, self.chip_cells) for line in lines[head : len(lines) - tail]]
        self._spans[head : len(self._spans) - tail if old else len(self._spans)] = changed
        self._first_rows = list(accumulate(map(len, self._spans), initial=0))
        self.row_count = self._first_rows.pop()
        self._lines = list(lines)

    def row(self, number: int) -> EditorLayoutRow:
        """Returns the line and the range of its characters that a screen row shows."""
        line = bisect_right(self._first_rows, number) - 1
        start, end = self._spans[line][number - self._first_rows[line]]
        return EditorLayoutRow(line, start, end)

    @property
    def rows(self) -> list[EditorLayoutRow]:
        return [self.row(number) for number in range(self.row_count)]

    def chip_cells(self, char: str) -> int:
        return min(self._text_width, len(self._chip_labels.get(char, "?")))

    def label(self, char: str) -> str:
        label = self._chip_labels.get(char, "?")
        return label if len(label) <= self._text_width else label[: max(0, self._text_width - 1)] + "…"

    def row_and_cell_of_position(self, position: tuple[int, int]) -> tuple[int, int]:
        """Returns the screen row and cell of a text position."""
        line, at = position
        spans = self._spans[line]
        within = max(0, bisect_right(spans, at, key=lambda span: span[0]) - 1)
        start = spans[within][0]
        return self._first_rows[line] + within, text_width_in_cells(
            self._lines[line][start:at], self.chip_cells
        )

    def position_at(self, row: int, cell: int) -> tuple[int, int]:
        """Returns the text position at a screen row and cell, or the nearest one in that row."""
        row = min(max(0, row), self.row_count - 1)
        line, start, end = self.row(row)
        text = self._lines[line][start:end]
        column = 0
        for grapheme in line_graphemes(text):
            size = _measure_grapheme(grapheme, text, column, self._text_width, self.chip_cells)
            if column + size > cell:
                return line, start + grapheme.start
            column += size
        is_last = row + 1 >= self._first_rows[line] + len(self._spans[line])
        if is_last or end == start:
            return line, end
        return line, grapheme_boundary_before(self._lines[line], end)
