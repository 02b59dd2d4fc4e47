"""Shows the full text of a list's current row below the list if some row is cut."""

from widgets.line import RIGHT_MARGIN
from widgets.lists.row_list import RowList, find_cut_texts
from widgets.lists.rows import ListRow
from widgets.screens.preview import Preview, PreviewPart, PreviewText, count_rows

SCREEN_SHARE = 8
"""The text takes at most one eighth of the height."""
ROOMY_MIN_ROWS = 16
"""Rows of a terminal from which the text is shown, with a blank row above it."""


class FullRowText(Preview):
    """A pane below a list with the full text of the current row. It has as many rows as the longest cut text needs, so
    that the list does not move, and is hidden if no row is cut."""

    def reserve_rows(self, rows: RowList, *, is_told: bool) -> None:
        """Sets the pane's height for the rows of the list. `is_told`: a preview already shows the full text, so the
        pane is hidden."""
        width, height = self.app.size
        if is_told or height < ROOMY_MIN_ROWS:
            self.display = False
            return
        choices = (item.row for item in rows.visible_rows if not item.row.is_heading)
        needs = max(
            (count_rows(told, width) for row in choices if (told := _cut_text(rows, row, width)).parts),
            default=0,
        )
        self.display = needs > 0
        self.styles.height = max(1, min(needs, height // SCREEN_SHARE))
        self.styles.margin = (1, 0, 0, 0)
        self.show_row(rows)

    def show_row(self, rows: RowList) -> None:
        """Shows the full text of the list's current row in the pane."""
        if self.display:
            self.show(_cut_text(rows, rows.current, self.app.size.width) if rows.current else PreviewText())


def _cut_text(rows: RowList, row: ListRow, width: int) -> PreviewText:
    return PreviewText(
        parts=tuple(
            PreviewPart(text=text, tone="muted") for text in find_cut_texts(rows, row, width - RIGHT_MARGIN)
        )
    )
