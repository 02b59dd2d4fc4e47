"""The vertical stack of a transcript's blocks: finds the rows that are visible, and keeps the view in place when
heights change. It works only with numbers and layout; `view` draws the result."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from itertools import repeat
from operator import add, floordiv
from typing import TYPE_CHECKING, NamedTuple

from widgets.transcript.block_expansion import BlockExpansion
from widgets.transcript.block_heights import BlockHeights
from widgets.transcript.leaves.layout_leaf import MAX_PROSE_CELLS, LayoutLeaf
from widgets.transcript.tool_call_bursts import fold_tool_call_bursts, join_tool_call_bursts
from widgets.transcript.transcript_blocks import UserPromptBlock

if TYPE_CHECKING:
    from widgets.transcript.block_item import BlockItem

MAX_BLOCKS_BELOW_STREAMING = 200
"""The maximum distance of a growing reply from the end, in blocks."""
MAX_BLOCKS_WITH_DRAWING = 60
"""The number of blocks whose leaves and strips stay in memory."""
ABOVE_ALL_BLOCKS = -2
"""The row of blank rows above the first block."""


class LocatedTranscriptRow(NamedTuple):
    """A visible row of the transcript: the block's item, the leaf (unit of layout) and the row within it."""

    item: BlockItem
    leaf: LayoutLeaf | None
    row: int


class ScrollAnchor(NamedTuple):
    """A remembered row of a block that is to keep its place on the screen when heights change."""

    item: BlockItem
    row: int
    rows: int
    """The block's height at that time."""
    leaf: LayoutLeaf | None
    offset: int
    """The index in the leaf's text at the start of the row."""


