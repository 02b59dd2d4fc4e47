"""Has the thumbnails made that are in sight and are not there yet; what one looks like is in `picture`."""

import asyncio

from widgets.transcript.column import Column, RowInSight
from widgets.transcript.item import Item
from widgets.transcript.picture import PictureLeaf
from widgets.transcript.viewport import Viewport


class Thumbnails:
    def __init__(self, column: Column, viewport: Viewport) -> None:
        self._column = column
        self._viewport = viewport
        self._seen: list[RowInSight] | None = None
        self.tasks: dict[PictureLeaf, asyncio.Task[None]] = {}
        """Those that are being made."""

    def want(self, rows: list[RowInSight]) -> None:
        """These rows are in sight; looked through once."""
        if rows is self._seen:
            return
        self._seen = rows
        for row in rows:
            leaf = row.leaf
            if isinstance(leaf, PictureLeaf) and leaf.is_waiting and leaf not in self.tasks:
                self.tasks[leaf] = asyncio.get_running_loop().create_task(self._make(row.item, leaf))

    async def _make(self, item: Item, leaf: PictureLeaf) -> None:
        pixels = await asyncio.to_thread(leaf.make)
        del self.tasks[leaf]
        leaf.take(pixels)
        index = self._column.index_of(item.block.id)
        if pixels is None and index is not None:
            anchor = self._viewport.remember_place()
            item.is_exact = False
            self._column.measure(index)
            self._viewport.restore(anchor)
        self._viewport.repaint()
