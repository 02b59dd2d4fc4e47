"""What the mouse does: the wheel, opening, following links, and selecting words, lines and ranges."""

from textual import events
from textual.geometry import Offset
from textual.selection import Selection

from widgets.transcript import messages
from widgets.transcript.blocks import map_in
from widgets.transcript.column import Row
from widgets.transcript.item import Item
from widgets.transcript.pointing import Link, Place, between, link_at, place_at, span, word_at
from widgets.transcript.reading import Reading


class Pointing(Reading):
    wheel_rows = 3
    """How far a step of the wheel goes."""
    _pressed_at = Offset(-1, -1)
    _selected_before: Selection | None = None
    """What was selected when the button went down: letting it go without a move clears it."""
    _clicked: Place | None = None
    """Where a click with Shift selects from, if nothing is selected."""

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        self._wheel(event, -1)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        self._wheel(event, 1)

    def _wheel(self, event: events.MouseEvent, direction: int) -> None:
        event.stop()
        event.prevent_default()
        row = self._row_at(event.y)
        if event.shift and row is not None:
            self._scroll_sideways(row.item, direction)
        else:
            self.scroll_by(direction * self.wheel_rows)

    def on_mouse_down(self, event: events.MouseDown) -> None:
        self._pressed_at = Offset(event.x, event.y)
        self._selected_before = self.text_selection

    def on_mouse_move(self, event: events.MouseMove) -> None:
        row = self._row_at(event.y)
        is_inside = (
            row is not None and row.leaf is not None and event.x < self.text_width and not event.button
        )
        found = link_at(row.leaf, row.row, event.x) if is_inside and row is not None and row.leaf else None
        self._hover(found)

    def on_leave(self) -> None:
        self._hover(None)

    def _hover(self, link: Link | None) -> None:
        if link != self.hovered:
            self.hovered = link
            self.repaint()

    def on_click(self, event: events.Click) -> None:
        event.prevent_default()
        event.stop()
        row = self._row_at(event.y)
        was_dragged = Offset(event.x, event.y) != self._pressed_at
        if event.shift and not was_dragged:
            self._select_to(event)
            return
        if event.chain > 1:
            self._select(event)
            return
        if was_dragged or event.button != 1 or row is None:
            return
        self._clicked = place_at(self.column, self.visible_rows(), event.x, event.y)
        if self.new_below and event.y == self.size.height - 1 and event.x >= self.text_width - 16:
            self.action_go_end()
        elif row.leaf is not None:
            self._click(row, event.x)

    def _row_at(self, y: int) -> Row | None:
        rows = self.visible_rows()
        return rows[y] if 0 <= y < len(rows) else None

    def _click(self, row: Row, x: int) -> None:
        leaf, item = row.leaf, row.item
        assert leaf is not None
        if (link := link_at(leaf, row.row, x)) is not None:
            self.post_message(messages.LinkChosen(link.address))
            return
        action, _, argument = leaf.link.partition(" ")
        match action:
            case "toggle":
                self.toggle(item.block.id)
            case "retry":
                self.post_message(messages.RetryRequested(item.block.id))
            case "full":
                self._full_screen(item)
            case "symbol":
                self._choose_symbol(item, int(argument))

    def _choose_symbol(self, item: Item, number: int) -> None:
        outline = map_in(item.block)
        if outline is not None and number < len(outline.symbols):
            symbol = outline.symbols[number]
            self.post_message(messages.SymbolChosen(outline.path, symbol.first_line, symbol.last_line))

    def _select_to(self, event: events.Click) -> None:
        """Move the nearer end of the selection here, or select from the last click on."""
        here = place_at(self.column, self.visible_rows(), event.x, event.y)
        if (before := self._selected_before) is not None and before.start and before.end:
            start, end = Place(before.start.y, before.start.x), Place(before.end.y, before.end.x - 1)
            other = end if here < start else start
        elif self._clicked is not None:
            other = self._clicked
        else:
            return
        self.screen.selections = {self: between(other, here)}
        self.post_message(events.TextSelected())

    def _select(self, event: events.Click) -> None:
        """Two clicks select a word, three the paragraph or line of code."""
        place = place_at(self.column, self.visible_rows(), event.x, event.y)
        if place.block >= len(self.column):
            return
        text = self.column.items[place.block].text(self.column.expansion)
        if event.chain == 2:
            start, end = word_at(text, min(place.offset, len(text)))
        else:
            start = text.rfind("\n", 0, place.offset) + 1
            end = text.find("\n", place.offset)
            end = end if end >= 0 else len(text)
        self.screen.selections = {self: span(place.block, start, end)}
        self.post_message(events.TextSelected())
