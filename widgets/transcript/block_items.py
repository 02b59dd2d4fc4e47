"""Creates the layout items of transcript blocks. The drawing code is large, so it is imported with the first block."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from widgets.transcript.blocks import Block

if TYPE_CHECKING:
    from widgets.transcript.item import Item


def make_items(blocks: Iterable[Block]) -> list[Item]:
    found = list(blocks)
    if not found:
        return []
    from widgets.transcript.item import Item  # noqa: PLC0415  (with the first block)

    return [Item(block) for block in found]


def make_reply_item(block_id: str) -> Item:
    """Creates the layout item of a model's reply that begins and will grow."""
    from widgets.transcript.item import Item, reply_placeholder  # noqa: PLC0415  (with the first block)

    return Item(reply_placeholder(block_id), live=True)
