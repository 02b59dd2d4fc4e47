"""Draws Markdown tables: with columns that fit the width, or as a table that scrolls sideways.

Column widths come from the first rows only, so that a growing table is not laid out again."""

from typing import NamedTuple

from widgets.transcript.leaves.layout_leaf import LayoutLeaf, StyledPiece, StyleRun
from widgets.transcript.leaves.safe_text import cells, wrap_line_into_ranges

MEASURED_TABLE_ROWS = 50
MIN_TABLE_COLUMN_CELLS = 6
MAX_TABLE_COLUMN_CELLS = 40
"""The maximum column width in a table that scrolls sideways."""
_TABLE_RULE_LINE = -1


class TableCell(NamedTuple):
    """The content of a table cell: text and style runs."""

    plain: str
    runs: tuple[StyleRun, ...] = ()


class TableLeaf(LayoutLeaf):
    """A unit of layout with a Markdown table: header, rule and rows. Its text separates cells by tabs and rows by
    newlines."""

    __slots__ = ("_lines", "_starts", "_widths", "aligns", "rows")

    def __init__(self, rows: list[list[TableCell]], aligns: list[str]) -> None:
        super().__init__("")
        self.rows = rows
        self.aligns = aligns
        self._starts: list[int] = []
        self._widths: list[int] = []
        self._lines: list[tuple[int, int]] = []
        """For each drawn row: the table's row (or the rule) and the line within it."""
        self._write_rows(0)

    def _write_rows(self, at: int) -> None:
        """Writes the table's rows from an index on into the text that is searched and copied."""
        del self._starts[at:]
        offset = 0
        head = ""
        if at:
            offset = self._starts[-1] + _row_length(self.rows[at - 1]) + 1
            head = self.plain[: offset - 1] + ("\n" if at < len(self.rows) else "")
        texts = []
        for row in self.rows[at:]:
            self._starts.append(offset)
            texts.append("\t".join(cell.plain for cell in row))
            offset += len(texts[-1]) + 1
        self.plain = head + "\n".join(texts)

    def replace_table_rows(self, at: int, rows: list[list[TableCell]]) -> None:
        """Replaces the table's rows from an index on, and lays out only these once the column widths are fixed."""
        is_settled = at > MEASURED_TABLE_ROWS and self._width > 0
        self.rows[at:] = rows
        self._write_rows(at)
        if not is_settled:
            self.discard_layout()
            return
        keep = next(index for index in range(len(self._lines), 0, -1) if self._lines[index - 1][0] < at)
        del self._lines[keep:]
        del self._rows[keep:]
        for row in [row for row in self.strips if row >= keep]:
            del self.strips[row]
        self._add_lines(at)

    def _lay_out(self, width: int) -> list[tuple[int, int]]:
        self._lines = []
        self._rows = []
        self._widths = self._column_widths(self._room(width))
        self._add_lines(0)
        return self._rows

    def _column_widths(self, room: int) -> list[int]:
        count = max((len(row) for row in self.rows), default=0)
        natural = [1] * count
        for row in self.rows[: MEASURED_TABLE_ROWS + 1]:
            for index, cell in enumerate(row):
                natural[index] = max(natural[index], max(cells(line) for line in cell.plain.split("\n")))
        free = room - 3 * (count - 1)
        if sum(natural) <= free:
            return natural
        if free < sum(min(MIN_TABLE_COLUMN_CELLS, size) for size in natural):
            return [min(MAX_TABLE_COLUMN_CELLS, size) for size in natural]
        return _share_width(natural, free)

    def _add_lines(self, at: int) -> None:
        for index in range(at, len(self.rows)):
            start = self._starts[index]
            span = (start, start + _row_length(self.rows[index]))
            for line in range(max(len(wrapped) for wrapped in self._wrapped_cells(index))):
                self._lines.append((index, line))
                self._rows.append(span)
            if index == 0:
                self._lines.append((_TABLE_RULE_LINE, 0))
                self._rows.append((span[1], span[1]))

    def _wrapped_cells(self, index: int) -> list[list[tuple[int, int]]]:
        out = []
        for cell, width in zip(self.rows[index], self._widths, strict=False):
            plain = cell.plain
            if len(plain) <= width and plain.isascii():
                out.append([(0, len(plain))])
            else:
                out.append(wrap_line_into_ranges(plain, width))
        return out or [[(0, 0)]]

    def natural_width(self) -> int:
        return cells(self._prefix(1, self._width)) + sum(self._widths) + 3 * max(0, len(self._widths) - 1)

    def pieces(self, row: int) -> list[StyledPiece]:
        index, line = self._lines[row]
        out = self._before(row)
        if index == _TABLE_RULE_LINE:
            out.append(StyledPiece("─┼─".join("─" * width for width in self._widths), "rule"))
            return out
        start = self._starts[index]
        base = "table-header" if index == 0 else self.key
        for column, (cell, spans) in enumerate(
            zip(self.rows[index], self._wrapped_cells(index), strict=False)
        ):
            if column:
                out.append(StyledPiece(" │ ", "rule"))
            self._add_cell(out, cell, spans[line] if line < len(spans) else None, column, start, base)
            start += len(cell.plain) + 1
        return out

    def _add_cell(
        self,
        out: list[StyledPiece],
        cell: TableCell,
        span: tuple[int, int] | None,
        column: int,
        start: int,
        base: str,
    ) -> None:
        first, last = span or (0, 0)
        last = first + len(cell.plain[first:last].rstrip(" "))
        text = LayoutLeaf(cell.plain, list(cell.runs), key=base)._text_pieces(first, last)
        pad = self._widths[column] - sum(cells(piece.text) for piece in text)
        align = self.aligns[column] if column < len(self.aligns) else ""
        left = {"right": pad, "center": pad // 2}.get(align, 0)
        if left > 0:
            out.append(StyledPiece(" " * left, base))
        out.extend(piece._replace(start=piece.start + start, end=piece.end + start) for piece in text)
        if pad - left > 0:
            out.append(StyledPiece(" " * (pad - left), base))


def _row_length(row: list[TableCell]) -> int:
    return sum(len(cell.plain) for cell in row) + max(0, len(row) - 1)


def _share_width(natural: list[int], free: int) -> list[int]:
    """Divides the width among a table's columns: narrow ones get what they need, the others share the rest evenly."""
    widths = [0] * len(natural)
    left = sorted(range(len(natural)), key=lambda index: natural[index])
    while left:
        share = free // len(left)
        index = left.pop(0)
        widths[index] = max(1, min(natural[index], share))
        free -= widths[index]
    return widths