class BlockStack:
    """The vertical stack of a transcript's blocks with their heights."""

    def __init__(self) -> None:
        self.items: list[BlockItem] = []
        self.heights = BlockHeights()
        self.width = -1
        self.expansion = BlockExpansion()
        """The default expansion of blocks; a block changed by hand overrides it."""
        self.changes = 0
        """A counter of added and removed blocks: while it is unchanged, so are the blocks' indexes."""
        self._index: dict[str, int] = {}
        """The index of each block, counted from the block that was first when the list was made."""
        self._before = 0
        """The number of blocks inserted before that block."""
        self._recently_drawn: OrderedDict[int, BlockItem] = OrderedDict()
        self._sizes: tuple[list[int], list[int]] | None = None
        """Lines and characters of each block for height estimates; computed when needed."""

    def __len__(self) -> int:
        return len(self.items)

    def index_of(self, block_id: str) -> int | None:
        index = self._index.get(block_id)
        return None if index is None else index + self._before

    def find(self, block_id: str) -> BlockItem | None:
        index = self.index_of(block_id)
        return None if index is None else self.items[index]

    def replace(self, items: Iterable[BlockItem]) -> None:
        self.items = list(items)
        join_tool_call_bursts(self.items)
        self.changes += 1
        self._renumber()
        self._recently_drawn.clear()
        self.estimate_heights()

    def _renumber(self) -> None:
        self._before = 0
        self._index = {item.block.id: index for index, item in enumerate(self.items)}

    def prepend(self, items: list[BlockItem]) -> None:
        """Inserts the items of earlier blocks at the beginning; the cost does not depend on how many follow."""
        self._sizes = None
        self.changes += 1
        join_tool_call_bursts(items)
        fold_tool_call_bursts(items, self.expansion)
        _set_gaps(items, self.expansion)
        width = max(1, self.width)
        self.heights.prepend([item.estimate_height(width, self.expansion) for item in items])
        self.items[:0] = items
        self._before += len(items)
        self._index.update({item.block.id: index - self._before for index, item in enumerate(items)})
        self.update_blank_row_above(len(items))

    def append(self, item: BlockItem) -> None:
        self._sizes = None
        self.changes += 1
        above = self._visible_block_above(len(self.items))
        join_tool_call_bursts([item], above)
        item.set_blank_row_above(above, self.expansion)
        self._index[item.block.id] = len(self.items) - self._before
        self.items.append(item)
        self.heights.append(
            item.estimate_height(max(1, self.width), self.expansion) if item.live is None else 0
        )

    def remove(self, index: int) -> None:
        item = self.items.pop(index)
        if item.burst is not None:
            item.burst.items.remove(item)
        self.changes += 1
        self._sizes = None
        self.heights.remove(index)
        self._recently_drawn.pop(id(item), None)
        self._renumber()
        self.update_blank_row_above(index)

    def update_blank_row_above(self, index: int, *, is_another: bool = True) -> None:
        """Updates the blank row above a block after the block above it changed, and measures the block again if needed.

        `is_another`: the block above is now a different one."""
        if index < len(self.items):
            item = self.items[index]
            before = item.gap
            item.set_blank_row_above(self._visible_block_above(index), self.expansion)
            if is_another or item.gap != before:
                item.is_exact = False
                self.measure(index)

    def fold_burst(self, index: int) -> None:
        """Folds or unfolds the burst that a block belongs to, after one of its calls changed, and updates the
        heights."""
        burst = self.items[index].burst
        if burst is None or not burst.fold(self.expansion):
            return
        self._sizes = None
        places = [at for item in burst.items if (at := self.index_of(item.block.id)) is not None]
        for at in range(min(places), max(places) + 2):
            self.update_blank_row_above(at)

    def _visible_block_above(self, index: int) -> BlockItem | None:
        """Returns the item of the nearest block above that has visible content; None if there is none."""
        return next((self.items[at] for at in range(index - 1, -1, -1) if not self.items[at].is_empty), None)

    def estimate_heights(self) -> None:
        """Estimates the heights of all blocks after the expansion changed, without drawing them."""
        self._sizes = None
        width, expansion = max(1, self.width), self.expansion
        heights = []
        fold_tool_call_bursts(self.items, expansion)
        _set_gaps(self.items, expansion)
        for item in self.items:
            if item.live is not None:
                heights.append(item.measure(width, expansion) if self.width > 0 else 0)
            else:
                heights.append(item.estimate_height(width, expansion))
        self.heights.replace(heights)

    def resize(self, width: int) -> None:
        """Estimates the heights of all blocks for another width by a cheap formula, since there may be thousands."""
        if not self._sizes or len(self._sizes[0]) != len(self.items):
            sizes = [item.size_estimate(item.current_extent(self.expansion)) for item in self.items]
            lines = [item.gap + size.lines for item, size in zip(self.items, sizes, strict=True)]
            self._sizes = lines, [size.characters for size in sizes]
        self.width = width
        lines, characters = self._sizes
        self.heights.replace(map(add, lines, map(floordiv, characters, repeat(min(width, MAX_PROSE_CELLS)))))
        for item in (item for item in self.items[-MAX_BLOCKS_BELOW_STREAMING:] if item.live is not None):
            self.heights.set(self._index[item.block.id] + self._before, item.measure(width, self.expansion))

    def measure(self, index: int) -> int:
        """Lays a block out and returns its exact height."""
        item = self.items[index]
        if item.live is None and not item.has_size_estimate:
            self._sizes = None  # its content has changed
        if self.width > 0 and (item.live is not None or not item.is_exact or item.width != self.width):
            item.measure(self.width, self.expansion)
            self.heights.set(index, item.height)
        self._recently_drawn[id(item)] = item
        self._recently_drawn.move_to_end(id(item))
        return item.height

    def release_old_drawings(self) -> None:
        """Frees the drawings of the least recently drawn blocks beyond a limit; their heights stay."""
        while len(self._recently_drawn) > MAX_BLOCKS_WITH_DRAWING:
            _, item = self._recently_drawn.popitem(last=False)
            item.release_drawing()

    def measure_visible(self, y: int, height: int) -> int:
        """Lays out the blocks that are visible from row `y` on; returns the row's position, which may have changed with
        the heights."""
        if not self.items:
            return 0
        index = self.heights.block_at(y)
        row = y - self.heights.top_of_block(index)
        before = self.heights[index]
        now = self.measure(index)
        if now != before:
            row = row * now // max(1, before)
        row = self._measure_rough_item(index, row, height)
        shown = self.heights[index] - row
        below = index + 1
        while shown < height and below < len(self.items):
            self.measure(below)
            self._measure_rough_item(below, 0, height - shown)
            shown += self.heights[below]
            below += 1
        if shown < height:
            return self.measure_last_screen(height)
        return self.heights.top_of_block(index) + row

    def position_after_scroll(self, y: int, delta: int, height: int) -> int:
        """Returns the position after scrolling by `delta` rows, exact even where the heights above were only
        estimates."""
        if not self.items:
            return 0
        index = self.heights.block_at(y)
        row = y - self.heights.top_of_block(index)
        if delta < 0 and self.items[index].leaves is not None:
            row = self._measure_rough_item(index, row, -delta, is_above=True)
        row += delta
        above = index - 1
        missing = -row
        while missing > 0 and above >= 0:
            missing -= self._measure_end(above, missing)
            above -= 1
        return self.measure_visible(max(0, self.heights.top_of_block(index) + row), height)

    def measure_last_screen(self, height: int) -> int:
        """Lays out the blocks at the end of the transcript; returns the position of the first visible row there."""
        index = len(self.items)
        shown = 0
        while index > 0 and shown < height:
            index -= 1
            shown += self._measure_end(index, height - shown)
        self.release_old_drawings()
        return max(0, self.heights.total - height)

    def _measure_end(self, index: int, rows: int) -> int:
        """Returns a block's height, computed so far that its last `rows` rows are exact."""
        self._measure_rough_item(index, self.measure(index), rows, is_above=True)
        return self.heights[index]

    def _measure_rough_item(self, index: int, row: int, rows: int, *, is_above: bool = False) -> int:
        item = self.items[index]
        row = item.measure_rows_of_long_block(row, rows, is_above=is_above)
        self.heights.set(index, item.height)
        return row

    def rows(self, y: int, height: int) -> list[LocatedTranscriptRow]:
        """Returns what each of the `height` rows from `y` on shows; fewer at the end of the transcript."""
        rows: list[LocatedTranscriptRow] = []
        if not self.items or self.width <= 0:
            return rows
        index = self.heights.block_at(y)
        offset = y - self.heights.top_of_block(index)
        while len(rows) < height and index < len(self.items):
            item = self.items[index]
            if item.leaves is None or item.width != self.width:
                self.measure(index)
            offset = self._measure_rough_item(index, offset, height - len(rows))
            while offset < item.height and len(rows) < height:
                leaf, row = item.leaf_at(offset)
                rows.append(LocatedTranscriptRow(item, leaf, row))
                offset += 1
            index += 1
            offset = 0
        self.release_old_drawings()
        return rows

    def remember_position(self, y: int) -> ScrollAnchor | None:
        """Returns an anchor for the content at row `y`, by which it is found again; None in an empty transcript."""
        if not self.items or self.width <= 0:
            return None
        index = self.heights.block_at(y)
        item = self.items[index]
        row = y - self.heights.top_of_block(index)
        leaf, leaf_row = item.leaf_at(row) if item.leaves is not None else (None, 0)
        offset = leaf.layout(self.width)[leaf_row][0] if leaf is not None else 0
        return ScrollAnchor(item, row, item.height, leaf, offset)

    def position_of(self, anchor: ScrollAnchor) -> int:
        """Returns the current position of an anchor's row; 0 if its block no longer exists."""
        index = self.index_of(anchor.item.block.id)
        if index is None:
            return 0
        self.measure(index)
        item = anchor.item
        row = min(anchor.row, item.height - 1)
        leaf = self._same_leaf(item, anchor)
        if leaf is not None:
            row = item.top_of_leaf(leaf) + leaf.row_at(anchor.offset)
            self.heights.set(index, item.height)
        elif item.height != anchor.rows and anchor.row >= item.gap:
            row = min(anchor.row * item.height // max(1, anchor.rows), item.height - 1)
        return self.heights.top_of_block(index) + max(0, row)

    @staticmethod
    def _same_leaf(item: BlockItem, anchor: ScrollAnchor) -> LayoutLeaf | None:
        leaves = item.leaves or ()
        if anchor.leaf is None or anchor.leaf in leaves:
            return anchor.leaf
        same = [leaf for leaf in leaves if leaf.plain == anchor.leaf.plain]
        return same[0] if len(same) == 1 else None


def refresh_block_in_stack(column: BlockStack, index: int) -> None:
    """Updates the column after a block's content changed: its burst, its height, and the blank rows around it."""
    column.fold_burst(index)
    column.update_blank_row_above(index, is_another=False)
    column.measure(index)
    column.update_blank_row_above(index + 1, is_another=False)


def first_row_of_block(column: BlockStack, index: int) -> int:
    """Returns the position of a block's first row, below the blank row above it."""
    return column.heights.top_of_block(index) + column.items[index].gap


def prompts_in_view(column: BlockStack, y: int, height: int) -> tuple[str, ...]:
    """Returns the user's prompts that begin in the given visible rows."""
    heights = column.heights
    said = (
        (index, column.items[index].block)
        for index in range(max(0, heights.block_at(y)), heights.block_at(y + height - 1) + 1)
    )
    return tuple(
        block.text
        for index, block in said
        if isinstance(block, UserPromptBlock) and first_row_of_block(column, index) >= y
    )


def _set_gaps(items: list[BlockItem], expansion: BlockExpansion) -> None:
    """Sets the blank row above each block by the block above it that has visible content."""
    above = None
    for item in items:
        item.set_blank_row_above(above, expansion)
        above = above if item.is_empty else item
