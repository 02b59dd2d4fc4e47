"""The type for what was written to the terminal: runs of cells by row."""

from typing import NamedTuple

from textual.strip import Strip


class WrittenCellRun(NamedTuple):
    """A run of cells in a screen row that were written to the terminal together."""

    x: int
    end: int
    strip: Strip


WrittenScreenRow = dict[int, WrittenCellRun]
"""The runs of a row by their start column; they do not overlap."""
