"""The rows of a terminal screen and the operations on them. `emulator` parses the sequences that request them."""

from collections.abc import Callable

from rich.cells import get_character_cell_size
from rich.style import Style

from widgets.transcript.leaves.safe_text import clean

_MAX_GRAPHEME_CHARS = 16
"""The maximum number of characters in one cell: a letter with combining marks."""
_JOINING_CHARACTERS = "\u200d\ufe0e\ufe0f"
"""Characters that change the width of their neighbours in some terminals, which would misalign columns."""


class TerminalGridRow:
    """A row of the emulated terminal's screen: a character and a style for each column."""

    __slots__ = ("chars", "is_wrapped", "styles")

    def __init__(self, columns: int, style: Style | None = None) -> None:
        self.chars = [" "] * columns
        """The characters by column; the second half of a wide character is empty."""
        self.styles: list[Style | None] = [style] * columns
        self.is_wrapped = False
        """Whether the line continues in the next row."""

    def resize(self, columns: int) -> None:
        missing = columns - len(self.chars)
        self.chars[columns:] = [" "] * max(0, missing)
        self.styles[columns:] = [None] * max(0, missing)
        self.erase_split_wide_character(columns)

    def erase_cells(self, start: int, end: int, style: Style | None) -> None:
        size = max(0, end - start)
        self.chars[start:end] = [" "] * size
        self.styles[start:end] = [style] * size
        self.erase_split_wide_character(start)
        self.erase_split_wide_character(end)
        if end >= len(self.chars):
            self.is_wrapped = False

    def erase_split_wide_character(self, column: int) -> None:
        """Replaces half of a wide character by a space where a change before or from `column` on overwrote its other
        half."""
        chars = self.chars
        if 0 < column < len(chars) and chars[column] == "" and not _is_wide_cluster(chars[column - 1]):
            chars[column] = " "
        if (
            0 < column <= len(chars)
            and _is_wide_cluster(chars[column - 1])
            and chars[column : column + 1] != [""]
        ):
            chars[column - 1] = " "


def _is_wide_cluster(cluster: str) -> bool:
    return bool(cluster) and not cluster.isascii() and get_character_cell_size(cluster[0]) == 2


