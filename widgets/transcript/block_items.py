"""Creates the layout items of transcript blocks. The drawing code is large, so it is imported with the first block."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from widgets.transcript.transcript_blocks import Block

if TYPE_CHECKING:
    from widgets.transcript.block_item import BlockItem


def make_transcript_items(blocks: Iterable[Block]) -> list[BlockItem]:
    found = list(blocks)
    if not found:
        return []
    from widgets.transcript.block_item import BlockItem  # noqa: PLC0415  (with the first block)

    return [BlockItem(block) for block in found]


def make_reply_item(block_id: str) -> BlockItem:
    """Creates the layout item of a model's reply that begins and will grow."""
    from widgets.transcript.block_item import BlockItem, make_empty_reply_block  # noqa: PLC0415  (with the first block)

    return BlockItem(make_empty_reply_block(block_id), live=True)
