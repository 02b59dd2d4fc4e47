"""The visible rows of a transcript: they follow the end, or stay in place when heights change. `painter` paints
them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.widget import Widget

from widgets import textual_internals as textual_inside
from widgets.transcript import messages
from widgets.transcript.block_stack import (
    ABOVE_ALL_BLOCKS,
    BlockStack,
    LocatedTranscriptRow,
    ScrollAnchor,
    first_row_of_block,
    prompts_in_view,
    refresh_block_in_stack,
)
from widgets.transcript.painting.scrollbar import ScrollBarUpdater
from widgets.transcript.row_marks import RowMarks
from widgets.transcript.transcript_blocks import AppNoteBlock

if TYPE_CHECKING:
    from widgets.transcript.block_item import BlockItem


_MIN_ROWS_BELOW_FIRST_PAGE = 3
"""The first page is in the middle of the rows in low terminals; in others a third of the free rows is below it."""


class Viewport:
    """The scroll position and visible rows of a transcript."""

    def __init__(
        self,
        widget: ScrollView,
        column: BlockStack,
        overlay: RowMarks,
        thumb: ScrollBarUpdater,
    ) -> None:
        self._widget = widget
        self._column = column
        self._overlay = overlay
        self._scroll_bar = thumb
        self.is_following = True
        self._covered_rows = 0
        self.new_below = 0
        """The number of blocks added since the view left the end."""
        self.prompts: tuple[str, ...] = ()
        """The user's prompts that begin in the visible rows."""
        self._is_setting = False
        self._rows: list[LocatedTranscriptRow] = []
        self._rows_key: tuple[int, int, int] | None = None
        self._version = 0
        textual_inside.watch_widget_size(widget, self._keep_place_on_resize)

    # -- position ------------------------------------------------------------------------------------------

    @property
    def width(self) -> int:
        """The width of transcript rows in cells, without the scroll bar."""
        return max(4, self._widget.size.width - self._widget.styles.scrollbar_size_vertical)

    @property
    def text_width(self) -> int:
        """The width for text, without the column of air before the scroll bar."""
        return max(3, self.width - 1)

    @property
    def height(self) -> int:
        return self._widget.size.height

    @property
    def top(self) -> int:
        """The index of the first visible row of the transcript."""
        return self._widget.scroll_offset.y

    @property
    def rows(self) -> list[LocatedTranscriptRow]:
        """The rows of the transcript that are visible now; a new list object only if they changed."""
        key = (self._version, self.top, self.height)
        if key != self._rows_key:
            rows = self._column.rows(self.top, self.height)
            above = self.blank_rows
            self._rows = (
                [LocatedTranscriptRow(self._column.items[0], None, ABOVE_ALL_BLOCKS)] * above + rows
                if above
                else rows
            )
            self._rows_key = key
        return self._rows

    @property
    def blank_rows(self) -> int:
        """The number of blank rows above a first page that does not fill the view; a conversation begins at the top."""
        missing = self.height - self._column.heights.total
        if missing <= 0 or not self._shows_first_page():
            return 0
        least = min(missing // 2, max(_MIN_ROWS_BELOW_FIRST_PAGE, missing // 3))
        return max(0, missing - max(least, self._covered_rows))

    def _shows_first_page(self) -> bool:
        """Returns whether there is a first page, with nothing but messages of bayou around it."""
        blocks = [item.block for item in self._column.items]
        return any(isinstance(block, AppNoteBlock) and block.is_centred for block in blocks) and all(
            isinstance(block, AppNoteBlock) for block in blocks
        )

    def lift_above(self, covered_rows: int) -> None:
        """Moves a first page up if something covers this number of rows at the lower end of the view."""
        if covered_rows != self._covered_rows:
            self._covered_rows = covered_rows
            self.repaint()

    def row_at(self, y: int) -> LocatedTranscriptRow | None:
        rows = self.rows
        return rows[y] if 0 <= y < len(rows) else None

    # -- keeping the position ------------------------------------------------------------------------------

    def _keep_place_on_resize(self) -> Callable[[bool], None]:
        anchor = self.remember_place()

        def resized(has_changed: bool) -> None:
            self._scroll_bar.forget_shown()  # the scroll bar has old numbers
            if self._widget.size.width and self.text_width != self._column.width:
                self._column.resize(self.text_width)
                self.restore_anchor(anchor)
            elif has_changed and self._column.width > 0:
                self.restore_anchor(anchor)

        return resized

    def remember_place(self) -> ScrollAnchor | None:
        """Returns an anchor for the first visible row, to restore the scroll position; None while the view follows the
        end."""
        return None if self.is_following else self._column.remember_position(self.top)

    def restore_anchor(self, anchor: ScrollAnchor | None) -> None:
        """Scrolls so that an anchor's row is at the top again after heights changed; without an anchor to the end if
        the view follows it."""
        if self._column.width <= 0:
            return
        if anchor is None and self.is_following:
            self.jump_to_end()
        elif anchor is None:  # nothing was visible that could stay in place
            self.set_size_and_position(self._column.measure_visible(0, self.height))
        else:
            self.set_size_and_position(
                self._column.measure_visible(self._column.position_of(anchor), self.height)
            )

    def change_item(self, item: BlockItem, change: Callable[[], None]) -> None:
        """Runs a change of a block and updates its height, while the view stays in place or at the end."""
        index = self._column.index_of(item.block.id)
        if index is None:
            change()
            return
        if self._column.width <= 0:  # not visible yet
            change()
            refresh_block_in_stack(self._column, index)
            return
        anchor = self.remember_place()
        change()
        refresh_block_in_stack(self._column, index)
        self.restore_anchor(anchor)

    def toggle(self, item: BlockItem) -> None:
        """Opens or closes a block. Its first line stays where it is if there are enough rows above."""
        index = self._column.index_of(item.block.id)
        if not item.can_expand or index is None:
            return
        if self._column.width <= 0:
            self.change_item(item, lambda: item.toggle(self._column.expansion))
            return
        anchor, row = (
            self._column.remember_position(self.top),
            first_row_of_block(self._column, index) - self.top,
        )
        item.toggle(self._column.expansion)
        refresh_block_in_stack(self._column, index)
        if row < 0:
            self.restore_anchor(anchor)
        else:
            self.set_size_and_position(
                self._column.measure_visible(
                    max(0, first_row_of_block(self._column, index) - row), self.height
                )
            )
        self.set_following(self.top >= self._column.heights.total - self.height)

    def block_added(self, item: BlockItem) -> None:
        """Updates the view after a block was added at the end: scrolls to it if the view follows the end, otherwise
        counts it as new."""
        if self._column.width <= 0:
            return
        if self.is_following:
            self.jump_to_end()
        else:
            self.new_below += 1
            self.set_size_and_position(self.top)

    # -- moving --------------------------------------------------------------------------------------------

    def set_following(self, is_following: bool) -> None:
        if is_following:
            self.new_below = 0
        self.is_following = is_following

    def follow_end(self) -> None:
        """Scrolls to the end and follows it from now on, for example after a prompt was sent."""
        self.set_following(True)
        self.jump_to_end()

    def jump_to_end(self) -> None:
        if self._column.width > 0:
            self.set_size_and_position(self._column.measure_last_screen(self.height))

    def set_size_and_position(self, y: int) -> None:
        """Sets the total height and the scroll position without laying out the screen, and repaints."""
        widget = self._widget
        y = max(0, min(y, self._column.heights.total - self.height))
        self._overlay.hovered = None
        self._is_setting = True
        self._set_total()
        if widget.scroll_y != y or widget.scroll_target_y != y:
            # Without a layout of the screen, and without notifying watchers of these attributes.
            widget.set_reactive(Widget.scroll_y, float(y))  # pyright: ignore[reportArgumentType]
            widget.set_reactive(Widget.scroll_target_y, float(y))  # pyright: ignore[reportArgumentType]
        self._is_setting = False
        self._scroll_bar.update_if_moved()
        self.repaint()
        prompts = prompts_in_view(self._column, self.top, self.height)
        if prompts != self.prompts:
            self.prompts = prompts
            widget.post_message(messages.PromptsMoved(prompts))

    def update_total(self) -> None:
        """Sets the total height after content below the view changed."""
        self._set_total()
        self._scroll_bar.update_if_moved()

    def _set_total(self) -> None:
        size = Size(self._column.width, self._column.heights.total)
        if size != self._widget.virtual_size:
            self._widget.set_reactive(Widget.virtual_size, size)  # pyright: ignore[reportArgumentType]

    def note_scrolled(self, old: float, new: float) -> None:
        """Called when Textual itself scrolled (by the scroll bar, or after a layout): scrolls the transcript there."""
        if not self._is_setting and self._column.width > 0:
            self.scroll_to(round(old), round(new))

    def scroll_to(self, old: int, y: int) -> None:
        """Scrolls to a row: exactly if it is near the old position, else by estimated heights. At the end it follows
        the end."""
        height = self.height
        if y >= max(0, self._column.heights.total - height):
            self.follow_end()
            return
        self.set_following(False)
        if abs(y - old) <= 2 * height:
            y = self._column.position_after_scroll(old, y - old, height)
        else:
            y = self._column.measure_visible(y, height)
        self.set_size_and_position(y)

    def scroll_by(self, rows: int) -> None:
        """Scrolls the transcript by some rows, without animation."""
        y = self.top
        if rows < 0 and y > 0:
            self.scroll_to(y, max(0, y + rows))
        elif rows > 0:
            self.scroll_to(y, y + rows)

    def scroll_to_top_row(self, y: int) -> None:
        """Scrolls so that a row with an exact position is at the top; at the end the view follows the end."""
        self.set_following(y >= self._column.heights.total - self.height)
        self.set_size_and_position(y)

    # -- painting ------------------------------------------------------------------------------------------

    def invalidate_rows(self) -> None:
        """Marks the visible rows as outdated, so that they are computed again."""
        self._version += 1

    def invalidate_all(self) -> None:
        """Marks the visible rows and the scroll bar's marks as outdated, so that they are computed again."""
        self._scroll_bar.forget_shown()
        self.invalidate_rows()

    def repaint(self) -> None:
        """Repaints all visible rows of the transcript, also after a change of the marks over them."""
        self.invalidate_rows()
        self._widget.refresh(self._widget.size.region)
