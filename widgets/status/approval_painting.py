"""Paints the rows of an approval card with the styles of the theme; `approval_rows` says what is in them."""

from collections.abc import Callable

from rich.style import Style
from textual.strip import Strip

from widgets.readable_styles import make_style_readable, selected_row_style
from widgets.row_builder import RowBuilder
from widgets.status.approval_rows import DIFF_STYLE_PREFIX, StyledApprovalRow

APPROVAL_CARD_COMPONENT_CLASS_NAMES = frozenset(
    f"approval--{name}"
    for name in (
        "head",
        "head-floor",
        "mark",
        "mark-floor",
        "title",
        "text",
        "muted",
        "key",
        "current",
        "added",
        "removed",
        "danger",
        "warning",
    )
)
"""The component classes of the rows, besides those of diffs."""

GetStyleByName = Callable[[str], Style]


def paint_approval_row(
    row: StyledApprovalRow,
    line: RowBuilder,
    component_style: GetStyleByName,
    diff_style: GetStyleByName,
    *,
    is_head: bool,
    is_dangerous: bool,
) -> Strip:
    """Paints one row of the approval card with the styles of the theme; the answer at the cursor has its own
    background."""
    danger = "-floor" if is_dangerous else ""
    if is_head:
        line.base = component_style(f"approval--head{danger}")

    def on_ground(name: str) -> Style:
        return make_style_readable(component_style(f"approval--{name}") + Style(bgcolor=line.base.bgcolor))

    line.add("▌ ", on_ground(f"mark{danger}"))
    current = component_style("approval--current") if row[0][0] == "current" else None
    for name, text in row:
        key = name.removeprefix(DIFF_STYLE_PREFIX)
        style = on_ground(name) if key == name else diff_style(key)
        line.add(text, style if current is None else selected_row_style(style, current))
    if current is not None:  # to the edge, as in every list
        line.base = selected_row_style(line.base, current)
    return line.strip()
