"""Makes what the column holds of blocks. What draws them is large, and comes with the first one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from widgets.transcript.blocks import Block

if TYPE_CHECKING:
    from widgets.transcript.item import Item


def items_of(blocks: Iterable[Block]) -> list[Item]:
    found = list(blocks)
    if not found:
        return []
    from widgets.transcript.item import Item  # noqa: PLC0415  (with the first block)

    return [Item(block) for block in found]


def reply_item(block_id: str) -> Item:
    """For a reply that begins."""
    from widgets.transcript.item import Item, reply_placeholder  # noqa: PLC0415  (with the first block)

    return Item(reply_placeholder(block_id), live=True)
