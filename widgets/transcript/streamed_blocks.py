"""Applies streamed content to the transcript once per frame: replies that are being received and cards of running
calls."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from textual.widget import Widget

from widgets.transcript.block_items import make_transcript_items
from widgets.transcript.block_stack import BlockStack
from widgets.transcript.painting.transcript_painter import Painter
from widgets.transcript.transcript_blocks import (
    Block,
    CardState,
    CustomBlock,
    FailureToShow,
    ReplyState,
    ToolCallBlock,
)
from widgets.transcript.transcript_viewport import Viewport

if TYPE_CHECKING:
    from widgets.transcript.block_item import BlockItem
    from widgets.transcript.markdown.live_reply import ReplyPartKind

FRAME_SECONDS = 1 / 30
MIN_PAUSE_FACTOR = 5
"""After a frame that took t, the next waits at least this factor times t, so streaming uses a
fifth of a core."""


class StreamedBlocks:
    """Collects the streamed content of a transcript and applies it once per frame."""

    def __init__(
        self,
        widget: Widget,
        column: BlockStack,
        viewport: Viewport,
        painter: Painter,
        clock: Callable[[], float],
    ) -> None:
        self._widget = widget
        self._column = column
        self._viewport = viewport
        self._painter = painter
        self._clock = clock
        """The clock that measures how long thinking takes."""
        self._frame: asyncio.TimerHandle | None = None
        self._expects_code = False
        self._last_frame = 0.0
        self._frame_cost = 0.0
        self._streaming_items: dict[str, BlockItem] = {}
        self._pending_cards: dict[str, Block] = {}
        """New values of running cards, applied in the next frame."""

    def on_mounted(self) -> None:
        """Called when the transcript is mounted: loads the syntax highlighter if code is expected."""
        if self._expects_code:
            self._widget.call_after_refresh(_load_highlighter)

    def prepare_highlighter(self) -> None:
        """Loads the syntax highlighter, which is large, once there is content that may contain code."""
        if not self._expects_code:
            self._expects_code = True
            if self._widget.is_attached:
                self._widget.call_after_refresh(_load_highlighter)

    def begin_reply(self, item: BlockItem) -> None:
        self._streaming_items[item.block.id] = item

    def append_delta(self, block_id: str, sort: ReplyPartKind, delta: str) -> None:
        """Stores a received piece of a reply's text or thinking; it is drawn in the next frame."""
        item = self._streaming_items.get(block_id)
        if item is None or item.live is None or not delta:
            return
        if "`" in delta:
            self.prepare_highlighter()
        item.live.append(sort, delta)
        self._request_frame()

    def finish_reply(self, block_id: str, state: ReplyState, failure: FailureToShow | None) -> None:
        item = self._streaming_items.pop(block_id, None)
        if item is None:
            return

        def finish() -> None:
            item.finish_streaming(state, failure, self._clock(), self._column.expansion)
            if (index := self._column.index_of(block_id)) is not None:
                self._column.update_blank_row_above(index + 1)

        self._viewport.change_item(item, finish)

    def update_block(self, item: BlockItem, block: Block) -> None:
        """Replaces a block of the transcript by a newer value: at once, or in the next frame if the new value only
        extends the old one."""
        if item.live is not None:
            return
        if _only_extends(item.block, block):
            self._pending_cards[block.id] = block
            self._request_frame()
            return
        self._pending_cards.pop(block.id, None)
        self._viewport.change_item(item, lambda: item.replace_block(block))

    def prepend_blocks(self, blocks: Iterable[Block]) -> None:
        """Inserts earlier blocks above the transcript's first one; the visible rows do not move."""
        anchor = self._viewport.remember_place()
        self._column.prepend(make_transcript_items(blocks))
        self._viewport.restore_anchor(anchor)

    def forget(self, block_id: str) -> None:
        self._streaming_items.pop(block_id, None)
        self._pending_cards.pop(block_id, None)

    def forget_all(self) -> None:
        self._streaming_items.clear()
        self._pending_cards.clear()

    def flush(self) -> None:
        """Applies all streamed content now that would wait for the next frame."""
        if self._frame is not None:
            self._frame.cancel()
            self._frame = None
        while self._has_waiting():
            self._apply_pending()

    # -- frames --------------------------------------------------------------------------------------------

    def _has_waiting(self) -> bool:
        return bool(self._pending_cards) or any(
            item.live is not None and item.live.is_waiting for item in self._streaming_items.values()
        )

    def _request_frame(self) -> None:
        if self._frame is None:
            gap = max(FRAME_SECONDS, MIN_PAUSE_FACTOR * self._frame_cost)
            delay = max(0.001, self._last_frame + gap - time.monotonic())
            self._frame = asyncio.get_running_loop().call_later(delay, self._draw_frame)

    def _draw_frame(self) -> None:
        self._frame = None
        if not self._widget.is_attached:
            return
        self._last_frame = time.monotonic()
        began = time.thread_time()
        self._apply_pending()
        cost = time.thread_time() - began + self._painter.cost
        self._painter.cost = 0.0
        self._frame_cost = 0.5 * self._frame_cost + 0.5 * cost
        if self._has_waiting():
            self._request_frame()

    def _apply_pending(self) -> None:
        progress, self._pending_cards = self._pending_cards, {}
        for block_id, block in progress.items():
            if (card := self._column.find(block_id)) is not None:
                self._viewport.change_item(card, lambda card=card, block=block: card.replace_block(block))
        for item in list(self._streaming_items.values()):
            if item.live is not None and item.live.is_waiting:
                item.live.add_waiting_deltas(self._clock())
                if self._column.width > 0:
                    self._draw_grown_item(item)

    def _draw_grown_item(self, item: BlockItem) -> None:
        column, viewport = self._column, self._viewport
        index = column.index_of(item.block.id)
        if index is None:
            return
        before, above = column.heights[index], viewport.blank_rows
        height = item.measure(column.width, column.expansion)
        column.heights.set(index, height)
        y = viewport.top
        end = max(0, column.heights.total - viewport.height)
        if viewport.is_following and end != y:
            viewport.set_size_and_position(end)
            return
        top = column.heights.top_of_block(index)
        if not viewport.is_following:
            if top + before <= y:
                viewport.set_size_and_position(y + height - before)
                return
            if not viewport.new_below and top + height > y + viewport.height:
                viewport.new_below = 1
        viewport.update_total()
        self._painter.repaint_changed(0 if viewport.blank_rows != above else max(0, top - y + above))


def _only_extends(old: Block, new: Block) -> bool:
    """Returns whether a running call's new card only continues the old one, so that it can wait for the next frame."""
    return (
        isinstance(old, ToolCallBlock | CustomBlock)
        and isinstance(new, ToolCallBlock | CustomBlock)
        and old.state is new.state
        and new.state in (CardState.PENDING, CardState.RUNNING)
        and len(new.card.blocks) == len(old.card.blocks)
        and bool(new.card.blocks)
    )


def _load_highlighter() -> None:
    """Imports the syntax highlighter in a thread, so that the first code fence does not delay a frame."""
    from widgets.transcript.leaves import highlight  # noqa: PLC0415  (what is warmed up is not there before)

    asyncio.get_running_loop().run_in_executor(None, highlight.load_pygments)
