"""Searching in a transcript: from where a search begins, which hit is shown, and where it returns to.

What is found is in `search`, the line that is typed into in `searchbar`.
"""

from collections.abc import Callable

from textual.message import Message

from widgets.transcript import messages
from widgets.transcript.column import Anchor, Column
from widgets.transcript.item import Item
from widgets.transcript.scrollbar import Thumb
from widgets.transcript.search import BadPattern, Hit, Search
from widgets.transcript.viewport import Viewport


class Finder:
    def __init__(
        self,
        column: Column,
        viewport: Viewport,
        search: Search,
        thumb: Thumb,
        post: Callable[[Message], object],
    ) -> None:
        self._column = column
        self._viewport = viewport
        self._search = search
        self._thumb = thumb
        self._post = post
        self._has_begun = False
        self._from: Anchor | None = None
        """None: it began at the end, which was followed."""

    @property
    def is_on(self) -> bool:
        return self._search.is_on

    @property
    def count(self) -> int:
        return self._search.count

    def begin(self) -> None:
        """Remember the place: each further key of a query searches from there, and giving up returns to it."""
        self._has_begun = True
        self._from = self._viewport.remember_place()

    def cancel(self) -> None:
        self._go_back()
        self.end()

    def _go_back(self) -> None:
        if self._has_begun:
            self._viewport.set_following(self._from is None)
            self._viewport.restore(self._from)

    def search(self, query: str) -> None:
        """Look for a query in the whole conversation and show the first hit from here on, else the last one."""
        self._go_back()
        problem = ""
        try:
            self._search.start(query, self._column.items)
        except BadPattern as error:
            problem = str(error)
        if not problem and self._search.found:
            self.step(1)
        else:
            self._viewport.repaint()
            self._tell(problem)

    def end(self) -> None:
        """Stay where the search has led."""
        self._has_begun = False
        self._search.clear()
        self._thumb.sync()
        self._viewport.repaint()
        self._tell()

    def step(self, direction: int) -> None:
        """To the next or previous hit."""
        if not self._search.is_on:
            return
        self._search.update(self._column.items)
        at = self._column.heights.find(self._viewport.top)
        hit = self._search.step(direction, self._column.items, at)
        if hit is not None:
            self._show(hit)
        self._tell()

    def _tell(self, problem: str = "") -> None:
        self._post(messages.SearchChanged(self._search.count, self._search.place, problem))

    def _show(self, hit: Hit) -> None:
        column, viewport = self._column, self._viewport
        index = column.index_of(hit.block_id)
        if index is None or column.width <= 0:
            return
        item = column.items[index]
        expansion = column.expansion
        column.measure(index)
        if (
            item.can_expand
            and not item.is_open(expansion)
            and hit.number >= len(self._search.spans(item, expansion))
        ):
            item.toggle(expansion)
            column.measure(index)
        row = self._row_of(item, hit.number)
        y = column.heights.top(index) + row
        room = viewport.height
        if not viewport.top <= y < viewport.top + room - 1:
            place = column.shift(column.heights.top(index), row - room // 3, room)
            viewport.set_following(place >= column.total - room)
            viewport.commit(place)
        else:
            viewport.set_following(viewport.top >= column.total - room)
            viewport.commit(viewport.top)

    def _row_of(self, item: Item, number: int) -> int:
        spans = self._search.spans(item, self._column.expansion)
        if not spans or not item.leaves:
            return item.gap
        start = spans[min(number, len(spans) - 1)][0]
        found = max((i for i, base in enumerate(item.bases) if base <= start), default=0)
        leaf = item.leaves[found]
        return item.top_of(leaf) + leaf.row_at(start - item.bases[found])
