"""The type for what was written to the terminal: runs of cells by row."""

from typing import NamedTuple

from textual.strip import Strip


class WrittenRun(NamedTuple):
    """Cells of a row that were written together."""

    x: int
    end: int
    strip: Strip


WrittenRow = dict[int, WrittenRun]
"""The runs of a row by their start column; they do not overlap."""
