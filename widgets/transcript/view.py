"""The transcript: a single widget that draws every message with the line API, however long the
session is.

The application calls its methods and handles its messages. Parts: `column` (the blocks),
`viewport` (the visible rows), `painter`, `keyboard`, `mouse`, `finder` (search),
`streamed_blocks`. `leaves` draws blocks."""

import time
from collections.abc import Callable, Iterable
from typing import ClassVar

from textual import events, on
from textual.binding import BindingType
from textual.geometry import Region
from textual.scroll_view import ScrollView
from textual.scrollbar import ScrollBar
from textual.selection import Selection
from textual.strip import Strip

from widgets import textual_internals as textual_inside
from widgets.transcript import messages
from widgets.transcript.block_expansion import AutoOpenCardsSetting, BlockExtent, open_state_to_extent
from widgets.transcript.block_items import make_reply_item, make_transcript_items
from widgets.transcript.block_stack import BlockStack
from widgets.transcript.markdown.diagram import DiagramSetting
from widgets.transcript.painting.scrollbar import MarkedScrollBar, ScrollBarUpdater
from widgets.transcript.painting.style_lookup import COMPONENT_NAMES, CurrentStyles
from widgets.transcript.painting.transcript_painter import Painter
from widgets.transcript.row_marks import RowMarks
from widgets.transcript.searching.finder import Finder
from widgets.transcript.streamed_blocks import StreamedBlocks
from widgets.transcript.text_under_pointer import selected_text
from widgets.transcript.transcript_blocks import (
    Block,
    CustomBlock,
    FailureToShow,
    ReplyBlock,
    ReplyState,
    ToolCallBlock,
)
from widgets.transcript.transcript_keyboard import KEYS, TranscriptKeyboard
from widgets.transcript.transcript_mouse import Mouse
from widgets.transcript.transcript_viewport import Viewport