class TerminalGrid:
    """The screen of an emulated terminal: rows of cells, the cursor and the scrolling region."""

    def __init__(
        self, columns: int, lines: int, on_scrolled: Callable[[TerminalGridRow], None] | None = None
    ) -> None:
        self.column_count = columns
        self.line_count = lines
        self.rows = [TerminalGridRow(columns) for _ in range(lines)]
        self.x = self.y = 0
        """The cursor; `x` is past the last column while a wrap is due."""
        self.top, self.bottom = 0, lines - 1
        """The scrolling region."""
        self._on_scrolled = on_scrolled

    # Writing

    def write_text(self, text: str, style: Style | None, *, wraps: bool, inserts: bool) -> None:
        if not text.isascii():
            self._write_wide_text(text, style, wraps=wraps, inserts=inserts)
            return
        while text:
            room = self._remaining_columns(wraps=wraps)
            piece, text = text[:room], text[room:]
            self._place_cells(list(piece), style, inserts=inserts)
            if not wraps and text:
                text = text[-1]  # all but the last would be overwritten in the last column

    def _write_wide_text(self, text: str, style: Style | None, *, wraps: bool, inserts: bool) -> None:
        for char in clean(text):
            size = get_character_cell_size(char)
            if size == 0:
                self._add_combining_mark(char)
                continue
            if self._remaining_columns(wraps=wraps) < size and self.column_count > 1:
                if wraps:
                    self._wrap_to_next_line()
                else:
                    self.x = self.column_count - size
            self._place_cells([char, ""][: min(size, self.column_count)], style, inserts=inserts)

    def _remaining_columns(self, *, wraps: bool) -> int:
        if self.x >= self.column_count:
            if wraps:
                self._wrap_to_next_line()
            else:
                self.x = self.column_count - 1
        return self.column_count - self.x

    def _wrap_to_next_line(self) -> None:
        self.rows[self.y].is_wrapped = True
        self.x = 0
        self.line_feed()

    def _place_cells(self, cells: list[str], style: Style | None, *, inserts: bool) -> None:
        if inserts:
            self.insert_chars(len(cells), None)
        row, start, end = self.rows[self.y], self.x, self.x + len(cells)
        row.chars[start:end] = cells
        row.styles[start:end] = [style] * len(cells)
        row.erase_split_wide_character(start)
        row.erase_split_wide_character(end)
        self.x = end

    def _add_combining_mark(self, mark: str) -> None:
        if mark in _JOINING_CHARACTERS:
            return
        chars = self.rows[self.y].chars
        column = self.x - 1
        if column > 0 and chars[column] == "":
            column -= 1
        if column >= 0 and len(chars[column]) < _MAX_GRAPHEME_CHARS:
            chars[column] += mark

    # Moving

    def move_to(self, x: int, y: int) -> None:
        self.x = min(max(x, 0), self.column_count - 1)
        self.y = min(max(y, 0), self.line_count - 1)

    def move_by(self, columns: int, lines: int) -> None:
        """Moves the terminal's cursor; it stops at the edge of the scrolling region if it started inside."""
        first = self.top if self.y >= self.top else 0
        last = self.bottom if self.y <= self.bottom else self.line_count - 1
        self.move_to(
            min(self.x, self.column_count - 1) + columns,
            min(max(self.y + lines, first), last) if lines else self.y,
        )

    def line_feed(self) -> None:
        if self.y == self.bottom:
            self.scroll_rows(1)
        elif self.y < self.line_count - 1:
            self.y += 1

    def reverse_line_feed(self) -> None:
        if self.y == self.top:
            self.scroll_rows(-1)
        elif self.y > 0:
            self.y -= 1

    # Scrolling

    def set_scroll_region(self, top: int, bottom: int) -> None:
        top, bottom = max(0, top), min(bottom, self.line_count - 1)
        if top < bottom:
            self.top, self.bottom = top, bottom
            self.move_to(0, 0)

    def scroll_rows(self, count: int, style: Style | None = None) -> None:
        """Scrolls the scrolling region up by `count` rows, or down if it is negative; rows that leave a screen's top
        are passed to the scroll-back."""
        for _ in range(min(abs(count), self.line_count)):
            if count > 0:
                gone = self.rows.pop(self.top)
                self.rows.insert(self.bottom, TerminalGridRow(self.column_count, style))
                if self.top == 0 and self._on_scrolled:
                    self._on_scrolled(gone)
            else:
                self.rows.pop(self.bottom)
                self.rows.insert(self.top, TerminalGridRow(self.column_count, style))

    def insert_lines(self, count: int, style: Style | None) -> None:
        """Inserts blank lines at the cursor and moves those below down; a negative `count` deletes lines instead. Does
        nothing outside the scrolling region."""
        if not self.top <= self.y <= self.bottom:
            return
        for _ in range(min(abs(count), self.line_count)):
            self.rows.pop(self.bottom if count > 0 else self.y)
            self.rows.insert(self.y if count > 0 else self.bottom, TerminalGridRow(self.column_count, style))
        self.x = 0

    # Within a row

    def insert_chars(self, count: int, style: Style | None) -> None:
        row, start = self.rows[self.y], min(self.x, self.column_count - 1)
        count = min(count, self.column_count - start)
        row.chars[start:] = [" "] * count + row.chars[start : self.column_count - count]
        row.styles[start:] = [style] * count + row.styles[start : self.column_count - count]
        row.erase_split_wide_character(start)
        row.erase_split_wide_character(start + count)
        row.erase_split_wide_character(self.column_count)

    def delete_chars(self, count: int, style: Style | None) -> None:
        row, start = self.rows[self.y], min(self.x, self.column_count - 1)
        count = min(count, self.column_count - start)
        row.chars[start:] = row.chars[start + count :] + [" "] * count
        row.styles[start:] = row.styles[start + count :] + [style] * count
        row.erase_split_wide_character(start)

    def erase_chars(self, count: int, style: Style | None) -> None:
        start = min(self.x, self.column_count - 1)
        self.rows[self.y].erase_cells(start, min(start + count, self.column_count), style)

    def erase_line(self, how: int, style: Style | None) -> None:
        """Erases in the cursor's row: from the cursor on (0), up to it (1), or the whole line (2)."""
        start = 0 if how else min(self.x, self.column_count - 1)
        end = min(self.x + 1, self.column_count) if how == 1 else self.column_count
        self.rows[self.y].erase_cells(start, end, style)

    def erase_display(self, how: int, style: Style | None) -> None:
        self.erase_line(how, style)
        first = self.y + 1 if how == 0 else 0
        last = self.y if how == 1 else self.line_count
        for row in self.rows[first:last]:
            row.erase_cells(0, self.column_count, style)

    def resize(self, columns: int, lines: int) -> None:
        """Changes the screen's size; surplus rows are removed below the cursor first, then at the top, into the
        scroll-back."""
        for row in self.rows:
            row.resize(columns)
        spare = len(self.rows) - lines
        if spare > 0:
            below = min(spare, len(self.rows) - 1 - self.y)
            del self.rows[len(self.rows) - below :]
            for row in self.rows[: spare - below]:
                if self._on_scrolled:
                    self._on_scrolled(row)
            del self.rows[: spare - below]
            self.y -= spare - below
        self.rows += [TerminalGridRow(columns) for _ in range(lines - len(self.rows))]
        self.column_count, self.line_count = columns, lines
        self.top, self.bottom = 0, lines - 1
        self.move_to(self.x, self.y)
