"""Prepares the images of a transcript that become visible; `picture_leaf` draws them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from widgets.transcript.column import Column, LocatedRow
from widgets.transcript.leaves.picture_leaf import PictureLeaf
from widgets.transcript.viewport import Viewport

if TYPE_CHECKING:
    from collections.abc import Callable

    from widgets.graphics.terminal_images import TerminalImages
    from widgets.transcript.item import Item


class Thumbnails:
    """Prepares the images in the visible rows of a transcript in the background."""

    def __init__(self, column: Column, viewport: Viewport, images: Callable[[], TerminalImages]) -> None:
        """Creates the preparation of a transcript's images. `images`: returns the terminal's images; called when the
        first picture becomes visible."""
        self._column = column
        self._viewport = viewport
        self._images_of_terminal = images
        self._images: TerminalImages | None = None
        self._seen: list[LocatedRow] | None = None
        self.tasks: dict[PictureLeaf, asyncio.Task[None]] = {}
        """The images that are being prepared."""

    def request_images(self, rows: list[LocatedRow]) -> None:
        """Starts preparing the images in the visible rows that have no drawing yet; shows cached ones at once. Each
        list of rows is checked once."""
        if rows is self._seen:
            return
        self._seen = rows
        for row in rows:
            leaf = row.leaf
            if not isinstance(leaf, PictureLeaf):
                continue
            if (
                leaf.is_waiting
                and (kept := self._terminal_images().cached_image(*leaf.drawing_request)) is not None
            ):
                leaf.show_drawing(kept)
            elif leaf.is_waiting and leaf not in self.tasks:
                self.tasks[leaf] = asyncio.get_running_loop().create_task(self._prepare_image(row.item, leaf))
            elif leaf.drawn is not None:
                self._terminal_images().mark_used(leaf.drawn)

    def _terminal_images(self) -> TerminalImages:
        if self._images is None:
            self._images = self._images_of_terminal()
            self._images.add_watcher(self)
        return self._images

    def images_changed(self) -> None:
        """Called when the terminal lost images or shows them in another way: drops the painted rows of images and
        repaints, which prepares the visible ones again."""
        self._seen = None
        for item in self._column.items:
            for leaf in item.leaves or ():
                if isinstance(leaf, PictureLeaf):
                    leaf.strips = {}
        self._viewport.repaint()

    async def _prepare_image(self, item: Item, leaf: PictureLeaf) -> None:
        drawn = await self._terminal_images().draw_image(*leaf.drawing_request)
        del self.tasks[leaf]
        leaf.show_drawing(drawn)
        index = self._column.index_of(item.block.id)
        if isinstance(drawn, str) and index is not None:
            anchor = self._viewport.remember_place()
            item.is_exact = False
            self._column.measure(index)
            self._viewport.restore_anchor(anchor)
        self._seen = None
        self._viewport.repaint()
