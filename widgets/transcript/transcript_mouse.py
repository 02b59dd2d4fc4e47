"""What the mouse does in the transcript: scrolling, opening, following links, selecting words, lines and ranges."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import events
from textual.geometry import Offset
from textual.message import Message
from textual.selection import Selection
from textual.widget import Widget

from widgets.editor.key_dispatch import stop_key_event
from widgets.transcript import messages
from widgets.transcript.block_stack import ABOVE_ALL_BLOCKS, BlockStack, LocatedTranscriptRow
from widgets.transcript.leaves.layout_leaf import ACTION_LINK_URL_PREFIX
from widgets.transcript.row_marks import RowMarks
from widgets.transcript.text_under_pointer import (
    Link,
    TextPlace,
    link_at,
    name_at,
    place_at,
    selection_between,
    selection_in_block,
    word_at,
)
from widgets.transcript.transcript_blocks import (
    AppNoteBlock,
    CustomBlock,
    FirstPageRow,
    ToolCallBlock,
    file_map_of_block,
)
from widgets.transcript.transcript_keyboard import TranscriptKeyboard
from widgets.transcript.transcript_viewport import Viewport

if TYPE_CHECKING:
    from widgets.transcript.block_item import BlockItem


class Mouse:
    """Handles mouse events of the transcript: clicks, selection, scrolling, and links."""

    def __init__(
        self,
        widget: Widget,
        column: BlockStack,
        viewport: Viewport,
        overlay: RowMarks,
        keyboard: TranscriptKeyboard,
    ) -> None:
        self._widget = widget
        self._column = column
        self._viewport = viewport
        self._overlay = overlay
        self._keyboard = keyboard
        self.wheel_rows = 3
        """The number of rows that a step of the wheel scrolls."""
        self._pressed_at = Offset(-1, -1)
        self._selected_before: Selection | None = None
        """The selection when the button was pressed; releasing it without a move clears the selection."""
        self._clicked: TextPlace | None = None
        """The position from which a click with Shift selects, if nothing is selected."""

    def handle_event(self, event: events.Event) -> None:
        match event:
            case events.MouseScrollUp():
                self._scroll_by_wheel(event, -1)
            case events.MouseScrollDown():
                self._scroll_by_wheel(event, 1)
            case events.MouseDown():
                self._pressed_at = Offset(event.x, event.y)
                self._selected_before = self._widget.text_selection
            case events.MouseMove():
                self._handle_move(event)
            case events.Leave():
                self._set_hovered_link(None)
            case events.Click():
                self._handle_click(event)

    def _scroll_by_wheel(self, event: events.MouseEvent, direction: int) -> None:
        stop_key_event(event)
        row = self._viewport.row_at(event.y)
        if event.shift and row is not None:
            self._keyboard.scroll_sideways(row.item, direction)
        else:
            self._viewport.scroll_by(direction * self.wheel_rows)

    def _handle_move(self, event: events.MouseMove) -> None:
        row = self._viewport.row_at(event.y)
        is_inside = event.x < self._viewport.width and not event.button
        if is_inside and row is not None and row.leaf is not None:
            self._set_hovered_link(link_at(row.leaf, row.row, event.x))
        else:
            self._set_hovered_link(None)

    def _set_hovered_link(self, link: Link | None) -> None:
        if link != self._overlay.hovered:
            self._overlay.hovered = link
            self._viewport.repaint()

    def _handle_click(self, event: events.Click) -> None:
        stop_key_event(event)
        viewport = self._viewport
        row = viewport.row_at(event.y)
        was_dragged = Offset(event.x, event.y) != self._pressed_at
        if event.shift and not was_dragged:
            self._extend_selection(event)
            return
        if event.chain > 1:
            self._select_word_or_line(event)
            return
        if (event.ctrl or event.meta) and event.button == 1 and not was_dragged:
            self._go_to_definition(event)
            return
        if was_dragged or event.button != 1 or row is None:
            return
        self._clicked = self._text_place_at(event)
        if viewport.new_below and event.y == viewport.height - 1 and event.x >= viewport.width - 16:
            self._keyboard.go_end()
        elif row.leaf is not None:
            self._run_action_at(row, event.x)
        elif (
            row.row != ABOVE_ALL_BLOCKS
            and isinstance(row.item.block, ToolCallBlock | CustomBlock)
            and row.item.current_extent(self._column.expansion)
        ):
            self._viewport.toggle(row.item)  # its line was here before it was opened

    def _run_action_at(self, row: LocatedTranscriptRow, x: int) -> None:
        """Opens the link at a cell of a transcript row, or else runs the row's action, such as opening its card."""
        leaf, item = row.leaf, row.item
        assert leaf is not None
        if (link := link_at(leaf, row.row, x)) is not None:
            action = link.address.removeprefix(ACTION_LINK_URL_PREFIX)
            is_action = action != link.address
            self._post_message(
                messages.ActionChosen(action) if is_action else messages.LinkChosen(link.address)
            )
            return
        action, _, argument = leaf.link.partition(" ")
        match action:
            case "toggle":
                self._viewport.toggle(item)
            case "retry":
                self._post_message(messages.RetryRequested(item.block.id))
            case "full":
                self._keyboard.show_whole(item)
            case "row" if isinstance(item.block, AppNoteBlock):
                self._choose_page_row(item.block.rows[int(argument)])
            case "symbol":
                self._choose_symbol(item, int(argument))

    def _choose_page_row(self, chosen: FirstPageRow) -> None:
        is_action = bool(chosen.action)
        self._post_message(
            messages.ActionChosen(chosen.action) if is_action else messages.SuggestionChosen(chosen.sends)
        )

    def _choose_symbol(self, item: BlockItem, number: int) -> None:
        outline = file_map_of_block(item.block)
        if outline is not None and number < len(outline.symbols):
            symbol = outline.symbols[number]
            self._post_message(messages.SymbolChosen(outline.path, symbol.first_line, symbol.last_line))

    # -- selecting -----------------------------------------------------------------------------------------

    def _text_place_at(self, event: events.Click) -> TextPlace:
        return place_at(self._column, self._viewport.rows, event.x, event.y)

    def _extend_selection(self, event: events.Click) -> None:
        """Selects up to the clicked position (Shift and click): moves the nearer end of the selection, or starts at the
        last click."""
        here = self._text_place_at(event)
        if (before := self._selected_before) is not None and before.start and before.end:
            start, end = TextPlace(before.start.y, before.start.x), TextPlace(before.end.y, before.end.x - 1)
            other = end if here < start else start
        elif self._clicked is not None:
            other = self._clicked
        else:
            return
        self._set_selection(selection_between(other, here))

    def _go_to_definition(self, event: events.Click) -> None:
        """Posts a message that asks for the definition of the word under the pointer."""
        place = self._text_place_at(event)
        if place.block_index < len(self._column):
            text = self._column.items[place.block_index].text(self._column.expansion)
            word = name_at(text, place.offset)
            if word:
                self._post_message(messages.NamesRequested(word, uses=False))

    def _select_word_or_line(self, event: events.Click) -> None:
        """Selects the word at a double click, and the paragraph or line of code at a triple click."""
        place = self._text_place_at(event)
        if place.block_index >= len(self._column):
            return
        text = self._column.items[place.block_index].text(self._column.expansion)
        if event.chain == 2:
            start, end = word_at(text, min(place.offset, len(text)))
        else:
            start = text.rfind("\n", 0, place.offset) + 1
            end = text.find("\n", place.offset)
            end = end if end >= 0 else len(text)
        self._set_selection(selection_in_block(place.block_index, start, end))

    def _set_selection(self, selection: Selection) -> None:
        self._widget.screen.selections = {self._widget: selection}
        self._post_message(events.TextSelected())

    def _post_message(self, message: Message) -> None:
        self._widget.post_message(message)
