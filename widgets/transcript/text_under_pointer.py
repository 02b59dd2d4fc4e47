"""Converts between cells of the screen and characters of the transcript: what is under the pointer, what a selection
covers and copies."""

from typing import NamedTuple

from textual.geometry import Offset
from textual.selection import Selection

from tools.lazy_patterns import lazy_regex
from widgets.transcript.block_stack import BlockStack, LocatedTranscriptRow
from widgets.transcript.leaves.layout_leaf import LayoutLeaf, StyledPiece
from widgets.transcript.leaves.safe_text import cells

_NAME_PATTERN = lazy_regex(r"(?:[^\W\d]|\$)[\w$]*")
_WORD_PATTERN = lazy_regex(r"[\w./~@:+-]+|\s+|[^\w\s]+")


class TextPlace(NamedTuple):
    """A position in a transcript: the index of the block and the offset in its text."""

    block_index: int
    """The index of the block."""
    offset: int


def offset_at_cell(leaf: LayoutLeaf, row: int, x: int) -> int:
    """Returns the text offset at a cell of a leaf's row; decoration counts as the text after it."""
    x += leaf.shift
    column = 0
    last = leaf.layout(leaf.width)[row][0]
    for piece in leaf.pieces(row):
        size = cells(piece.text)
        if piece.start >= 0:
            if x < column:
                return piece.start
            if x < column + size:
                return _offset_in_piece(piece, x - column)
            last = piece.end
        column += size
    return last


def _offset_in_piece(piece: StyledPiece, x: int) -> int:
    if len(piece.text) != piece.end - piece.start:
        return piece.start
    if piece.text.isascii():
        return piece.start + x
    column = 0
    for index, char in enumerate(piece.text):
        column += cells(char)
        if column > x:
            return piece.start + index
    return piece.end


def piece_at(leaf: LayoutLeaf, row: int, x: int) -> StyledPiece | None:
    """Returns the styled piece of text at a cell of a leaf's row; None after the row's end."""
    x += leaf.shift
    column = 0
    for piece in leaf.pieces(row):
        column += cells(piece.text)
        if x < column:
            return piece
    return None


class Link(NamedTuple):
    """A link in the transcript: its range in the text and its address."""

    leaf: LayoutLeaf
    start: int
    end: int
    address: str


def link_at(leaf: LayoutLeaf, row: int, x: int) -> Link | None:
    """Returns the link at a cell of a leaf's row; None if there is none."""
    piece = piece_at(leaf, row, x)
    if piece is None or not piece.key.startswith("@"):
        return None
    start, end = piece.start, piece.end
    for first, last, key in leaf.runs:
        if first <= start < last and key == piece.key:
            start, end = first, last
    return Link(leaf, start, end, piece.key[1:].partition("\0")[0])


def place_at(column: BlockStack, rows: list[LocatedTranscriptRow], x: int, y: int) -> TextPlace:
    """Returns the position in the transcript under a cell of the viewport; blank rows count as the row below."""
    for distance, (item, leaf, row) in enumerate(rows[max(0, y) :]):
        if leaf is not None:
            offset = offset_at_cell(leaf, row, 0 if distance else x)
            return TextPlace(column.index_of(item.block.id) or 0, item.leaf_text_offset(leaf) + offset)
    return TextPlace(max(0, len(column) - 1), 1 << 40)


def word_at(text: str, offset: int) -> tuple[int, int]:
    """Returns the start and end of the word at a position of a text."""
    start = text.rfind("\n", 0, offset) + 1
    end = text.find("\n", offset)
    line = text[start : end if end >= 0 else len(text)]
    for match in _WORD_PATTERN.finditer(line):
        if match.end() > offset - start:
            return start + match.start(), start + match.end()
    return offset, offset


def name_at(text: str, offset: int) -> str:
    """Returns the identifier at a position; empty if there is none."""
    line = text.rfind("\n", 0, offset) + 1
    for match in _NAME_PATTERN.finditer(text, line):
        if match.start() > offset:
            break
        if match.end() > offset:
            return match[0]
    return ""


def selected_range(selection: Selection, index: int, size: int) -> tuple[int, int]:
    """Returns the start and end of the part of a block's text that a selection covers; both 0 if it covers none."""
    start, end = selection
    first = 0
    last = size
    if start is not None:
        if start.y > index:
            return 0, 0
        first = start.x if start.y == index else 0
    if end is not None:
        if end.y < index:
            return 0, 0
        last = end.x if end.y == index else size
    return max(0, first), min(size, last)


def selected_text(column: BlockStack, selection: Selection) -> str:
    """Returns the text that a selection covers, as it is copied: without wraps, indents and borders."""
    from widgets.transcript.block_item import text_to_copy  # noqa: PLC0415  (came with the first block)

    count = len(column)
    first = min(max(0, selection.start.y), count) if selection.start else 0
    last = min(selection.end.y, count - 1) if selection.end else count - 1
    parts: list[str] = []
    for index in range(first, last + 1):
        item = column.items[index]
        if item.is_hidden:
            continue
        start, end = selected_range(selection, index, len(item.text(column.expansion)))
        if parts:
            parts.append("\n\n" if item.gap else "\n")
        parts.append(text_to_copy(item, column.expansion, start, end))
    return "".join(parts)


def selection_between(one: TextPlace, other: TextPlace) -> Selection:
    """Returns the selection from one position to another, in any order, both characters included."""
    first, last = sorted((one, other))
    return Selection(Offset(first.offset, first.block_index), Offset(last.offset + 1, last.block_index))


def selection_in_block(index: int, start: int, end: int) -> Selection:
    """Returns the selection of a range within one block's text."""
    return Selection(Offset(start, index), Offset(end, index))
