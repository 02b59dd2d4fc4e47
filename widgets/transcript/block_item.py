"""A transcript block with its layout: how far it is expanded, its leaves (units of layout), its height."""

from bisect import bisect_right
from itertools import accumulate

from widgets.transcript.block_expansion import BlockExpansion, BlockExtent
from widgets.transcript.leaves import block_leaves as drawing
from widgets.transcript.leaves import block_texts
from widgets.transcript.leaves import card_leaves as cards
from widgets.transcript.leaves import long_messages as rough
from widgets.transcript.leaves.layout_leaf import MAX_PROSE_CELLS, LayoutLeaf
from widgets.transcript.markdown.diagram import apply_diagram_setting
from widgets.transcript.markdown.live_reply import LiveReply
from widgets.transcript.tool_call_bursts import ToolCallBurst, folded_burst_card
from widgets.transcript.transcript_blocks import (
    Block,
    CustomBlock,
    FailureToShow,
    ReplyBlock,
    ReplyState,
    ToolCallBlock,
    TurnEndBlock,
)


class BlockItem:
    """A transcript block with its layout: expansion, leaves, height."""

    __slots__ = (
        "_epoch",
        "_extent",
        "_has_estimated_leaves",
        "_measured_for",
        "_sizes",
        "_text_offsets",
        "_tops",
        "block",
        "burst",
        "expanded",
        "explored",
        "gap",
        "height",
        "hits",
        "is_exact",
        "is_hidden",
        "leaves",
        "live",
        "searched",
        "version",
        "width",
    )

    def __init__(self, block: Block, *, live: bool = False) -> None:
        self.block = block
        self.expanded: BlockExtent | None = None
        """The extent set by hand; None: the setting for all applies."""
        self.burst: ToolCallBurst | None = None
        self.explored: tuple[ToolCallBlock, ...] = ()
        """The calls of its burst that are folded into this item's row."""
        self.is_hidden = False
        """Whether it is folded into the row of another item."""
        self.gap = 1
        """Blank rows above."""
        self.height = 1
        self.is_exact = False
        self.width = -1
        self.leaves: list[LayoutLeaf] | None = None
        self.live: LiveReply | None = LiveReply(block.id) if live else None
        self._tops: list[int] = []
        self._text_offsets: list[int] = []
        self._epoch = -1
        self._sizes: dict[BlockExtent, block_texts.BlockTextSize] = {}
        self._extent = BlockExtent.CLOSED
        """The extent that the leaves were created for."""
        self._has_estimated_leaves = False
        """Whether heights of some leaves are only estimates (`long_messages`)."""
        self._measured_for: tuple[int, BlockExtent, int] | None = None
        """The width, extent and gap for which the height is exact."""
        self.hits = 0
        self.searched = 0
        """The number of the search that `hits` belongs to (`searching`); 0 for none."""
        self.version = 0
        """A counter of layouts."""

    def current_extent(self, expansion: BlockExpansion) -> BlockExtent:
        return expansion.block_extent(self.block, self.expanded)

    @property
    def is_empty(self) -> bool:
        """Whether the block has no visible content, such as a reply that only calls tools or a call in a folded
        burst."""
        if self.is_hidden:
            return True
        if self.live is not None:
            return not self.live.text.strip()
        block = self.block
        if isinstance(block, TurnEndBlock):
            return block.is_blank
        return (
            isinstance(block, ReplyBlock)
            and block.state is ReplyState.DONE
            and not any(part.text.strip() for part in block.parts)
        )

    def set_blank_row_above(self, above: "BlockItem | None", expansion: BlockExpansion) -> None:
        """Sets the blank row above a block by the block above it: none between calls and thoughts of one row each, else
        one."""
        if above is None or self.is_hidden:
            self.gap = 0
            return
        self.gap = int(shows_card_content(above, expansion) or shows_card_content(self, expansion))

    def estimate_height(self, width: int, expansion: BlockExpansion) -> int:
        """Returns the block's height at a width: exact if it was measured for it, else an estimate without drawing."""
        extent = self.current_extent(expansion)
        if self._measured_for == (width, extent, self.gap):
            return self.height
        self.is_exact = False
        if extent is not self._extent:
            self.discard_drawing()
        size = self.size_estimate(extent)
        self.height = self.gap + size.lines + size.characters // min(width, MAX_PROSE_CELLS)
        return self.height

    @property
    def has_size_estimate(self) -> bool:
        """Whether the block's size for estimates was computed since its last change."""
        return bool(self._sizes)

    def size_estimate(self, extent: BlockExtent) -> block_texts.BlockTextSize:
        """Returns the lines and characters from which the block's height is estimated; computed once for each
        extent."""
        if self.is_hidden or self.explored:
            return block_texts.BlockTextSize(int(not self.is_hidden), 0)
        size = self._sizes.get(extent)
        if size is None:
            size = self._sizes[extent] = block_texts.estimate_block_size(self.block, extent)
        return size

    def measure(self, width: int, expansion: BlockExpansion) -> int:
        """Lays the block out for a width and returns its height; leaves that already have this width are reused."""
        self.version += 1
        if self.live is not None:
            return self._measure_live(width, expansion)
        extent = self.current_extent(expansion)
        if self.leaves is None or extent is not self._extent:
            self.leaves = self.draw(expansion)
        apply_diagram_setting(self.leaves, expansion.diagrams)
        self._tops = list(
            accumulate((rough.leaf_height_or_estimate(leaf, width) for leaf in self.leaves), initial=self.gap)
        )
        self._has_estimated_leaves = rough.has_estimated_leaf_heights(self.leaves, width)
        self._text_offsets = []
        self.height = self._tops[-1] if self.leaves else 0
        self.is_exact = True
        self.width = width
        self._extent = extent
        self._measured_for = (width, extent, self.gap)
        return self.height

    def draw(self, expansion: BlockExpansion) -> list[LayoutLeaf]:
        if self.is_hidden:
            return []
        if self.explored:
            return drawing.draw_folded_burst(folded_burst_card(self.explored))
        return drawing.draw_block(self.block, self.current_extent(expansion), is_whole=expansion.is_whole)

    def show_folded_calls(self, cards: tuple[ToolCallBlock, ...], *, is_hidden: bool) -> bool:
        """Shows the given folded calls in this block's row, or hides the block because another row stands for it;
        returns whether that changed anything."""
        if (cards, is_hidden) == (self.explored, self.is_hidden):
            return False
        self.explored, self.is_hidden = cards, is_hidden
        self.discard_drawing()
        return True

    def _measure_live(self, width: int, expansion: BlockExpansion) -> int:
        assert self.live is not None
        leaves, stable = self.live.collect_leaves(is_open=bool(self.current_extent(expansion)))
        if self.width != width or self.live.epoch != self._epoch or not self._tops:
            stable = 0
            self._tops = [self.gap]
        self._epoch = self.live.epoch
        tops = self._tops
        del tops[stable + 1 :]
        apply_diagram_setting(leaves[len(tops) - 1 :], expansion.diagrams)
        for leaf in leaves[len(tops) - 1 :]:
            tops.append(tops[-1] + rough.leaf_height_or_estimate(leaf, width))
        self.leaves = leaves
        self._has_estimated_leaves = rough.has_estimated_leaf_heights(leaves[stable:], width) or (
            stable > 0 and self._has_estimated_leaves
        )
        self._text_offsets = []
        self.height = tops[-1] if leaves else 0
        self.is_exact = True
        self.width = width
        return self.height

    def measure_rows_of_long_block(self, row: int, rows: int, *, is_above: bool = False) -> int:
        """Lays out some rows of a very long block, from a row on or above it; returns the row's new position. The
        block's height may change."""
        if not (self._has_estimated_leaves and self.leaves):
            return row
        sharpen = rough.measure_leaves_above_row if is_above else rough.measure_leaves_from_row
        row = sharpen(self.leaves, self._tops, self.width, row, rows)
        self.height = self._tops[-1]
        return row

    def finish_streaming(
        self, state: ReplyState, failure: FailureToShow | None, now: float, expansion: BlockExpansion
    ) -> None:
        """Ends the streaming of a reply: the block becomes the complete reply, and leaves that were final are
        reused."""
        assert self.live is not None
        self.live.finish(now)
        self.leaves = self.live.final_leaves(state, failure, is_open=bool(self.current_extent(expansion)))
        self.block = self.live.block(state, failure)
        self.searched = 0
        self.live = None
        self.is_exact = False
        self._extent = self.current_extent(expansion)
        self._sizes = {}
        self._measured_for = None

    def toggle(self, expansion: BlockExpansion, wanted: BlockExtent | None = None) -> None:
        """Changes how much of the block is shown: to the given extent, or to the next of closed, preview and all. A
        folded burst unfolds instead."""
        if self.explored and self.burst is not None and wanted is None:
            self.burst.is_open = True
            return
        now = self.current_extent(expansion)
        if wanted is None and now <= BlockExtent.PREVIEW:
            card = self.block.card if isinstance(self.block, ToolCallBlock | CustomBlock) else None
            has_preview = (
                card is not None and now < BlockExtent.PREVIEW and cards.card_preview_omits_text(card)
            )
            wanted = BlockExtent.PREVIEW if has_preview else BlockExtent.ALL
        self.expanded = BlockExtent.CLOSED if wanted is None else wanted
        if not self.expanded and self.burst is not None and self.burst.items[0] is self:
            self.burst.is_open = False
        self.discard_drawing()

    def replace_block(self, block: Block) -> None:
        """Replaces the block by a newer value of it and drops its drawing."""
        if block != self.block:
            self.block = block
            self.searched = 0
            self._sizes = {}
            self.discard_drawing()

    def discard_drawing(self) -> None:
        """Drops the block's drawing and height, so that it is drawn again; a streaming reply keeps them."""
        if self.live is None:
            self.release_drawing()
            self._measured_for = None

    def invalidate_layout(self) -> None:
        """Drops the block's layout because the drawing style changed, also that of a streaming reply."""
        self.discard_drawing()
        self.width = -1

    def release_drawing(self) -> None:
        """Frees the memory of the block's drawing; its height stays valid."""
        if self.live is None:
            self.leaves = None
            self._tops = []
            self._text_offsets = []
            self.is_exact = False

    def discard_painted_rows(self) -> None:
        for leaf in self.leaves or ():
            leaf.discard_painted_rows()

    def leaf_at(self, offset: int) -> tuple[LayoutLeaf | None, int]:
        """Returns the leaf at a row of the block and the row within the leaf; no leaf for blank rows."""
        assert self.leaves is not None
        index = bisect_right(self._tops, offset) - 1
        if index < 0 or index >= len(self.leaves):
            return None, -1
        leaf = self.leaves[index]
        row = offset - self._tops[index] - leaf.blank
        return (leaf, row) if row >= 0 else (None, 0)

    def top_of_leaf(self, leaf: LayoutLeaf) -> int:
        """Returns the first row of a leaf within its block."""
        assert self.leaves is not None
        index = self.leaves.index(leaf)
        if self._has_estimated_leaves:
            self.measure_rows_of_long_block(self._tops[index] + leaf.blank, 1)
        return self._tops[index] + leaf.blank

    @property
    def leaf_text_offsets(self) -> list[int]:
        """Returns for each leaf the index in the block's text where the leaf's text starts."""
        if not self._text_offsets and self.leaves:
            at = 0
            for index, leaf in enumerate(self.leaves):
                at += (1 + min(1, leaf.blank)) if index else 0
                self._text_offsets.append(at)
                at += len(leaf.plain)
        return self._text_offsets

    def leaf_text_offset(self, leaf: LayoutLeaf) -> int:
        assert self.leaves is not None
        return self.leaf_text_offsets[self.leaves.index(leaf)]

    def text(self, expansion: BlockExpansion) -> str:
        """Returns the block's drawn text without wrapping, indents and borders."""
        return "".join(gap + leaf.plain for gap, leaf in _drawn_leaves(self, expansion))

    def current_block(self) -> Block:
        """Returns the block; for a streaming reply with everything received so far."""
        return self.live.block(ReplyState.STREAMING) if self.live is not None else self.block

    def search_text(self) -> str:
        return self.live.text if self.live is not None else block_texts.search_text(self.block)

    @property
    def can_expand(self) -> bool:
        if self.explored:
            return True
        if self.live is not None:
            return any(leaf.link == "toggle" for leaf in self.leaves or ())
        return drawing.can_expand(self.block)


