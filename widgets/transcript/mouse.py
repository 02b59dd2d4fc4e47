"""Mouse actions in the transcript: scrolling, opening, following links, selecting words, lines and ranges."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import events
from textual.geometry import Offset
from textual.message import Message
from textual.selection import Selection
from textual.widget import Widget

from widgets.editor.key_dispatch import consume
from widgets.transcript import messages
from widgets.transcript.blocks import CardBlock, CustomBlock, map_in
from widgets.transcript.column import Column, RowInSight
from widgets.transcript.keyboard import Keyboard
from widgets.transcript.overlay import Overlay
from widgets.transcript.pointing import (
    Link,
    TextPlace,
    link_at,
    name_at,
    place_at,
    selection_between,
    selection_in_block,
    word_at,
)
from widgets.transcript.viewport import Viewport

if TYPE_CHECKING:
    from widgets.transcript.item import Item


class Mouse:
    """Handles mouse events of the transcript."""

    def __init__(
        self, widget: Widget, column: Column, viewport: Viewport, overlay: Overlay, keyboard: Keyboard
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

    def take(self, event: events.Event) -> None:
        match event:
            case events.MouseScrollUp():
                self._wheel(event, -1)
            case events.MouseScrollDown():
                self._wheel(event, 1)
            case events.MouseDown():
                self._pressed_at = Offset(event.x, event.y)
                self._selected_before = self._widget.text_selection
            case events.MouseMove():
                self._move(event)
            case events.Leave():
                self._hover(None)
            case events.Click():
                self._click(event)

    def _wheel(self, event: events.MouseEvent, direction: int) -> None:
        consume(event)
        row = self._viewport.row_at(event.y)
        if event.shift and row is not None:
            self._keyboard.scroll_sideways(row.item, direction)
        else:
            self._viewport.scroll_by(direction * self.wheel_rows)

    def _move(self, event: events.MouseMove) -> None:
        row = self._viewport.row_at(event.y)
        is_inside = event.x < self._viewport.width and not event.button
        if is_inside and row is not None and row.leaf is not None:
            self._hover(link_at(row.leaf, row.row, event.x))
        else:
            self._hover(None)

    def _hover(self, link: Link | None) -> None:
        if link != self._overlay.hovered:
            self._overlay.hovered = link
            self._viewport.repaint()

    def _click(self, event: events.Click) -> None:
        consume(event)
        viewport = self._viewport
        row = viewport.row_at(event.y)
        was_dragged = Offset(event.x, event.y) != self._pressed_at
        if event.shift and not was_dragged:
            self._select_to(event)
            return
        if event.chain > 1:
            self._select(event)
            return
        if (event.ctrl or event.meta) and event.button == 1 and not was_dragged:
            self._go_to_definition(event)
            return
        if was_dragged or event.button != 1 or row is None:
            return
        self._clicked = self._place(event)
        if viewport.new_below and event.y == viewport.height - 1 and event.x >= viewport.width - 16:
            self._keyboard.go_end()
        elif row.leaf is not None:
            self._act(row, event.x)
        elif isinstance(row.item.block, CardBlock | CustomBlock) and row.item.extent(self._column.expansion):
            self._viewport.toggle(row.item)  # its line was here before it was opened

    def _act(self, row: RowInSight, x: int) -> None:
        """Runs the action at a cell of a row, or opens the link there."""
        leaf, item = row.leaf, row.item
        assert leaf is not None
        if (link := link_at(leaf, row.row, x)) is not None:
            self._post(messages.LinkChosen(link.address))
            return
        action, _, argument = leaf.link.partition(" ")
        match action:
            case "toggle":
                self._viewport.toggle(item)
            case "retry":
                self._post(messages.RetryRequested(item.block.id))
            case "full":
                self._keyboard.show_whole(item)
            case "symbol":
                self._choose_symbol(item, int(argument))

    def _choose_symbol(self, item: Item, number: int) -> None:
        outline = map_in(item.block)
        if outline is not None and number < len(outline.symbols):
            symbol = outline.symbols[number]
            self._post(messages.SymbolChosen(outline.path, symbol.first_line, symbol.last_line))

    # -- selecting -----------------------------------------------------------------------------------------

    def _place(self, event: events.Click) -> TextPlace:
        return place_at(self._column, self._viewport.rows, event.x, event.y)

    def _select_to(self, event: events.Click) -> None:
        """Moves the nearer end of the selection here, or selects from the last click."""
        here = self._place(event)
        if (before := self._selected_before) is not None and before.start and before.end:
            start, end = TextPlace(before.start.y, before.start.x), TextPlace(before.end.y, before.end.x - 1)
            other = end if here < start else start
        elif self._clicked is not None:
            other = self._clicked
        else:
            return
        self._set_selection(selection_between(other, here))

    def _go_to_definition(self, event: events.Click) -> None:
        """Requests the definition of the word under the pointer."""
        place = self._place(event)
        if place.block < len(self._column):
            text = self._column.items[place.block].text(self._column.expansion)
            word = name_at(text, place.offset)
            if word:
                self._post(messages.NamesRequested(word, uses=False))

    def _select(self, event: events.Click) -> None:
        """Selects a word with two clicks, the paragraph or line of code with three."""
        place = self._place(event)
        if place.block >= len(self._column):
            return
        text = self._column.items[place.block].text(self._column.expansion)
        if event.chain == 2:
            start, end = word_at(text, min(place.offset, len(text)))
        else:
            start = text.rfind("\n", 0, place.offset) + 1
            end = text.find("\n", place.offset)
            end = end if end >= 0 else len(text)
        self._set_selection(selection_in_block(place.block, start, end))

    def _set_selection(self, selection: Selection) -> None:
        self._widget.screen.selections = {self._widget: selection}
        self._post(events.TextSelected())

    def _post(self, message: Message) -> None:
        self._widget.post_message(message)
