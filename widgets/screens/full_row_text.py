"""Shows the full text of a list's current row below the list if some row is cut."""

from widgets.lists.list_rows import ListRow
from widgets.lists.row_list import RowList, find_truncated_row_texts
from widgets.row_builder import RIGHT_MARGIN_CELLS
from widgets.screens.preview_pane import Preview, PreviewParagraph, PreviewText, count_preview_rows

ROW_TEXT_SCREEN_DIVISOR = 8
"""The text takes at most one eighth of the height."""
ROOMY_SCREEN_MIN_ROWS = 16
"""Rows of a terminal from which the text is shown, with a blank row above it."""


class FullRowTextPane(Preview):
    """A pane below a list with the full text of the current row. It has as many rows as the longest cut text needs, so
    that the list does not move, and is hidden if no row is cut."""

    def reserve_rows(self, rows: RowList, *, is_told: bool) -> None:
        """Sets the pane's height for the rows of the list. `is_told`: a preview already shows the full text, so the
        pane is hidden."""
        width, height = self.app.size
        if is_told or height < ROOMY_SCREEN_MIN_ROWS:
            self.display = False
            return
        choices = (item.row for item in rows.visible_rows if not item.row.is_heading)
        needs = max(
            (
                count_preview_rows(told, width)
                for row in choices
                if (told := _cut_text(rows, row, width)).parts
            ),
            default=0,
        )
        self.display = needs > 0
        self.styles.height = max(1, min(needs, height // ROW_TEXT_SCREEN_DIVISOR))
        self.styles.margin = (1, 0, 0, 0)
        self.show_row(rows)

    def show_row(self, rows: RowList) -> None:
        """Shows the full text of the list's current row in the pane."""
        if self.display:
            self.show(_cut_text(rows, rows.current, self.app.size.width) if rows.current else PreviewText())


def _cut_text(rows: RowList, row: ListRow, width: int) -> PreviewText:
    return PreviewText(
        parts=tuple(
            PreviewParagraph(text=text, tone="muted")
            for text in find_truncated_row_texts(rows, row, width - RIGHT_MARGIN_CELLS)
        )
    )
