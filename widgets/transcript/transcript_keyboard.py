"""What the keys of the transcript do: scrolling, moving between blocks, copying. The mouse is in `mouse`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.widget import Widget

from widgets.key_table import KeyTable, KeyTableRow
from widgets.transcript import messages
from widgets.transcript.block_expansion import BlockExtent
from widgets.transcript.block_stack import BlockStack
from widgets.transcript.leaves.code_leaf import CodeLeaf
from widgets.transcript.row_marks import RowMarks
from widgets.transcript.searching.finder import Finder
from widgets.transcript.text_under_pointer import selected_text
from widgets.transcript.transcript_blocks import (
    CustomBlock,
    ToolCallBlock,
    UserPromptBlock,
    file_map_of_block,
)
from widgets.transcript.transcript_viewport import Viewport

if TYPE_CHECKING:
    from widgets.transcript.block_item import BlockItem

SIDEWAYS_SCROLL_CELLS = 8


class TranscriptKeyboard:
    """Carries out the keys of the transcript, in focus mode on the block that has the focus."""

    def __init__(
        self, widget: Widget, column: BlockStack, viewport: Viewport, overlay: RowMarks, finder: Finder
    ) -> None:
        self.widget = widget
        """The widget that posts the messages."""
        self.column = column
        self.viewport = viewport
        self.finder = finder
        self._overlay = overlay
        self._code_number = 0

    # -- moving --------------------------------------------------------------------------------------------

    def page(self, direction: int) -> None:
        self.viewport.scroll_by(direction * max(1, self.viewport.height - 2))

    def go_home(self) -> None:
        viewport = self.viewport
        if self.column.heights.total > viewport.height:
            viewport.set_following(False)
            viewport.set_size_and_position(self.column.measure_visible(0, viewport.height))
        if self.cursor and (rows := viewport.rows):
            self._set_cursor(rows[0].item.block.id)

    def go_end(self) -> None:
        self.viewport.follow_end()
        if self.cursor and self.column.items:
            self._set_cursor(self.column.items[-1].block.id)

    def prompt(self, direction: int) -> None:
        """Scrolls so that the previous or next prompt of the user is at the top; after the last one to the end."""
        column, items = self.column, self.column.items
        prompts = [index for index, item in enumerate(items) if isinstance(item.block, UserPromptBlock)]
        y = self.viewport.top
        tops = {index: column.heights.top_of_block(index) + items[index].gap for index in prompts}
        if direction < 0:
            found = max((index for index in prompts if tops[index] < y), default=None)
        else:
            found = min((index for index in prompts if tops[index] > y), default=None)
        if found is not None:
            column.measure(found)
            top = column.heights.top_of_block(found) + items[found].gap
            self.viewport.scroll_to_top_row(column.measure_visible(top, self.viewport.height))
            if self.cursor:
                self._set_cursor(items[found].block.id)
        elif direction > 0:
            self.go_end()

    # -- focus mode ----------------------------------------------------------------------------------------

    @property
    def cursor(self) -> str:
        """The id of the block that has the keyboard focus; empty outside of focus mode."""
        return self._overlay.cursor

    @property
    def item(self) -> BlockItem | None:
        return self.column.find(self.cursor) if self.cursor else None

    def begin(self) -> None:
        """Enters focus mode, in which keys act on a block, at the last visible block."""
        rows = [row for row in self.viewport.rows if row.leaf is not None]
        if rows:
            self._set_cursor(rows[-1].item.block.id)
        self.widget.post_message(messages.FocusModeChanged(is_on=True))

    def end(self) -> None:
        """Leaves focus mode, in which keys act on a block."""
        self._set_cursor("")

    def leave(self) -> None:
        """Ends the search in the transcript; without one asks the page to leave focus mode."""
        if self.finder.is_on:
            self.finder.end_search()
        else:
            self.widget.post_message(messages.FocusModeChanged(is_on=False))

    def _set_cursor(self, block_id: str) -> None:
        if block_id != self.cursor:
            self._overlay.cursor = block_id
            self._code_number = 0
            self.viewport.repaint()

    def move(self, direction: int) -> None:
        """Moves the focus to the next or previous block; through a block higher than the view it scrolls by rows
        first."""
        column, viewport = self.column, self.viewport
        index = column.index_of(self.cursor)
        if index is None:
            self.begin()
            return
        top, height = column.heights.top_of_block(index), column.measure(index)
        y, room = viewport.top, viewport.height
        if direction > 0 and top + height > y + room:
            viewport.scroll_by(min(room - 2, top + height - y - room))
            return
        if direction < 0 and top + column.items[index].gap < y:
            viewport.scroll_by(-min(room - 2, y - top))
            return
        target = index + direction
        while 0 <= target < len(column) and not column.measure(target):
            target += direction
        if 0 <= target < len(column):
            self._set_cursor(column.items[target].block.id)
            self._scroll_into_view(target, from_below=direction < 0)

    def _scroll_into_view(self, index: int, *, from_below: bool) -> None:
        top, height = self.column.heights.top_of_block(index), self.column.measure(index)
        y, room = self.viewport.top, self.viewport.height
        if top >= y and top + height <= y + room:
            return
        if height > room:
            wanted = top + height - room if from_below else top + self.column.items[index].gap
        else:
            wanted = top if top < y else top + height - room
        self.viewport.scroll_to(y, max(0, wanted))

    # -- copying and acting --------------------------------------------------------------------------------

    def copy_block(self) -> None:
        if item := self.item:
            from widgets.transcript.block_item import text_to_copy  # noqa: PLC0415  (came with the first block)

            expansion = self.column.expansion
            if isinstance(item.block, UserPromptBlock):  # it may be folded
                self.copy(item.block.text, "block")
                return
            self.copy(text_to_copy(item, expansion, 0, len(item.text(expansion))), "block")

    def copy_block_source(self) -> None:
        if item := self.item:
            from widgets.transcript.leaves.block_texts import raw_text  # noqa: PLC0415  (came with the first block)

            text = item.live.text if item.live is not None else raw_text(item.block)
            self.copy(text, "source")

    def copy_code(self) -> None:
        """Copies a code fence of the focused block; pressed again, the next one."""
        item = self.item
        fences = [leaf for leaf in (item.leaves or ()) if isinstance(leaf, CodeLeaf)] if item else []
        if fences:
            number = self._code_number % len(fences)
            self._code_number += 1
            self.copy(fences[number].plain, f"code block {number + 1} of {len(fences)}")

    def copy(self, text: str, what: str) -> None:
        self.widget.post_message(messages.CopyRequested(text, what))

    def selected_text(self) -> str:
        selection = self.widget.text_selection
        return selected_text(self.column, selection) if selection is not None else ""

    def toggle(self) -> None:
        if item := self.item:
            self.viewport.toggle(item)

    def request_block_action(self, kind: type[messages.BranchRequested | messages.RetryRequested]) -> None:
        """Posts a message that asks the application to branch or retry at the focused block."""
        if item := self.item:
            self.widget.post_message(kind(item.block.id))

    def enter(self) -> None:
        """Opens what the focused block is about: a closed card or a folded prompt in place, the symbols of a file map,
        any other block on a separate screen."""
        item = self.item
        if item is None:
            return
        is_folding = isinstance(item.block, ToolCallBlock | CustomBlock | UserPromptBlock)
        outline = file_map_of_block(item.block)
        if outline is not None and outline.symbols:
            self.widget.post_message(messages.SymbolsRequested(outline))
        elif (
            is_folding
            and item.can_expand
            and item.current_extent(self.column.expansion) <= BlockExtent.RESULT
        ):
            self.viewport.toggle(item)
        else:
            self.show_whole(item)

    def show_whole(self, item: BlockItem) -> None:
        self.widget.post_message(messages.FullScreenRequested(item.block.id))

    def scroll_focused_block_sideways(self, direction: int) -> None:
        if item := self.item:
            self.scroll_sideways(item, direction)

    def scroll_sideways(self, item: BlockItem, direction: int) -> None:
        for leaf in item.leaves or ():
            leaf.scroll_sideways(direction * SIDEWAYS_SCROLL_CELLS)
        self.viewport.repaint()


def request_name_lookup(keyboard: TranscriptKeyboard, *, uses: bool) -> None:
    """Posts a message that asks where the names in the selected text, or else in the focused block, are defined or
    used."""
    item = keyboard.item
    text = keyboard.selected_text() or (item.text(keyboard.column.expansion) if item is not None else "")
    if text:
        keyboard.widget.post_message(messages.NamesRequested(text, uses=uses))


KEYS: KeyTable[TranscriptKeyboard] = KeyTable(
    KeyTableRow("transcript.page-up", "pageup", "Scroll a page up", lambda keyboard: keyboard.page(-1)),
    KeyTableRow("transcript.page-down", "pagedown", "Scroll a page down", lambda keyboard: keyboard.page(1)),
    KeyTableRow("transcript.home", "home,g", "Go to the start", TranscriptKeyboard.go_home),
    KeyTableRow("transcript.end", "end,G", "Go to the end", TranscriptKeyboard.go_end),
    KeyTableRow(
        "transcript.previous-prompt", "ctrl+up", "Previous prompt", lambda keyboard: keyboard.prompt(-1)
    ),
    KeyTableRow("transcript.next-prompt", "ctrl+down", "Next prompt", lambda keyboard: keyboard.prompt(1)),
    KeyTableRow("transcript.next-block", "j,down", "Next block", lambda keyboard: keyboard.move(1)),
    KeyTableRow("transcript.previous-block", "k,up", "Previous block", lambda keyboard: keyboard.move(-1)),
    KeyTableRow("transcript.copy-block", "y", "Copy the block", TranscriptKeyboard.copy_block),
    KeyTableRow("transcript.copy-code", "c", "Copy the block's code", TranscriptKeyboard.copy_code),
    KeyTableRow(
        "transcript.copy-raw", "r", "Copy the block as Markdown", TranscriptKeyboard.copy_block_source
    ),
    KeyTableRow(
        "transcript.toggle-block", "o,space", "Expand or collapse the block", TranscriptKeyboard.toggle
    ),
    KeyTableRow(
        "transcript.branch",
        "e",
        "Edit a prompt, or branch from here",
        lambda keyboard: keyboard.request_block_action(messages.BranchRequested),
    ),
    KeyTableRow(
        "transcript.definition",
        "d",
        "Go to a name's definition",
        lambda keyboard: request_name_lookup(keyboard, uses=False),
    ),
    KeyTableRow(
        "transcript.uses",
        "u",
        "Find the uses of a name",
        lambda keyboard: request_name_lookup(keyboard, uses=True),
    ),
    KeyTableRow("transcript.full-screen", "enter", "Show the block in full screen", TranscriptKeyboard.enter),
    KeyTableRow(
        "transcript.retry",
        "R",
        "Send the failed request again",
        lambda keyboard: keyboard.request_block_action(messages.RetryRequested),
    ),
    KeyTableRow(
        "transcript.next-hit", "n", "Next match of the search", lambda keyboard: keyboard.finder.step(1)
    ),
    KeyTableRow(
        "transcript.previous-hit",
        "N",
        "Previous match of the search",
        lambda keyboard: keyboard.finder.step(-1),
    ),
    KeyTableRow(
        "transcript.scroll-left",
        "h,left",
        "Scroll a wide block left",
        lambda keyboard: keyboard.scroll_focused_block_sideways(-1),
    ),
    KeyTableRow(
        "transcript.scroll-right",
        "l,right",
        "Scroll a wide block right",
        lambda keyboard: keyboard.scroll_focused_block_sideways(1),
    ),
    KeyTableRow("transcript.leave", "escape", "Back to the editor", lambda keyboard: keyboard.leave()),
)
"""The keys; `lambda` calls methods that subclasses override."""
