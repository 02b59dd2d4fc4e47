"""Formats tables as plain text with aligned columns."""

from collections.abc import Sequence


def align_columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Returns the rows of a table as lines of text, whose columns are padded to equal width and separated by two
    spaces."""
    widths = [
        max(len(row[at]) for row in rows if at < len(row)) for at in range(max(map(len, rows), default=0))
    ]
    return ["  ".join(cell.ljust(widths[at]) for at, cell in enumerate(row)).rstrip() for row in rows]
