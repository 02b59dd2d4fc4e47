"""Builds one row of a widget from styled pieces of text and cuts it to the width. For widgets that use Textual's line
API."""

from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from widgets.diffstat import split_diffstat
from widgets.transcript.leaves.safe_text import clean, cut_end_to_fit, cut_start_to_fit

RIGHT_MARGIN_CELLS = 2
"""The columns at the right end without text: one of air, and one for a scroll bar."""


def cells(text: str) -> int:
    return len(text) if text.isascii() else cell_len(text)


def clean_single_line(text: str) -> str:
    """Returns foreign text as one line, without control characters or escape sequences."""
    text = clean(text)
    if "\n" in text or "\t" in text:
        text = " ".join(text.split())
    return text


class RowBuilder:
    """A screen row that is built from left to right out of styled texts, up to a maximum width."""

    def __init__(self, width: int, base: Style, *, edge: int = 0) -> None:
        """Begins an empty row of `width` cells. `edge`: the columns at the right end that stay empty."""
        self.width = width
        self.base = base
        self.used = 0
        self._edge = edge
        self._segments: list[Segment] = []

    @property
    def remaining_cells(self) -> int:
        return self.width - self._edge - self.used

    def add(self, text: str, style: Style | None = None, *, keep_end: bool = False) -> "RowBuilder":
        """Appends a text to the row, cut with an ellipsis if it does not fit."""
        if not text or self.remaining_cells <= 0:
            return self
        size = cells(text)
        if size > self.remaining_cells:
            text = (
                cut_start_to_fit(text, self.remaining_cells)
                if keep_end
                else cut_end_to_fit(text, self.remaining_cells)
            )
            size = cells(text)
        self._segments.append(Segment(text, self.base + style if style else self.base))
        self.used += size
        return self

    def add_highlighted(
        self, text: str, marks: Iterable[int], style: Style | None, mark: Style
    ) -> "RowBuilder":
        """Appends a text to the row, with the characters at the given positions in another style."""
        places = set(marks)
        if not places:
            return self.add(text, style)
        start = 0
        while start < len(text) and self.remaining_cells > 0:
            is_marked = start in places
            end = start + 1
            while end < len(text) and (end in places) == is_marked:
                end += 1
            self.add(text[start:end], mark if is_marked else style)
            start = end
        return self

    def add_with_diffstat(self, text: str, style: Style | None, added: Style, removed: Style) -> "RowBuilder":
        """Appends a text to the row; counts of added and removed lines in it get their colours."""
        for piece in split_diffstat(cut_end_to_fit(text, max(0, self.remaining_cells))):
            kind = added if piece.kind == "added" else removed if piece.kind == "removed" else style
            self.add(piece.text, kind)
        return self

    def pad(self, size: int, style: Style | None = None) -> "RowBuilder":
        return self.add(" " * min(size, self.remaining_cells), style)

    def fill_to_column(self, column: int, char: str = " ", style: Style | None = None) -> "RowBuilder":
        return self.add(char * max(0, min(column, self.width) - self.used), style)

    def append_row(self, piece: "RowBuilder") -> None:
        """Appends the pieces of another row; the caller has checked that they fit."""
        self._segments += piece._segments
        self.used += piece.used

    def strip(self) -> Strip:
        self._edge = 0
        self.fill_to_column(self.width)
        return Strip(self._segments, self.width)


def divide_bar_cells(shares: Sequence[float], width: int) -> list[int]:
    """Divides a bar into whole cells by its parts' shares of the width. Rounding errors do not add up, and at least one
    cell is filled if any share is not zero."""
    ends = [min(width, round(width * end)) for end in accumulate(shares)]
    sizes = [end - start for start, end in pairwise([0, *ends])]
    if any(shares) and not any(sizes):
        sizes[shares.index(max(shares))] = min(1, width)
    return sizes


def fit_text_to_cells(text: str, size: int) -> str:
    """Cuts or pads the text to exactly `size` cells."""
    return set_cell_size(cut_end_to_fit(text, size), size)
