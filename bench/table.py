"""A row of the table that `python -m bench` prints, and the table itself."""

from collections.abc import Sequence

import msgspec


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """A measured figure with its unit, reference and limit."""

    name: str
    figure: float
    unit: str
    ratio: float | None = None
    """The ratio to the reference measured in the same run."""
    reference: str = ""
    """The name of the reference."""
    limit: str = ""
    """The required limit."""


HEADER = ("subject", "name", "figure", "unit", "ratio", "reference", "limit")
_RIGHT = {2, 4}


def lines_of(rows: Sequence[tuple[str, Row]]) -> list[str]:
    """Returns the table as text lines with aligned columns."""
    cells = [HEADER, *(_cells(subject, row) for subject, row in rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(HEADER))]
    rule = tuple("-" * width for width in widths)
    return [_aligned(line, widths) for line in (cells[0], rule, *cells[1:])]


def _cells(subject: str, row: Row) -> tuple[str, ...]:
    ratio = "" if row.ratio is None else f"{row.ratio:.2f}x"
    return subject, row.name, _number(row.figure), row.unit, ratio, row.reference, row.limit


def _number(figure: float) -> str:
    if figure == 0 or abs(figure) >= 100:
        return f"{figure:,.0f}"
    return f"{figure:.1f}" if abs(figure) >= 10 else f"{figure:.3g}"


def _aligned(line: Sequence[str], widths: Sequence[int]) -> str:
    padded = (
        cell.rjust(width) if column in _RIGHT else cell.ljust(width)
        for column, (cell, width) in enumerate(zip(line, widths, strict=True))
    )
    return "  ".join(padded).rstrip()
