"""Lays out only the visible leaves (units of layout) of a very long message, which may have thousands. `tops` holds the
first row of each leaf and the end of the last one. Leaves that are not laid out have estimated heights.

Before rows are shown, their heights are made exact, and the new position of the first row is returned."""

from bisect import bisect_right
from collections.abc import Sequence

from widgets.transcript.leaves.layout_leaf import LayoutLeaf, LongTextLeaf


def leaf_height_or_estimate(leaf: LayoutLeaf, width: int) -> int:
    """Returns the height of a leaf at a width; an estimate for a long text that is not laid out yet."""
    if isinstance(leaf, LongTextLeaf) and leaf.width != width:
        return leaf.estimated_height(width)
    return leaf.measure_height(width)


def has_estimated_leaf_heights(leaves: Sequence[LayoutLeaf], width: int) -> bool:
    """Returns whether the height of any leaf at this width is only an estimate."""
    return any(leaf.width != width for leaf in leaves)


def measure_leaves_from_row(
    leaves: Sequence[LayoutLeaf], tops: list[int], width: int, row: int, rows: int
) -> int:
    """Lays out the leaves of a long message that cover some rows from a row on; returns the row's new position."""
    index = _leaf_index(tops, row)
    row = tops[index] + _lay_out_and_locate(leaves, tops, width, index, row)
    while index + 1 < len(leaves) and tops[index + 1] < row + rows:
        index += 1
        _lay_out(leaves, tops, width, index)
    return row


def measure_leaves_above_row(
    leaves: Sequence[LayoutLeaf], tops: list[int], width: int, row: int, rows: int
) -> int:
    """Lays out the leaves of a long message that cover some rows above a row; returns the row's new position. The
    message's end counts as a row."""
    index = at = _leaf_index(tops, min(row, tops[-1] - 1))
    inside = _lay_out_and_locate(leaves, tops, width, at, row)
    missing = rows - inside
    while missing > 0 and index > 0:
        index -= 1
        missing -= _lay_out(leaves, tops, width, index)
    return tops[at] + inside


def _leaf_index(tops: list[int], row: int) -> int:
    return max(0, min(bisect_right(tops, row) - 1, len(tops) - 2))


def _lay_out_and_locate(
    leaves: Sequence[LayoutLeaf], tops: list[int], width: int, index: int, row: int
) -> int:
    """Lays out the leaf of a long message that contains a row; returns the row's new position within the leaf, in
    proportion to its new height."""
    inside, before = row - tops[index], tops[index + 1] - tops[index]
    after = _lay_out(leaves, tops, width, index)
    return inside if after == before or inside <= 0 else inside * after // max(1, before)


def _lay_out(leaves: Sequence[LayoutLeaf], tops: list[int], width: int, index: int) -> int:
    """Lays out one leaf of a long message and moves the leaves below it; returns its height."""
    height = leaves[index].measure_height(width)
    change = height - (tops[index + 1] - tops[index])
    if change:
        tops[index + 1 :] = [top + change for top in tops[index + 1 :]]
    return height