class Transcript(ScrollView, can_focus=True):
    """The widget that shows the conversation of a session."""

    BINDINGS: ClassVar[list[BindingType]] = KEYS.bindings
    COMPONENT_CLASSES: ClassVar[set[str]] = set(COMPONENT_NAMES)
    DEFAULT_CSS = "Transcript { overflow-x: hidden; overflow-y: scroll; }"
    FOCUS_ON_CLICK: ClassVar[bool] = False

    CopyRequested = messages.CopyRequested
    BranchRequested = messages.BranchRequested
    FullScreenRequested = messages.FullScreenRequested
    SymbolChosen = messages.SymbolChosen
    SymbolsRequested = messages.SymbolsRequested
    RetryRequested = messages.RetryRequested
    LinkChosen = messages.LinkChosen
    ActionChosen = messages.ActionChosen
    SuggestionChosen = messages.SuggestionChosen
    NamesRequested = messages.NamesRequested
    PromptsMoved = messages.PromptsMoved
    FocusModeChanged = messages.FocusModeChanged
    SearchChanged = messages.SearchChanged

    def __init__(
        self,
        *,
        clock: Callable[[], float] = time.monotonic,
        keyboard: type[TranscriptKeyboard] = TranscriptKeyboard,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        super().__init__(id=id, classes=classes)
        self.column = BlockStack()
        self.overlay = RowMarks()
        look = CurrentStyles(self)
        thumb = ScrollBarUpdater(self, self.column, self.overlay.search, look)
        self.viewport = Viewport(self, self.column, self.overlay, thumb)
        self.painter = Painter(self, self.column, self.viewport, self.overlay, look)
        self.finder = Finder(self.column, self.viewport, self.overlay.search, thumb, self.post_message)
        self.keyboard = keyboard(self, self.column, self.viewport, self.overlay, self.finder)
        self.mouse = Mouse(self, self.column, self.viewport, self.overlay, self.keyboard)
        self.arriving = StreamedBlocks(self, self.column, self.viewport, self.painter, clock)

    # -- calls ---------------------------------------------------------------------------------------------

    def add(self, block: Block) -> None:
        """Adds a block at the end of the transcript, or updates the block with the same id."""
        item = self.column.find(block.id)
        if item is not None:
            self.arriving.update_block(item, block)
            return
        item = make_transcript_items([block])[0]
        if isinstance(block, ToolCallBlock | CustomBlock):
            self.arriving.prepare_highlighter()
        self.column.append(item)
        self.viewport.block_added(item)

    def begin_reply(self, block_id: str) -> None:
        if self.column.find(block_id) is None:
            item = make_reply_item(block_id)
            self.arriving.begin_reply(item)
            self.column.append(item)
            self.viewport.block_added(item)

    def append_text(self, block_id: str, delta: str) -> None:
        """Appends received Markdown to a reply; it is drawn in the next frame."""
        self.arriving.append_delta(block_id, "prose", delta)

    def append_thinking(self, block_id: str, delta: str) -> None:
        self.arriving.append_delta(block_id, "thinking", delta)

    def finish_reply(
        self, block_id: str, state: ReplyState = ReplyState.DONE, *, failure: FailureToShow | None = None
    ) -> None:
        self.arriving.finish_reply(block_id, state, failure)

    def replace_all(self, blocks: Iterable[Block]) -> None:
        """Shows another conversation, scrolled to its end. Blocks with the same id that the user opened stay open."""
        self.arriving.forget_all()
        opened = {item.block.id: item.expanded for item in self.column.items if item.expanded is not None}
        items = make_transcript_items(blocks)
        for item in items:
            item.expanded = opened.get(item.block.id)
        if items:
            self.arriving.prepare_highlighter()
        self._clear_focus_and_selection()
        self.column.replace(items)
        self.viewport.follow_end()

    def remove_block(self, block_id: str) -> None:
        index = self.column.index_of(block_id)
        if index is not None:
            self.arriving.forget(block_id)
            anchor = self.viewport.remember_place()
            self._clear_focus_and_selection()
            self.column.remove(index)
            self.viewport.restore_anchor(anchor)

    def find_block(self, block_id: str) -> Block | None:
        """Returns the current value of the block with this id; None if there is none."""
        item = self.column.find(block_id)
        return item.current_block() if item is not None else None

    @property
    def last_block(self) -> Block | None:
        return self.column.items[-1].block if self.column.items else None

    def open_all(self, *, tools: BlockExtent | bool | None = None, thinking: bool | None = None) -> None:
        """Opens or closes all tool cards, all thinking, or both, including blocks that the user opened or closed. When
        tools are closed, cards that open by default still do."""
        anchor = self.viewport.remember_place()
        old = self.column.expansion
        wanted = None if tools is None else open_state_to_extent(tools)
        self.column.expansion = old._replace(
            tools=old.tools if wanted is None else wanted or None,
            thinking=old.thinking if thinking is None else thinking,
        )
        for item in self.column.items:
            is_reply = isinstance(item.block, ReplyBlock)
            if tools is not None and item.burst is not None:
                item.burst.is_open = False
            if (thinking if is_reply else tools) is not None:
                item.expanded = None if is_reply or wanted else BlockExtent.CLOSED
        self.column.estimate_heights()
        self.viewport.restore_anchor(anchor)

    def set_display_options(self, *, cards: AutoOpenCardsSetting, diagrams: DiagramSetting) -> None:
        """Sets which cards open automatically and when diagrams are drawn."""
        old = self.column.expansion
        new = old._replace(cards=cards, diagrams=diagrams)
        if new == old:
            return
        anchor = self.viewport.remember_place()
        self.column.expansion = new
        for item in self.column.items:
            item.invalidate_layout()
        self.column.estimate_heights()
        self.viewport.restore_anchor(anchor)

    def toggle(self, block_id: str) -> None:
        """Opens or closes the block with this id; the rows above it do not move."""
        item = self.column.find(block_id)
        if item is not None:
            self.viewport.toggle(item)

    def _clear_focus_and_selection(self) -> None:
        """Removes the focus and the selection, which refer to positions in the old blocks."""
        self.overlay.cursor = ""
        if self.is_attached and self in self.screen.selections:
            self.screen.clear_selection()

    # -- rendering for Textual -----------------------------------------------------------------------------

    @property
    def vertical_scrollbar(self) -> ScrollBar:
        return textual_inside.vertical_scrollbar(self, lambda cells: MarkedScrollBar(thickness=cells))

    def render_lines(self, crop: Region) -> list[Strip]:
        return self.painter.paint_region(crop)

    def render_line(self, y: int) -> Strip:
        return self.painter.line_with_positions(y)

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        return selected_text(self.column, selection), "\n"

    # -- events of Textual ---------------------------------------------------------------------------------

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        self.viewport.note_scrolled(old_value, new_value)

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self.painter.drop_painted_rows()

    def selection_updated(self, selection: Selection | None) -> None:
        del selection
        self.viewport.repaint()

    def action_do(self, id: str) -> object:
        """Runs the entry of the transcript's key table with this id."""
        return KEYS.run_key_action(id, self.keyboard)

    @on(events.Mount)
    @on(events.Focus)
    @on(events.Blur)
    def _on_lifecycle_event(self, event: events.Event) -> None:
        match event:
            case events.Mount():
                self.arriving.on_mounted()
            case events.Focus():
                self.keyboard.begin()
            case _:
                self.keyboard.end()

    @on(events.MouseScrollUp)
    @on(events.MouseScrollDown)
    @on(events.MouseDown)
    @on(events.MouseMove)
    @on(events.Leave)
    @on(events.Click)
    def _on_mouse_event(self, event: events.Event) -> None:
        self.mouse.handle_event(event)
