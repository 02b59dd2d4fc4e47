"""A scroll view over a column of blocks: which rows it shows, how they are painted, how it follows the end.

The verbs that fill the column, the keys and the mouse are in `view`.
"""

import asyncio
import time
from typing import ClassVar

from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.scrollbar import ScrollBar
from textual.selection import Selection
from textual.strip import Strip
from textual.widget import Widget

from widgets.transcript.blocks import UserBlock
from widgets.transcript.column import Anchor, Column, Row
from widgets.transcript.item import Item
from widgets.transcript.look import COMPONENTS, Look
from widgets.transcript.paint import Mark, paint, paint_marked, with_edge, with_end, with_places, with_start
from widgets.transcript.picture import PictureLeaf
from widgets.transcript.pointing import Link, offset_in, range_in, selected_text
from widgets.transcript.scrollbar import MarkedScrollBar
from widgets.transcript.search import Search
from widgets.transcript.text import crop


class Viewport(ScrollView):
    COMPONENT_CLASSES: ClassVar[set[str]] = set(COMPONENTS)

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.column = Column()
        self.search_state = Search()
        self.cursor = ""
        """The block that the keyboard is on, in focus mode."""
        self.is_following = True
        self.new_below = 0
        """Blocks that came since the view left the end."""
        self.paint_cost = 0.0
        """CPU seconds painted since someone set it to zero."""
        self._look: Look | None = None
        self._rows: list[Row] = []
        self._rows_key: tuple[int, int, int] | None = None
        self._version = 0
        self._is_setting = False
        self._thumb: tuple[object, ...] = ()
        self._shown: list[Strip] = []
        self.hovered: Link | None = None
        """The link under the pointer."""
        self.pictures: dict[PictureLeaf, asyncio.Task[None]] = {}
        """Thumbnails that are being made."""

    # -- place ---------------------------------------------------------------------------------------------

    @property
    def text_width(self) -> int:
        return max(4, self.size.width - self.styles.scrollbar_size_vertical)

    def _size_updated(
        self, size: Size, virtual_size: Size, container_size: Size, layout: bool = True
    ) -> bool:
        # Called before the first paint at a size; the Resize event would come after it.
        anchor = self.remember_place()
        has_changed = super()._size_updated(size, virtual_size, container_size, layout)
        self._thumb = ()  # the scrollbar was told of old numbers
        if self.size.width and self.text_width != self.column.width:
            self.column.resize(self.text_width)
            self.restore(anchor)
        elif has_changed and self.column.width > 0:
            self.restore(anchor)
        return has_changed

    def remember_place(self) -> Anchor | None:
        """What has to stay where it is; nothing while the end is followed."""
        return None if self.is_following else self.column.anchor(self.scroll_offset.y)

    def restore(self, anchor: Anchor | None) -> None:
        """After a change: put the view back where it was."""
        if self.column.width <= 0:
            return
        if anchor is None and self.is_following:
            self.go_to_end()
        elif anchor is None:  # there was nothing to stay at
            self.commit(self.column.settle(0, self.size.height))
        else:
            self.commit(self.column.settle(self.column.place_of(anchor), self.size.height))

    def go_to_end(self) -> None:
        if self.column.width > 0:
            self.commit(self.column.settle_end(self.size.height))

    def set_following(self, is_following: bool) -> None:
        if is_following:
            self.new_below = 0
        self.is_following = is_following

    def commit(self, y: int) -> None:
        """Set size and place without a layout of the screen."""
        y = max(0, min(y, self.column.total - self.size.height))
        self.hovered = None
        self._is_setting = True
        self.set_total()
        if self.scroll_y != y or self.scroll_target_y != y:
            self.set_reactive(Widget.scroll_y, float(y))  # pyright: ignore[reportArgumentType]
            self.set_reactive(Widget.scroll_target_y, float(y))  # pyright: ignore[reportArgumentType]
        self._is_setting = False
        self.sync_scrollbar()
        self._version += 1
        self.refresh(self.size.region)

    def set_total(self) -> None:
        size = Size(self.column.width, self.column.total)
        if size != self.virtual_size:
            self.set_reactive(Widget.virtual_size, size)  # pyright: ignore[reportArgumentType]

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        if self._is_setting or self.column.width <= 0:
            return
        self.scroll_rows_to(round(old_value), round(new_value))

    def scroll_rows_to(self, old: int, y: int) -> None:
        """The view was moved: by a little, which is exact, or to some place, which is as good as the guesses."""
        height = self.size.height
        if y >= max(0, self.column.total - height):
            self.set_following(True)
            self.go_to_end()
            return
        self.set_following(False)
        if abs(y - old) <= 2 * height:
            y = self.column.shift(old, y - old, height)
        else:
            y = self.column.settle(y, height)
        self.commit(y)

    def scroll_by(self, rows: int) -> None:
        """Move by some rows, without animation."""
        y = self.scroll_offset.y
        if rows < 0 and y > 0:
            self.scroll_rows_to(y, max(0, y + rows))
        elif rows > 0:
            self.scroll_rows_to(y, y + rows)

    def sync_scrollbar(self) -> None:
        """Touch the scrollbar only when its thumb moves by an eighth of a cell: any change repaints all of it."""
        y, total, height = self.scroll_offset.y, self.virtual_size.height, self.size.height
        if not height or not self.is_attached:
            return
        thumb = max(1.0, height * height / max(1, total))
        place = (height - thumb) * y / max(1, total - height)
        key = (int(place * 8), int(thumb * 8), height, total > height, self.search_state.query)
        if key != self._thumb:
            self._thumb = key
            bar = self.vertical_scrollbar
            bar.window_virtual_size = total
            bar.window_size = height
            bar.position = y
            self._mark_scrollbar()

    def _mark_scrollbar(self) -> None:
        bar = self.vertical_scrollbar
        if not isinstance(bar, MarkedScrollBar):
            return
        if self.column.total <= self.size.height:  # all of it is seen: there is no way to mark
            bar.mark((), self.size.height)
            return
        total = max(1, self.column.total)
        top = self.column.heights.top
        prompts = tuple(
            top(index) / total
            for index, item in enumerate(self.column.items)
            if isinstance(item.block, UserBlock)
        )
        indexes = (self.column.index_of(block_id) for block_id, _ in self.search_state.found)
        hits = tuple(top(index) / total for index in indexes if index is not None)
        look = self.look
        layers = (("╸", look.foreground("accent"), prompts), ("◆", look.foreground("current-match"), hits))
        bar.mark(layers, self.size.height)

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
        self._thumb = ()
        self._version += 1

    def repaint(self) -> None:
        """Something that lies over the rows has changed."""
        self._version += 1
        self.refresh(self.size.region)

    def visible_rows(self) -> list[Row]:
        key = (self._version, self.scroll_offset.y, self.size.height)
        if key != self._rows_key:
            self._rows = self.column.rows(self.scroll_offset.y, self.size.height)
            self._rows_key = key
            self._start_pictures()
        return self._rows

    def _start_pictures(self) -> None:
        """Have the thumbnails made that are to be seen and are not there yet."""
        for row in self._rows:
            leaf = row.leaf
            if isinstance(leaf, PictureLeaf) and leaf.is_waiting and leaf not in self.pictures:
                self.pictures[leaf] = asyncio.get_running_loop().create_task(
                    self._make_picture(row.item, leaf)
                )

    async def _make_picture(self, item: Item, leaf: PictureLeaf) -> None:
        pixels = await asyncio.to_thread(leaf.make)
        del self.pictures[leaf]
        leaf.take(pixels)
        index = self.column.index_of(item.block.id)
        if pixels is None and index is not None:
            anchor = self.remember_place()
            item.is_exact = False
            self.column.measure(index)
            self.restore(anchor)
        self.repaint()

    def render_lines(self, crop: Region) -> list[Strip]:
        # The compositor asks for the whole visible region on every partial update: mostly kept strips.
        began = time.thread_time()
        self._dirty_regions.clear()
        strips = self._paint_rows(crop.y, crop.height)
        self._shown = strips if crop.y == 0 and crop.height >= self.size.height else []
        self.paint_cost += time.thread_time() - began
        if crop.x or crop.width < self.text_width:
            return [strip.crop(crop.x, crop.x + crop.width) for strip in strips]
        return strips

    def render_line(self, y: int) -> Strip:
        """A row that knows its characters: only for finding what is under the pointer."""
        width = self.text_width
        strip = self._paint_rows(y, 1)[0]
        rows = self.visible_rows()
        if y >= len(rows) or (leaf := rows[y].leaf) is None:
            return strip
        item = rows[y].item
        index = self.column.index_of(item.block.id) or 0
        base = item.base_of(leaf)
        places = [(base + offset_in(leaf, rows[y].row, x), index) for x in range(width)]
        return with_places(strip, places)

    def repaint_changed(self, first: int) -> None:
        """Repaint, from a row on, only the rows that differ from what is on the screen.

        The last row is always among them, for what it tells of the rows below it.
        """
        self._version += 1
        height = self.size.height
        first = max(0, min(first, height - 1))
        if len(self._shown) != height:
            self.refresh(self.size.region)
            return
        changed = [
            Region(0, first + row, self.size.width, 1)
            for row, strip in enumerate(self._paint_rows(first, height - first))
            if strip is not self._shown[first + row] and strip != self._shown[first + row]
        ]
        if changed:
            self.refresh(*changed)

    def _paint_rows(self, first: int, count: int) -> list[Strip]:
        width, look = self.text_width, self.look
        blank = look.blank(width)
        rows = self.visible_rows()[first : first + count]
        selection = self.text_selection
        if selection is None and not self.search_state.is_on and not self.cursor and self.hovered is None:
            strips = [blank if leaf is None else paint(leaf, row, width, look) for _, leaf, row in rows]
        else:
            strips = [self._overlaid(row, selection, width, look) for row in rows]
        if len(strips) < count:
            strips += [blank] * (count - len(strips))
        if strips and first + count == self.size.height:
            strips[-1] = self._labelled(strips[-1], look, width)
        return strips

    def _labelled(self, strip: Strip, look: Look, width: int) -> Strip:
        """The last row: where the link under the pointer leads, and what came below."""
        if self.hovered is not None:
            address = crop(f" {self.hovered.address}", max(8, width - 20)) + " "
            strip = look.finish(with_start(strip, address, look.style("hover"), width))
        if self.new_below and not self.is_following:
            label = f" ↓ {self.new_below} new · End "
            strip = look.finish(with_end(strip, label, look.style("new-below"), width))
        return strip

    def _overlaid(self, row: Row, selection: Selection | None, width: int, look: Look) -> Strip:
        """A row with what lies over it: the selection, search hits, the mark of the focused block."""
        marks = self._marks(row, selection, look) if row.leaf is not None else []
        if row.leaf is None:
            strip = look.blank(width)
        elif marks:
            strip = paint_marked(row.leaf, row.row, width, look, marks)
        else:
            strip = paint(row.leaf, row.row, width, look)
        if self.cursor and row.item.block.id == self.cursor and not self._is_gap(row):
            first = strip.text[:1]
            says_state = first not in " │›▸▾·"
            sign, style = (first, "focus-glyph") if says_state else ("▌", "focus")
            strip = look.finish(with_edge(strip, sign, look.style(style), width))
        return strip

    def _is_gap(self, row: Row) -> bool:
        return row.leaf is None and row.row < 0

    def _marks(self, row: Row, selection: Selection | None, look: Look) -> list[Mark]:
        item, leaf = row.item, row.leaf
        assert leaf is not None
        base = item.base_of(leaf)
        start, end = leaf.layout(self.column.width)[row.row]
        first, last = base + start, base + max(end, start)
        marks: list[Mark] = []
        if self.hovered is not None and self.hovered.leaf is leaf:
            marks.append(Mark(self.hovered.start, self.hovered.end, look.style("hover")))
        if self.search_state.is_on:
            shown = self.search_state.shown
            for number, (a, b) in enumerate(self.search_state.spans(item, self.column.expansion)):
                if b > first and a < last:
                    is_shown = (
                        shown is not None and shown.block_id == item.block.id and shown.number == number
                    )
                    style = look.style("current-match" if is_shown else "match")
                    marks.append(Mark(a - base, b - base, style))
        if selection is not None:
            index = self.column.index_of(item.block.id) or 0
            a, b = range_in(selection, index, 1 << 40)
            if b > first and a < last:
                marks.append(Mark(a - base, b - base, look.selection()))
        return marks

    # -- selection -----------------------------------------------------------------------------------------

    def selection_updated(self, selection: Selection | None) -> None:
        del selection
        self.repaint()

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        return selected_text(self.column, selection), "\n"
