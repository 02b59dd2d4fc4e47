"""The transcript: one widget that draws every message with the line API, however long the session is.

An application drives it by verbs and listens to its messages. What a block looks like is in `drawing`, where it
stands in `column`; this module owns the viewport: painting, following the tail, frames.
"""

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar

from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.scrollbar import ScrollBar
from textual.strip import Strip
from textual.widget import Widget

from tools.results import Card, ImageBlock
from widgets.transcript import messages
from widgets.transcript.blocks import (
    Block,
    CardBlock,
    CardState,
    CustomBlock,
    CustomKind,
    Failure,
    NoteBlock,
    NoteKind,
    ReplyState,
    UserBlock,
)
from widgets.transcript.column import Anchor, Column, Row
from widgets.transcript.item import Item, reply_placeholder
from widgets.transcript.look import COMPONENTS, Look
from widgets.transcript.paint import paint
from widgets.transcript.scrollbar import MarkedScrollBar

FRAME = 1 / 30
SHARE = 5
"""A frame that cost t is followed by the next after at least this many t: streaming takes a fifth of a core."""


class Transcript(ScrollView, can_focus=True):
    COMPONENT_CLASSES: ClassVar[set[str]] = set(COMPONENTS)
    DEFAULT_CSS = "Transcript { overflow-x: hidden; overflow-y: scroll; }"

    CopyRequested = messages.CopyRequested
    BranchRequested = messages.BranchRequested
    FullScreenRequested = messages.FullScreenRequested
    SymbolChosen = messages.SymbolChosen
    RetryRequested = messages.RetryRequested
    LinkChosen = messages.LinkChosen
    FocusModeChanged = messages.FocusModeChanged
    FollowChanged = messages.FollowChanged
    SearchChanged = messages.SearchChanged

    def __init__(
        self,
        *,
        clock: Callable[[], float] = time.monotonic,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        super().__init__(id=id, classes=classes)
        self.column = Column()
        self.is_following = True
        self.new_below = 0
        self._clock = clock
        self._look: Look | None = None
        self._rows: list[Row] = []
        self._rows_key: tuple[int, int, int] | None = None
        self._version = 0
        self._is_setting = False
        self._thumb: tuple[object, ...] = ()
        self._shown: list[Strip] = []
        self._frame: asyncio.TimerHandle | None = None
        self._last_frame = 0.0
        self._frame_cost = 0.0
        self._paint_cost = 0.0
        self._live: dict[str, Item] = {}

    # -- verbs: content ------------------------------------------------------------------------------------

    def add(self, block: Block) -> None:
        """Show a block at the end, or another value of one that is shown already."""
        item = self.column.find(block.id)
        if item is None:
            self._append(Item(block))
        else:
            self._change(item, lambda: item.show(block))

    def add_user(
        self, block_id: str, text: str, images: Sequence[ImageBlock] = (), *, note: str = ""
    ) -> None:
        self.add(UserBlock(id=block_id, text=text, images=tuple(images), note=note))

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
        if item is not None:
            self._change(item, lambda: item.finish(state, failure, self._clock(), self.column.expansion))

    def set_card(
        self,
        call_id: str,
        card: Card,
        state: CardState,
        *,
        timing: str = "",
        arguments: str = "",
        failure: Failure | None = None,
    ) -> None:
        """Show a tool call as it stands now."""
        self.add(
            CardBlock(id=call_id, card=card, state=state, timing=timing, arguments=arguments, failure=failure)
        )

    def add_note(
        self,
        block_id: str,
        text: str,
        kind: NoteKind = NoteKind.INFO,
        *,
        next_step: str = "",
        can_retry: bool = False,
    ) -> None:
        self.add(NoteBlock(id=block_id, text=text, kind=kind, next_step=next_step, can_retry=can_retry))

    def add_custom(
        self,
        block_id: str,
        kind: CustomKind,
        card: Card,
        *,
        state: CardState | None = None,
        timing: str = "",
        label: str = "",
    ) -> None:
        """A file map, a background job, a compaction: everything that is a card without being a tool call."""
        self.add(CustomBlock(id=block_id, kind=kind, card=card, state=state, timing=timing, label=label))

    def replace_all(self, blocks: Iterable[Block]) -> None:
        """Show another conversation, at its end."""
        self._live.clear()
        old = {item.block.id: item for item in self.column.items}
        items = []
        for block in blocks:
            item = Item(block)
            if block.id in old:
                item.expanded = old[block.id].expanded
            items.append(item)
        self.column.replace(items)
        self.clear_marks()
        self._follow(True)
        self._go_to_end()

    def clear(self) -> None:
        self.replace_all(())

    def remove_block(self, block_id: str) -> None:
        index = self.column.index_of(block_id)
        if index is None:
            return
        self._live.pop(block_id, None)
        anchor = self._anchor()
        self.column.remove(index)
        self.clear_marks()
        self._restore(anchor)

    def clear_marks(self) -> None:
        """Forget what is bound to places in the column."""
        if self.is_mounted and self in self.screen.selections:
            self.screen.clear_selection()

    # -- verbs: view ---------------------------------------------------------------------------------------

    def follow(self) -> None:
        """Go to the end and stay there: for instance because something was sent."""
        self._follow(True)
        self._go_to_end()

    def expand_tools(self, is_open: bool) -> None:
        self._expand_all(tools=is_open)

    def expand_thinking(self, is_open: bool) -> None:
        self._expand_all(thinking=is_open)

    def toggle(self, block_id: str) -> None:
        """Open or close one block."""
        item = self.column.find(block_id)
        if item is None or not item.can_expand:
            return

        def change() -> None:
            item.expanded = not item.is_open(self.column.expansion)
            item.drop()

        self._change(item, change, stays=True)

    def flush(self) -> None:
        """Draw everything that waits for its frame now."""
        if self._frame is not None:
            self._frame.cancel()
            self._frame = None
        while any(item.live is not None and item.live.is_waiting for item in self._live.values()):
            self._work_in()

    def dump_viewport(self) -> str:
        """What is on the screen, as text."""
        lines = [
            "".join(segment.text for segment in strip).rstrip()
            for strip in self._paint_rows(0, self.size.height)
        ]
        return "\n".join(lines).rstrip("\n")

    # -- changes -------------------------------------------------------------------------------------------

    def _append(self, item: Item) -> None:
        self.column.append(item)
        if self.column.width <= 0:
            return
        if self.is_following:
            self._go_to_end()
        else:
            self.new_below += 1
            self._commit(self.scroll_offset.y)

    def _change(self, item: Item, change: Callable[[], None], *, stays: bool = False) -> None:
        """Change a block; the view stays where it is, or at the end."""
        if self.column.width <= 0:
            change()
            return
        anchor = self._anchor()
        index = self.column.index_of(item.block.id)
        change()
        if index is not None:
            self.column.measure(index)
        if self.is_following and not stays:
            self._go_to_end()
        else:
            self._restore(anchor)

    def _expand_all(self, *, tools: bool | None = None, thinking: bool | None = None) -> None:
        anchor = self._anchor()
        old = self.column.expansion
        new = old._replace(
            tools=old.tools if tools is None else tools,
            thinking=old.thinking if thinking is None else thinking,
        )
        self.column.expansion = new
        for item in self.column.items:
            is_reply = item.live is not None or hasattr(item.block, "parts")
            if (thinking is not None) if is_reply else (tools is not None):
                item.expanded = None
        self.column.estimate()
        self._restore(anchor)

    def _anchor(self) -> Anchor | None:
        return None if self.is_following else self.column.anchor(self.scroll_offset.y)

    def _restore(self, anchor: Anchor | None) -> None:
        if self.column.width <= 0:
            return
        if anchor is None:
            if self.is_following:
                self._go_to_end()
            else:
                self._commit(self.scroll_offset.y)
            return
        y = self.column.place_of(anchor)
        self._commit(self.column.settle(y, self.size.height))

    # -- streaming -----------------------------------------------------------------------------------------

    def _append_delta(self, block_id: str, sort: str, delta: str) -> None:
        item = self._live.get(block_id)
        if item is None or item.live is None or not delta:
            return
        item.live.append("thinking" if sort == "thinking" else "prose", delta)
        if self._frame is None:
            self._schedule()

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
        cost = time.thread_time() - began + self._paint_cost
        self._paint_cost = 0.0
        self._frame_cost = 0.5 * self._frame_cost + 0.5 * cost
        if any(item.live is not None and item.live.is_waiting for item in self._live.values()):
            self._schedule()

    def _work_in(self) -> None:
        for item in list(self._live.values()):
            if item.live is not None and item.live.is_waiting:
                item.live.work_in(self._clock())
                if self.column.width > 0:
                    self._grow(item)

    def _grow(self, item: Item) -> None:
        index = self.column.index_of(item.block.id)
        if index is None:
            return
        before = item.height if item.leaves is not None else 0
        height = item.measure(self.column.width, self.column.expansion)
        self.column.heights.set(index, height)
        y = self.scroll_offset.y
        total = self.column.total
        if self.is_following:
            end = max(0, total - self.size.height)
            if end != y:
                self._commit(end)
                return
        elif self.column.heights.top(index) + before <= y:
            self._commit(y + height - before)
            return
        if total != self.virtual_size.height:
            self.set_reactive(Widget.virtual_size, Size(self.column.width, total))  # pyright: ignore[reportArgumentType]
            self._sync_scrollbar(y)
        self._refresh_changed(max(0, self.column.heights.top(index) - y))

    def _refresh_changed(self, first: int) -> None:
        """Repaint only the rows that differ from what is on the screen."""
        self._version += 1
        height = self.size.height
        if first >= height:
            return
        if len(self._shown) != height:
            self.refresh(self.size.region)
            return
        fresh = self._paint_rows(first, height - first)
        changed = [
            Region(0, first + row, self.size.width, 1)
            for row, strip in enumerate(fresh)
            if strip is not self._shown[first + row] and strip != self._shown[first + row]
        ]
        if changed:
            self.refresh(*changed)

    # -- place ---------------------------------------------------------------------------------------------

    @property
    def _width(self) -> int:
        return max(4, self.size.width - self.styles.scrollbar_size_vertical)

    def _size_updated(
        self, size: Size, virtual_size: Size, container_size: Size, layout: bool = True
    ) -> bool:
        # Called before the first paint at a size; the Resize event would come after it.
        anchor = self._anchor()
        has_changed = super()._size_updated(size, virtual_size, container_size, layout)
        if self.size.width and self._width != self.column.width:
            self.column.width = self._width
            self.column.estimate()
            self._restore(anchor)
        elif has_changed and self.column.width > 0:
            self._restore(anchor)
        return has_changed

    def _go_to_end(self) -> None:
        if self.column.width > 0:
            self._commit(self.column.settle_end(self.size.height))

    def _commit(self, y: int) -> None:
        """Set size and place without a layout of the screen."""
        total = self.column.total
        size = Size(self.column.width, total)
        y = max(0, min(y, total - self.size.height))
        self._is_setting = True
        if size != self.virtual_size:
            self.set_reactive(Widget.virtual_size, size)  # pyright: ignore[reportArgumentType]
        if self.scroll_y != y or self.scroll_target_y != y:
            self.set_reactive(Widget.scroll_y, float(y))  # pyright: ignore[reportArgumentType]
            self.set_reactive(Widget.scroll_target_y, float(y))  # pyright: ignore[reportArgumentType]
        self._is_setting = False
        self._sync_scrollbar(y)
        self._version += 1
        self.refresh(self.size.region)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        if self._is_setting or self.column.width <= 0:
            return
        y = round(new_value)
        if y >= max(0, self.column.total - self.size.height):
            self._follow(True)
            self._go_to_end()
            return
        self._follow(False)
        self._commit(self.column.settle(y, self.size.height))

    def _follow(self, is_following: bool) -> None:
        if is_following:
            self.new_below = 0
        if self.is_following != is_following:
            self.is_following = is_following
            self.post_message(messages.FollowChanged(is_following=is_following))

    def _sync_scrollbar(self, y: int) -> None:
        """Touch the scrollbar only when its thumb moves by an eighth of a cell: any change repaints all of it."""
        total, height = self.virtual_size.height, self.size.height
        if not height or not self.is_attached:
            return
        thumb = max(1.0, height * height / max(1, total))
        place = (height - thumb) * y / max(1, total - height)
        key = (int(place * 8), int(thumb * 8), height, total > height)
        if key != self._thumb:
            self._thumb = key
            bar = self.vertical_scrollbar
            bar.window_virtual_size = total
            bar.window_size = height
            bar.position = y

    @property
    def vertical_scrollbar(self) -> ScrollBar:
        if self._vertical_scrollbar is None:
            self._vertical_scrollbar = MarkedScrollBar(thickness=self.scrollbar_size_vertical)
            self._vertical_scrollbar.display = False
            self.app._start_widget(self, self._vertical_scrollbar)
        return self._vertical_scrollbar

    # -- painting ------------------------------------------------------------------------------------------

    @property
    def look(self) -> Look:
        if self._look is None:
            self._look = Look(self)
        return self._look

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._look = None
        for item in self.column.items:
            item.forget_colours()
        self._version += 1

    def visible_rows(self) -> list[Row]:
        key = (self._version, self.scroll_offset.y, self.size.height)
        if key != self._rows_key:
            self._rows = self.column.rows(self.scroll_offset.y, self.size.height)
            self._rows_key = key
        return self._rows

    def render_lines(self, crop: Region) -> list[Strip]:
        # The compositor asks for the whole visible region on every partial update: mostly kept strips.
        began = time.thread_time()
        self._dirty_regions.clear()
        strips = self._paint_rows(crop.y, crop.height)
        self._shown = strips if crop.y == 0 and crop.height >= self.size.height else []
        self._paint_cost += time.thread_time() - began
        if crop.x or crop.width < self._width:
            return [strip.crop(crop.x, crop.x + crop.width) for strip in strips]
        return strips

    def _paint_rows(self, first: int, count: int) -> list[Strip]:
        width, look = self._width, self.look
        blank = look.blank(width)
        rows = self.visible_rows()[first : first + count]
        strips = [blank if leaf is None else paint(leaf, row, width, look) for _, leaf, row in rows]
        if len(strips) < count:
            strips += [blank] * (count - len(strips))
        return strips
