"""Prepares the images of a transcript that become visible; `picture_leaf` draws them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from widgets.transcript.block_stack import BlockStack, LocatedTranscriptRow
from widgets.transcript.leaves.image_leaf import ImageLeaf
from widgets.transcript.transcript_viewport import Viewport

if TYPE_CHECKING:
    from collections.abc import Callable

    from widgets.graphics.terminal_images import TerminalImages
    from widgets.transcript.block_item import BlockItem


class Thumbnails:
    """Prepares the images in the visible rows of a transcript in the background."""

    def __init__(self, column: BlockStack, viewport: Viewport, images: Callable[[], TerminalImages]) -> None:
        """Creates the preparation of a transcript's images. `images`: returns the terminal's images; called when the
        first picture becomes visible."""
        self._column = column
        self._viewport = viewport
        self._images_of_terminal = images
        self._images: TerminalImages | None = None
        self._seen: list[LocatedTranscriptRow] | None = None
        self.tasks: dict[ImageLeaf, asyncio.Task[None]] = {}
        """The images that are being prepared."""

    def request_images(self, rows: list[LocatedTranscriptRow]) -> None:
        """Starts preparing the images in the visible rows that have no drawing yet; shows cached ones at once. Each
        list of rows is checked once."""
        if rows is self._seen:
            return
        self._seen = rows
        for row in rows:
            leaf = row.leaf
            if not isinstance(leaf, ImageLeaf):
                continue
            if (
                leaf.is_waiting
                and (kept := self._terminal_images().cached_image(*leaf.image_drawing_request)) is not None
            ):
                leaf.show_image_drawing(kept)
            elif leaf.is_waiting and leaf not in self.tasks:
                self.tasks[leaf] = asyncio.get_running_loop().create_task(self._prepare_image(row.item, leaf))
            elif leaf.drawn is not None:
                self._terminal_images().mark_image_used(leaf.drawn)

    def _terminal_images(self) -> TerminalImages:
        if self._images is None:
            self._images = self._images_of_terminal()
            self._images.add_image_listener(self)
        return self._images

    def images_changed(self) -> None:
        """Called when the terminal lost images or shows them in another way: drops the painted rows of images and
        repaints, which prepares the visible ones again."""
        self._seen = None
        for item in self._column.items:
            for leaf in item.leaves or ():
                if isinstance(leaf, ImageLeaf):
                    leaf.strips = {}
        self._viewport.repaint()

    async def _prepare_image(self, item: BlockItem, leaf: ImageLeaf) -> None:
        drawn = await self._terminal_images().draw_image(*leaf.image_drawing_request)
        del self.tasks[leaf]
        leaf.show_image_drawing(drawn)
        index = self._column.index_of(item.block.id)
        if isinstance(drawn, str) and index is not None:
            anchor = self._viewport.remember_place()
            item.is_exact = False
            self._column.measure(index)
            self._viewport.restore_anchor(anchor)
        self._seen = None
        self._viewport.repaint()
