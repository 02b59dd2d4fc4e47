"""Folds bursts into one row. A burst is a run of consecutive tool calls that only read or search. A call that failed,
runs or was opened by hand keeps its own row.

The row opens by the key and the click of a card."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tools.number_formatting import count_with_noun
from tools.tool_result_values import Card
from widgets.transcript.block_expansion import BlockExpansion, BlockExtent
from widgets.transcript.transcript_blocks import Block, CardState, ToolCallBlock

if TYPE_CHECKING:
    from widgets.transcript.block_item import BlockItem

_READ_ONLY_CARD_KINDS = ("read", "search", "fetch")
_MIN_CALLS_TO_FOLD = 2
_MAX_NAMES = 4
_MAX_CALLS_IN_BURST = 50
"""The calls of one burst, so that a result costs the same however many came before it."""


class ToolCallBurst:
    """Consecutive tool calls that only read or search, which the transcript can fold into one row."""

    def __init__(self) -> None:
        self.items: list[BlockItem] = []
        self.is_open = False
        """Whether each of its calls has a row, because the user opened it."""

    def fold(self, expansion: BlockExpansion) -> bool:
        """Folds those calls of a burst that may be folded into the row of the first one, or unfolds all, by their
        current state; returns whether that changed anything."""
        folded = [] if self.is_open else [item for item in self.items if _is_foldable(item, expansion)]
        if len(folded) < _MIN_CALLS_TO_FOLD:
            folded = []
        cards = tuple(item.block for item in folded if isinstance(item.block, ToolCallBlock))
        hidden = {id(item) for item in folded[1:]}
        has_changed = False
        for item in self.items:
            shown = cards if folded and item is folded[0] else ()
            has_changed |= item.show_folded_calls(shown, is_hidden=id(item) in hidden)
        return has_changed


def join_tool_call_bursts(items: Sequence["BlockItem"], above: "BlockItem | None" = None) -> None:
    """Puts each call that only reads or searches into the burst of the call above it, or into a new one."""
    for item in items:
        if _is_read_only_call(item.block):
            burst = above.burst if above is not None else None
            if burst is None or len(burst.items) >= _MAX_CALLS_IN_BURST:
                burst = ToolCallBurst()
            burst.items.append(item)
            item.burst = burst
        if not item.is_empty or item.burst is not None:
            above = item


def fold_tool_call_bursts(items: Sequence["BlockItem"], expansion: BlockExpansion) -> None:
    for item in items:
        if item.burst is not None and item.burst.items[0] is item:
            item.burst.fold(expansion)


def _is_read_only_call(block: Block) -> bool:
    return isinstance(block, ToolCallBlock) and block.card.kind in _READ_ONLY_CARD_KINDS


def _is_foldable(item: "BlockItem", expansion: BlockExpansion) -> bool:
    block = item.block
    return (
        isinstance(block, ToolCallBlock)
        and block.state is CardState.DONE
        and not block.card.doubt
        and not item.expanded
        and item.current_extent(expansion) <= BlockExtent.RESULT
    )


def folded_burst_card(cards: Sequence[ToolCallBlock]) -> Card:
    """Returns the card that stands for the folded calls of a burst: which files were read, and how many searches there
    were."""
    read = [_file_name(one.card.subject) for one in cards if one.card.kind == "read"]
    names = list(dict.fromkeys(filter(None, read)))
    shown = names[:_MAX_NAMES]
    if len(names) > _MAX_NAMES:
        shown.append(count_with_noun(len(names) - _MAX_NAMES, "more file"))
    searches = sum(one.card.kind == "search" for one in cards)
    pages = sum(one.card.kind == "fetch" for one in cards)
    if searches:
        shown.append(count_with_noun(searches, "search", "searches"))
    if pages:
        shown.append(count_with_noun(pages, "page"))
    return Card(
        title="Explored", subject=", ".join(shown), summary=count_with_noun(len(cards), "call"), kind="read"
    )


def _file_name(subject: str) -> str:
    """Returns the last part of a file's path, without a range of lines."""
    path, colon, lines = subject.rpartition(":")
    named = path if colon and lines[:1].isdigit() else subject
    return named.rstrip("/").rpartition("/")[2]
