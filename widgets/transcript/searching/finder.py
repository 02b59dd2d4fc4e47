"""The control of a search in the transcript: where it starts, which hit is shown, and where cancelling returns to.

`text_search` finds the hits; `search_bar` is the input line."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import monotonic
from typing import TYPE_CHECKING

from textual.message import Message

from widgets.transcript import messages
from widgets.transcript.block_expansion import BlockExtent
from widgets.transcript.block_stack import BlockStack, ScrollAnchor, refresh_block_in_stack
from widgets.transcript.painting.scrollbar import ScrollBarUpdater
from widgets.transcript.searching.text_search import BadPattern, Hit, TextSearch
from widgets.transcript.transcript_blocks import UserPromptBlock
from widgets.transcript.transcript_viewport import Viewport

if TYPE_CHECKING:
    from widgets.transcript.block_item import BlockItem

SEARCH_TIME_SLICE = 0.008
"""Seconds of searching before keys and frames are processed."""
REPORT_INTERVAL = 0.1
"""Seconds between progress reports, which cost as much as searching."""


class Finder:
    """Runs searches in one transcript and scrolls to the hits."""

    def __init__(
        self,
        column: BlockStack,
        viewport: Viewport,
        search: TextSearch,
        thumb: ScrollBarUpdater,
        post: Callable[[Message], object],
    ) -> None:
        self._column = column
        self._viewport = viewport
        self._search = search
        self._scroll_bar = thumb
        self._post = post
        self._has_begun = False
        self._reported_at = 0.0
        """The time of the last progress report."""
        self._next_step: asyncio.Handle | None = None
        """The scheduled next step of a search."""
        self._start_anchor: ScrollAnchor | None = None
        """The position where the search began; None if the view followed the end."""

    @property
    def is_on(self) -> bool:
        return self._search.is_on

    @property
    def hit_count(self) -> int:
        return self._search.count

    def start_search(self) -> None:
        """Begins a search in the transcript: remembers the scroll position, from which each changed query searches and
        to which cancelling returns."""
        self._has_begun = True
        self._start_anchor = self._viewport.remember_place()

    def cancel(self) -> None:
        self._return_to_start()
        self.end_search()

    def _return_to_start(self) -> None:
        if self._has_begun:
            self._viewport.set_following(self._start_anchor is None)
            self._viewport.restore_anchor(self._start_anchor)

    def search(self, query: str) -> None:
        """Searches the whole transcript for a query and shows the first hit after the start position, else the last one
        before."""
        self._return_to_start()
        self._stop_searching()
        problem = ""
        try:
            self._search.start_counting(query, self._column.items, self._first_visible_index)
        except BadPattern as error:
            problem = str(error)
        self._viewport.repaint()
        if problem:
            self._show_count(problem)
        else:
            self._continue_search()

    @property
    def _first_visible_index(self) -> int:
        """The index of the first block that is visible."""
        return max(0, self._column.heights.block_at(self._viewport.top))

    def _continue_search(self) -> None:
        """Searches further blocks for some milliseconds, shows the first hit as soon as it is known, and schedules the
        next step."""
        self._next_step = None
        search, items = self._search, self._column.items
        is_done = search.continue_counting(SEARCH_TIME_SLICE)
        if (
            search.current_hit is None
            and search.count
            and search.is_first_hit_known(items, self._first_visible_index)
        ):
            self._step_in_hits(1)
        if is_done:
            self._scroll_bar.forget_shown()  # its marks are from the earlier results
            self._scroll_bar.update_if_moved()
        else:
            self._next_step = asyncio.get_running_loop().call_soon(self._continue_search)
        if is_done or monotonic() - self._reported_at > REPORT_INTERVAL:
            self._reported_at = monotonic()
            self._show_count()

    def _stop_searching(self) -> None:
        if self._next_step is not None:
            self._next_step.cancel()
            self._next_step = None

    def end_search(self) -> None:
        """Ends the search; the view stays where it is."""
        self._has_begun = False
        self._stop_searching()
        self._search.clear()
        self._scroll_bar.update_if_moved()
        self._viewport.repaint()
        self._show_count()

    def step(self, direction: int) -> None:
        """Shows the next or previous hit of the search."""
        if not self._search.is_on:
            return
        self._search.update(self._column.items)
        self._search.continue_counting(SEARCH_TIME_SLICE)
        self._step_in_hits(direction)
        self._show_count()

    def _step_in_hits(self, direction: int) -> None:
        at = self._index_of_current_hit()
        if at is None:
            self._search.current_hit = None
            at = self._first_visible_index
        hit = self._search.step(direction, self._column.items, at)
        if hit is not None:
            self._show_hit(hit)

    def _index_of_current_hit(self) -> int | None:
        """Returns the index of the block with the current hit; None if that hit no longer exists."""
        shown = self._search.current_hit
        at = self._column.index_of(shown.block_id) if shown is not None else None
        if (
            shown is None
            or at is None
            or shown.index_in_block >= self._search.hits_in(self._column.items[at])
        ):
            return None
        return at

    def _show_count(self, problem: str = "") -> None:
        search, at = self._search, self._index_of_current_hit()
        place = search.hit_number(self._column.items, at) if at is not None else 0
        self._post(messages.SearchChanged(search.count, place, problem, is_done=search.is_done))

    def _show_hit(self, hit: Hit) -> None:
        column, viewport = self._column, self._viewport
        index = column.index_of(hit.block_id)
        if index is None or column.width <= 0:
            return
        item = column.items[index]
        expansion = column.expansion
        column.measure(index)
        drawn = len(self._search.hit_spans(item, expansion))
        # A folded prompt shows its end, whose hits are not numbered as drawn.
        least = (
            self._search.hits_in(item) if isinstance(item.block, UserPromptBlock) else hit.index_in_block + 1
        )
        if drawn < least and item.can_expand and item.current_extent(expansion) is not BlockExtent.WHOLE:
            item.toggle(expansion, BlockExtent.WHOLE)
            refresh_block_in_stack(column, index)
        row = self._hit_row(item, hit.index_in_block)
        y = column.heights.top_of_block(index) + row
        room = viewport.height
        place = viewport.top
        if not place <= y < place + room - 1:
            place = column.position_after_scroll(column.heights.top_of_block(index), row - room // 3, room)
        viewport.scroll_to_top_row(place)

    def _hit_row(self, item: BlockItem, number: int) -> int:
        spans = self._search.hit_spans(item, self._column.expansion)
        if not spans or not item.leaves:
            return item.gap
        start = spans[min(number, len(spans) - 1)][0]
        found = max((i for i, base in enumerate(item.leaf_text_offsets) if base <= start), default=0)
        leaf = item.leaves[found]
        return item.top_of_leaf(leaf) + leaf.row_at(start - item.leaf_text_offsets[found])
