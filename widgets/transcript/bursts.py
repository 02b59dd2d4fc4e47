"""Folds bursts into one row. A burst is a run of consecutive tool calls that only read or search. A call that failed,
runs or was opened by hand keeps its own row.

The row opens by the key and the click of a card."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tools.amounts import pluralized
from tools.results import Card
from widgets.transcript.blocks import Block, CardBlock, CardState
from widgets.transcript.expansion import Expansion, Extent

if TYPE_CHECKING:
    from widgets.transcript.item import Item

_READ_ONLY_KINDS = ("read", "search", "fetch")
_MIN_FOLDED_CALLS = 2
_MAX_NAMES = 4
_MAX_BURST_ITEMS = 50
"""The calls of one burst, so that a result costs the same however many came before it."""


class Burst:
    """Consecutive tool calls that only read or search, which the transcript can fold into one row."""

    def __init__(self) -> None:
        self.items: list[Item] = []
        self.is_open = False
        """Whether each of its calls has a row, because the user opened it."""

    def fold(self, expansion: Expansion) -> bool:
        """Folds those calls of a burst that may be folded into the row of the first one, or unfolds all, by their
        current state; returns whether that changed anything."""
        folded = [] if self.is_open else [item for item in self.items if _is_foldable(item, expansion)]
        if len(folded) < _MIN_FOLDED_CALLS:
            folded = []
        cards = tuple(item.block for item in folded if isinstance(item.block, CardBlock))
        hidden = {id(item) for item in folded[1:]}
        has_changed = False
        for item in self.items:
            shown = cards if folded and item is folded[0] else ()
            has_changed |= item.fold_into(shown, is_hidden=id(item) in hidden)
        return has_changed


def join_bursts(items: Sequence["Item"], above: "Item | None" = None) -> None:
    """Puts each call that only reads or searches into the burst of the call above it, or into a new one."""
    for item in items:
        if _is_read_only_call(item.block):
            burst = above.burst if above is not None else None
            if burst is None or len(burst.items) >= _MAX_BURST_ITEMS:
                burst = Burst()
            burst.items.append(item)
            item.burst = burst
        if not item.is_empty or item.burst is not None:
            above = item


def fold_bursts(items: Sequence["Item"], expansion: Expansion) -> None:
    for item in items:
        if item.burst is not None and item.burst.items[0] is item:
            item.burst.fold(expansion)


def _is_read_only_call(block: Block) -> bool:
    return isinstance(block, CardBlock) and block.card.kind in _READ_ONLY_KINDS


def _is_foldable(item: "Item", expansion: Expansion) -> bool:
    block = item.block
    return (
        isinstance(block, CardBlock)
        and block.state is CardState.DONE
        and not block.card.doubt
        and not item.expanded
        and item.current_extent(expansion) <= Extent.RESULT
    )


def folded_burst_card(cards: Sequence[CardBlock]) -> Card:
    """Returns the card that stands for the folded calls of a burst: which files were read, and how many searches there
    were."""
    read = [_file_name(one.card.subject) for one in cards if one.card.kind == "read"]
    names = list(dict.fromkeys(filter(None, read)))
    shown = names[:_MAX_NAMES]
    if len(names) > _MAX_NAMES:
        shown.append(pluralized(len(names) - _MAX_NAMES, "more file"))
    searches = sum(one.card.kind == "search" for one in cards)
    pages = sum(one.card.kind == "fetch" for one in cards)
    if searches:
        shown.append(pluralized(searches, "search", "searches"))
    if pages:
        shown.append(pluralized(pages, "page"))
    return Card(
        title="Explored", subject=", ".join(shown), summary=pluralized(len(cards), "call"), kind="read"
    )


def _file_name(subject: str) -> str:
    """Returns the last part of a file's path, without a range of lines."""
    path, colon, lines = subject.rpartition(":")
    named = path if colon and lines[:1].isdigit() else subject
    return named.rstrip("/").rpartition("/")[2]
