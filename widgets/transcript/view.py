"""The transcript: one widget that draws every message with the line API, however long the session is.

An application drives it by verbs and listens to its messages; this module has the verbs. Painting and scrolling are
in `viewport`, keys in `reading`, the mouse in `mouse`, what a block looks like in `drawing`.
"""

import asyncio
import time
from collections.abc import Callable, Iterable
from typing import ClassVar

from tools.results import Card
from widgets.transcript import highlight, messages
from widgets.transcript.blocks import (
    Block,
    CardBlock,
    CardState,
    CustomBlock,
    Failure,
    NoteBlock,
    NoteKind,
    ReplyBlock,
    ReplyState,
)
from widgets.transcript.item import Item, reply_placeholder
from widgets.transcript.live import Sort
from widgets.transcript.mouse import Pointing

FRAME = 1 / 30
SHARE = 5
"""A frame that cost t is followed by the next after at least this many t: streaming takes a fifth of a core."""


class Transcript(Pointing, can_focus=True):
    DEFAULT_CSS = "Transcript { overflow-x: hidden; overflow-y: scroll; }"
    FOCUS_ON_CLICK: ClassVar[bool] = False

    CopyRequested = messages.CopyRequested
    BranchRequested = messages.BranchRequested
    FullScreenRequested = messages.FullScreenRequested
    SymbolChosen = messages.SymbolChosen
    SymbolsRequested = messages.SymbolsRequested
    RetryRequested = messages.RetryRequested
    LinkChosen = messages.LinkChosen
    FocusModeChanged = messages.FocusModeChanged
    SearchChanged = messages.SearchChanged

    def __init__(
        self,
        *,
        clock: Callable[[], float] = time.monotonic,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        super().__init__(id=id, classes=classes)
        self._clock = clock
        """Tells how long thinking takes."""
        self._frame: asyncio.TimerHandle | None = None
        self._last_frame = 0.0
        self._frame_cost = 0.0
        self._live: dict[str, Item] = {}
        self._progress: dict[str, Block] = {}
        """Cards that are still at work, as they are to be shown in the next frame."""

    def on_mount(self) -> None:
        self.call_after_refresh(self._warm_up)

    def _warm_up(self) -> None:
        """Read the highlighter's modules beside the first frames, not in the frame of the first fence."""
        asyncio.get_running_loop().run_in_executor(None, highlight.warm_up)

    # -- verbs ---------------------------------------------------------------------------------------------

    def add(self, block: Block) -> None:
        """Show a block at the end, or another value of one that is shown already."""
        item = self.column.find(block.id)
        if item is None:
            self._append(Item(block))
        elif item.live is None:
            if _is_progress(item.block, block):
                self._progress[block.id] = block
                if self._frame is None:
                    self._schedule()
                return
            self._progress.pop(block.id, None)
            self._change(item, lambda: item.show(block))

    def begin_reply(self, block_id: str) -> None:
        if self.column.find(block_id) is None:
            item = Item(reply_placeholder(block_id), live=True)
            self._live[block_id] = item
            self._append(item)

    def append_text(self, block_id: str, delta: str) -> None:
        """More of a reply's Markdown. Costs nothing until the next frame."""
        self._append_delta(block_id, "prose", delta)

    def append_thinking(self, block_id: str, delta: str) -> None:
        self._append_delta(block_id, "thinking", delta)

    def finish_reply(
        self, block_id: str, state: ReplyState = ReplyState.DONE, *, failure: Failure | None = None
    ) -> None:
        item = self._live.pop(block_id, None)
        if item is None:
            return

        def finish() -> None:
            item.finish(state, failure, self._clock(), self.column.expansion)
            if (index := self.column.index_of(block_id)) is not None:
                self.column.refollow(index + 1)

        self._change(item, finish)

    def set_card(
        self,
        call_id: str,
        card: Card,
        state: CardState,
        *,
        timing: str = "",
    ) -> None:
        """Show a tool call as it stands now."""
        self.add(CardBlock(id=call_id, card=card, state=state, timing=timing))

    def add_note(
        self,
        block_id: str,
        text: str,
        kind: NoteKind = NoteKind.INFO,
        *,
        next_step: str = "",
    ) -> None:
        self.add(NoteBlock(id=block_id, text=text, kind=kind, next_step=next_step))

    def replace_all(self, blocks: Iterable[Block]) -> None:
        """Show another conversation, at its end. Blocks that were opened by hand stay open."""
        self._live.clear()
        self._progress.clear()
        opened = {item.block.id: item.expanded for item in self.column.items if item.expanded is not None}
        items = []
        for block in blocks:
            item = Item(block)
            item.expanded = opened.get(block.id)
            items.append(item)
        self._forget_places()
        self.column.replace(items)
        self.set_following(True)
        self.go_to_end()

    def remove_block(self, block_id: str) -> None:
        index = self.column.index_of(block_id)
        if index is not None:
            self._live.pop(block_id, None)
            self._progress.pop(block_id, None)
            anchor = self.remember_place()
            self._forget_places()
            self.column.remove(index)
            self.restore(anchor)

    def block(self, block_id: str) -> Block | None:
        """What is shown under an id, as it is now."""
        item = self.column.find(block_id)
        return item.as_it_is() if item is not None else None

    def follow(self) -> None:
        """Go to the end and stay there: for instance because something was sent."""
        self.set_following(True)
        self.go_to_end()

    @property
    def last_block(self) -> Block | None:
        return self.column.items[-1].block if self.column.items else None

    @property
    def tools_are_open(self) -> bool:
        return self.column.expansion.tools

    @property
    def thinking_is_open(self) -> bool:
        return self.column.expansion.thinking

    def expand_tools(self, is_open: bool) -> None:
        self._expand_all(is_open, replies=False)

    def expand_thinking(self, is_open: bool) -> None:
        self._expand_all(is_open, replies=True)

    def toggle(self, block_id: str) -> None:
        """Open or close one block; what is above it does not move."""
        item = self.column.find(block_id)
        if item is not None and item.can_expand:
            self._change(item, lambda: item.toggle(self.column.expansion), stays=True)

    def flush(self) -> None:
        """Draw everything that waits for its frame now."""
        if self._frame is not None:
            self._frame.cancel()
            self._frame = None
        while self._has_waiting():
            self._work_in()

    def dump_viewport(self) -> str:
        """What is on the screen, as text."""
        strips = self._paint_rows(0, self.size.height)
        lines = ["".join(segment.text for segment in strip).rstrip() for strip in strips]
        return "\n".join(lines).rstrip("\n")

    # -- changes -------------------------------------------------------------------------------------------

    def _append(self, item: Item) -> None:
        self.column.append(item)
        if self.column.width <= 0:
            return
        if self.is_following:
            self.go_to_end()
        else:
            self.new_below += 1
            self.commit(self.scroll_offset.y)

    def _change(self, item: Item, change: Callable[[], None], *, stays: bool = False) -> None:
        """Change a block; the view stays where it is, or at the end."""
        index = self.column.index_of(item.block.id)
        if self.column.width <= 0 or index is None:
            change()
            return
        anchor = self.column.anchor(self.scroll_offset.y) if stays else self.remember_place()
        change()
        self.column.measure(index)
        self.restore(anchor)
        if stays:
            self.set_following(self.scroll_offset.y >= self.column.total - self.size.height)

    def _expand_all(self, is_open: bool, *, replies: bool) -> None:
        anchor = self.remember_place()
        old = self.column.expansion
        self.column.expansion = old._replace(thinking=is_open) if replies else old._replace(tools=is_open)
        for item in self.column.items:
            if isinstance(item.block, ReplyBlock) is replies:
                item.expanded = None
        self.column.estimate()
        self.restore(anchor)

    def _forget_places(self) -> None:
        """What is bound to places in the column does not hold any more."""
        self.cursor = ""
        if self.is_attached and self in self.screen.selections:
            self.screen.clear_selection()

    # -- streaming -----------------------------------------------------------------------------------------

    def _append_delta(self, block_id: str, sort: Sort, delta: str) -> None:
        item = self._live.get(block_id)
        if item is None or item.live is None or not delta:
            return
        item.live.append(sort, delta)
        if self._frame is None:
            self._schedule()

    def _has_waiting(self) -> bool:
        return bool(self._progress) or any(
            item.live is not None and item.live.is_waiting for item in self._live.values()
        )

    def _schedule(self) -> None:
        gap = max(FRAME, SHARE * self._frame_cost)
        delay = max(0.001, self._last_frame + gap - time.monotonic())
        self._frame = asyncio.get_running_loop().call_later(delay, self._draw_frame)

    def _draw_frame(self) -> None:
        self._frame = None
        if not self.is_attached:
            return
        self._last_frame = time.monotonic()
        began = time.thread_time()
        self._work_in()
        cost = time.thread_time() - began + self.paint_cost
        self.paint_cost = 0.0
        self._frame_cost = 0.5 * self._frame_cost + 0.5 * cost
        if self._has_waiting():
            self._schedule()

    def _work_in(self) -> None:
        progress, self._progress = self._progress, {}
        for block_id, block in progress.items():
            if (card := self.column.find(block_id)) is not None:
                self._change(card, lambda card=card, block=block: card.show(block))
        for item in list(self._live.values()):
            if item.live is not None and item.live.is_waiting:
                item.live.work_in(self._clock())
                if self.column.width > 0:
                    self._grow(item)

    def _grow(self, item: Item) -> None:
        index = self.column.index_of(item.block.id)
        if index is None:
            return
        before = self.column.heights[index]
        height = item.measure(self.column.width, self.column.expansion)
        self.column.heights.set(index, height)
        y = self.scroll_offset.y
        end = max(0, self.column.total - self.size.height)
        if self.is_following and end != y:
            self.commit(end)
            return
        top = self.column.heights.top(index)
        if not self.is_following:
            if top + before <= y:
                self.commit(y + height - before)
                return
            if not self.new_below and top + height > y + self.size.height:
                self.new_below = 1
        self.set_total()
        self.sync_scrollbar()
        self.repaint_changed(max(0, top - y))


def _is_progress(old: Block, new: Block) -> bool:
    """Whether only more of the same has come: that can wait for the next frame, however often it does."""
    return (
        isinstance(old, CardBlock | CustomBlock)
        and isinstance(new, CardBlock | CustomBlock)
        and old.state is new.state
        and new.state in (CardState.PENDING, CardState.RUNNING)
        and len(new.card.blocks) == len(old.card.blocks)
        and bool(new.card.blocks)
    )