def make_empty_reply_block(block_id: str) -> ReplyBlock:
    return ReplyBlock(id=block_id, state=ReplyState.STREAMING)


def shows_card_content(item: BlockItem, expansion: BlockExpansion) -> bool:
    """Returns whether a block shows more than a row of a list of calls, so that it needs blank rows around it."""
    if item.live is not None:
        return True
    return not item.explored and drawing.shows_card_content(item.block, item.current_extent(expansion))


def text_to_copy(item: BlockItem, expansion: BlockExpansion, start: int, end: int) -> str:
    """Returns a range of a block's text as it is copied, with the indents of nested content."""
    parts: list[str] = []
    at = 0
    for gap, leaf in _drawn_leaves(item, expansion):
        parts.append(gap[max(0, start - at) : max(0, end - at)])
        at += len(gap)
        below = at + len(leaf.plain)
        if start < at < end or (start == at and below < end):
            parts.append(leaf.copied_indent)
        parts.append(leaf.plain[max(0, start - at) : max(0, end - at)])
        at = below
    return "".join(parts)


def _drawn_leaves(item: BlockItem, expansion: BlockExpansion) -> list[tuple[str, LayoutLeaf]]:
    """Returns all leaves of a block, each with the line breaks between it and the previous one."""
    leaves = item.leaves
    if leaves is None:
        leaves = item.draw(expansion)
    return [(("\n\n" if leaf.blank else "\n") if index else "", leaf) for index, leaf in enumerate(leaves)]
