"""Reading with the keyboard: moving, focusing blocks, copying, searching. The mouse is in `mouse`."""

from typing import ClassVar

from textual.binding import Binding, BindingType

from widgets.transcript import drawing, messages
from widgets.transcript.blocks import CardBlock, CustomBlock, ReplyBlock, UserBlock, map_in
from widgets.transcript.code import CodeLeaf
from widgets.transcript.column import Anchor
from widgets.transcript.item import Item
from widgets.transcript.search import BadPattern, Hit
from widgets.transcript.viewport import Viewport

SIDEWAYS = 8


class Reading(Viewport):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("pageup", "page(-1)", "Page up", id="transcript.page-up", show=False),
        Binding("pagedown", "page(1)", "Page down", id="transcript.page-down", show=False),
        Binding("home,g", "go_home", "Start", id="transcript.home", show=False),
        Binding("end,G", "go_end", "End", id="transcript.end", show=False),
        Binding("ctrl+up", "prompt(-1)", "Previous prompt", id="transcript.previous-prompt", show=False),
        Binding("ctrl+down", "prompt(1)", "Next prompt", id="transcript.next-prompt", show=False),
        Binding("j,down", "move(1)", "Next block", id="transcript.next-block"),
        Binding("k,up", "move(-1)", "Previous block", id="transcript.previous-block"),
        Binding("y", "copy_block", "Copy", id="transcript.copy-block"),
        Binding("c", "copy_code", "Copy code", id="transcript.copy-code"),
        Binding("r", "copy_raw", "Copy Markdown", id="transcript.copy-raw"),
        Binding("o,space", "toggle_block", "Open/close", id="transcript.toggle-block"),
        Binding("e", "branch", "Edit from here", id="transcript.branch"),
        Binding("enter", "full_screen", "Full screen", id="transcript.full-screen"),
        Binding("R", "retry", "Try again", id="transcript.retry", show=False),
        Binding("n", "next_hit(1)", "Next hit", id="transcript.next-hit", show=False),
        Binding("N", "next_hit(-1)", "Previous hit", id="transcript.previous-hit", show=False),
        Binding("h,left", "sideways(-1)", "Scroll left", id="transcript.scroll-left", show=False),
        Binding("l,right", "sideways(1)", "Scroll right", id="transcript.scroll-right", show=False),
        Binding("escape", "leave", "Back", id="transcript.leave"),
    ]

    _code_number = 0
    _search_began = False
    _search_from: Anchor | None = None
    """None: it began at the end, which was followed."""

    def toggle(self, block_id: str) -> None:
        raise NotImplementedError

    # -- moving --------------------------------------------------------------------------------------------

    def action_page(self, direction: int) -> None:
        self.scroll_by(direction * max(1, self.size.height - 2))

    def action_go_home(self) -> None:
        if self.column.total > self.size.height:
            self.set_following(False)
            self.commit(self.column.settle(0, self.size.height))
        self._move_cursor_into_view()

    def action_go_end(self) -> None:
        self.set_following(True)
        self.go_to_end()
        if self.cursor and self.column.items:
            self._set_cursor(self.column.items[-1].block.id)

    def action_prompt(self, direction: int) -> None:
        """To the previous or next prompt: it comes to stand at the top."""
        items = self.column.items
        prompts = [index for index, item in enumerate(items) if isinstance(item.block, UserBlock)]
        y = self.scroll_offset.y
        tops = {index: self.column.heights.top(index) + items[index].gap for index in prompts}
        if direction < 0:
            found = max((index for index in prompts if tops[index] < y), default=None)
        else:
            found = min((index for index in prompts if tops[index] > y), default=None)
        if found is not None:
            self._show_at_top(found)
        elif direction > 0:
            self.action_go_end()

    def _show_at_top(self, index: int) -> None:
        self.column.measure(index)
        y = self.column.heights.top(index) + self.column.items[index].gap
        y = self.column.settle(y, self.size.height)
        self.set_following(y >= self.column.total - self.size.height)
        self.commit(y)
        if self.cursor:
            self._set_cursor(self.column.items[index].block.id)

    # -- focus mode ----------------------------------------------------------------------------------------

    def on_focus(self) -> None:
        rows = [row for row in self.visible_rows() if row.leaf is not None]
        if rows:
            self._set_cursor(rows[-1].item.block.id)
        self.post_message(messages.FocusModeChanged(is_on=True))

    def on_blur(self) -> None:
        self._set_cursor("")

    def _set_cursor(self, block_id: str) -> None:
        if block_id != self.cursor:
            self.cursor = block_id
            self._code_number = 0
            self.repaint()

    @property
    def focused_item(self) -> Item | None:
        return self.column.find(self.cursor) if self.cursor else None

    def _move_cursor_into_view(self) -> None:
        if self.cursor and (rows := self.visible_rows()):
            self._set_cursor(rows[0].item.block.id)

    def action_move(self, direction: int) -> None:
        """To the next block; through one that is higher than the view, row by row."""
        index = self.column.index_of(self.cursor)
        if index is None:
            self.on_focus()
            return
        top, height = self.column.heights.top(index), self.column.measure(index)
        y, room = self.scroll_offset.y, self.size.height
        if direction > 0 and top + height > y + room:
            self.scroll_by(min(room - 2, top + height - y - room))
            return
        if direction < 0 and top + self.column.items[index].gap < y:
            self.scroll_by(-min(room - 2, y - top))
            return
        target = index + direction
        while 0 <= target < len(self.column) and not self.column.measure(target):
            target += direction
        if 0 <= target < len(self.column):
            self._set_cursor(self.column.items[target].block.id)
            self._bring_into_view(target, from_below=direction < 0)

    def _bring_into_view(self, index: int, *, from_below: bool) -> None:
        top, height = self.column.heights.top(index), self.column.measure(index)
        y, room = self.scroll_offset.y, self.size.height
        if top >= y and top + height <= y + room:
            return
        if height > room:
            wanted = top + height - room if from_below else top + self.column.items[index].gap
        else:
            wanted = top if top < y else top + height - room
        self.scroll_rows_to(y, max(0, wanted))

    def action_leave(self) -> None:
        if self.search_state.is_on:
            self.end_search()
        else:
            self.post_message(messages.FocusModeChanged(is_on=False))

    # -- copying and acting --------------------------------------------------------------------------------

    def action_copy_block(self) -> None:
        if item := self.focused_item:
            self._copy(item.text(self.column.expansion), "block")

    def action_copy_raw(self) -> None:
        if item := self.focused_item:
            text = item.live.text if item.live is not None else drawing.raw_text(item.block)
            self._copy(text, "source")

    def action_copy_code(self) -> None:
        """Copy the block's next fence."""
        item = self.focused_item
        fences = [leaf for leaf in (item.leaves or ()) if isinstance(leaf, CodeLeaf)] if item else []
        if fences:
            number = self._code_number % len(fences)
            self._code_number += 1
            self._copy(fences[number].plain, f"code block {number + 1} of {len(fences)}")

    def copy_last_answer(self) -> None:
        """Ask for the last answer to be copied, as Markdown."""
        for item in reversed(self.column.items):
            if isinstance(item.block, ReplyBlock):
                text = item.live.prose if item.live is not None else drawing.raw_text(item.block)
                if text.strip():
                    self._copy(text, "last answer")
                    return

    def _copy(self, text: str, what: str) -> None:
        self.post_message(messages.CopyRequested(text, what))

    def selected_text(self) -> str:
        selection = self.text_selection
        return (self.get_selection(selection) or ("",))[0] if selection is not None else ""

    def action_toggle_block(self) -> None:
        if item := self.focused_item:
            self.toggle(item.block.id)

    def action_branch(self) -> None:
        if item := self.focused_item:
            self.post_message(messages.BranchRequested(item.block.id))

    def action_full_screen(self) -> None:
        """Open a card that is closed; of a file map, its symbols to choose from; else the whole of the block."""
        item = self.focused_item
        if item is None:
            return
        is_card = isinstance(item.block, CardBlock | CustomBlock)
        outline = map_in(item.block)
        if outline is not None and outline.symbols:
            self.post_message(messages.SymbolsRequested(outline))
        elif is_card and item.can_expand and not item.is_open(self.column.expansion):
            self.toggle(item.block.id)
        else:
            self._full_screen(item)

    def _full_screen(self, item: Item) -> None:
        self.post_message(messages.FullScreenRequested(item.block.id))

    def action_retry(self) -> None:
        if item := self.focused_item:
            self.post_message(messages.RetryRequested(item.block.id))

    def action_sideways(self, direction: int) -> None:
        if item := self.focused_item:
            self._scroll_sideways(item, direction)

    def _scroll_sideways(self, item: Item, direction: int) -> None:
        for leaf in item.leaves or ():
            leaf.scroll_sideways(direction * SIDEWAYS)
        self.repaint()

    # -- searching -----------------------------------------------------------------------------------------

    def begin_search(self) -> None:
        """Remember the place: each further key of a query searches from there, and giving up returns to it."""
        self._search_began = True
        self._search_from = self.remember_place()

    def cancel_search(self) -> None:
        self._go_back()
        self.end_search()

    def _go_back(self) -> None:
        if self._search_began:
            self.set_following(self._search_from is None)
            self.restore(self._search_from)

    def search(self, query: str) -> None:
        """Look for a query in the whole conversation and show the first hit from here on, else the last one."""
        self._go_back()
        problem = ""
        try:
            self.search_state.start(query, self.column.items)
        except BadPattern as error:
            problem = str(error)
        if not problem and self.search_state.found:
            self.action_next_hit(1)
        else:
            self.repaint()
            self._tell_search(problem)

    def end_search(self) -> None:
        """Stay where the search has led."""
        self._search_began = False
        self.search_state.clear()
        self.sync_scrollbar()
        self.repaint()
        self._tell_search()

    def action_next_hit(self, direction: int) -> None:
        if not self.search_state.is_on:
            return
        self.search_state.update(self.column.items)
        at = self.column.heights.find(self.scroll_offset.y)
        hit = self.search_state.step(direction, self.column.items, at)
        if hit is not None:
            self._show_hit(hit)
        self._tell_search()

    def _tell_search(self, problem: str = "") -> None:
        state = self.search_state
        self.post_message(messages.SearchChanged(state.count, state.place, problem))

    def _show_hit(self, hit: Hit) -> None:
        index = self.column.index_of(hit.block_id)
        if index is None or self.column.width <= 0:
            return
        item = self.column.items[index]
        expansion = self.column.expansion
        self.column.measure(index)
        if (
            item.can_expand
            and not item.is_open(expansion)
            and hit.number >= len(self.search_state.spans(item, expansion))
        ):
            item.toggle(expansion)
            self.column.measure(index)
        row = self._row_of_hit(item, hit.number)
        y = self.column.heights.top(index) + row
        room = self.size.height
        if not self.scroll_offset.y <= y < self.scroll_offset.y + room - 1:
            place = self.column.shift(self.column.heights.top(index), row - room // 3, room)
            self.set_following(place >= self.column.total - room)
            self.commit(place)
        else:
            self.set_following(self.scroll_offset.y >= self.column.total - room)
            self.commit(self.scroll_offset.y)

    def _row_of_hit(self, item: Item, number: int) -> int:
        spans = self.search_state.spans(item, self.column.expansion)
        if not spans or not item.leaves:
            return item.gap
        start = spans[min(number, len(spans) - 1)][0]
        found = max((i for i, base in enumerate(item.bases) if base <= start), default=0)
        leaf = item.leaves[found]
        return item.top_of(leaf) + leaf.row_at(start - item.bases[found])
