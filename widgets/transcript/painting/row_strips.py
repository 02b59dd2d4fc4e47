"""Converts a row of a leaf (unit of layout) to a strip of exactly the viewport's width."""

from collections.abc import Iterable
from typing import NamedTuple

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from widgets.transcript.leaves.layout_leaf import LayoutLeaf, StyledPiece
from widgets.transcript.leaves.safe_text import cells
from widgets.transcript.painting.style_lookup import StyleLookup


class StyledRange(NamedTuple):
    """A range of a leaf's text in another style: a selection or a search hit."""

    start: int
    end: int
    style: Style


def paint_leaf_row(leaf: LayoutLeaf, row: int, width: int, look: StyleLookup) -> Strip:
    """Returns the painted strip of a leaf's row; the leaf caches it until its width or the colours change."""
    found = leaf.strips.get(row)
    if isinstance(found, Strip):
        return found
    strip = leaf.strips[row] = look.encode_with_filters(
        _make_strip(leaf, row, width, look, leaf.pieces(row), ())
    )
    return strip


def paint_marked_row(
    leaf: LayoutLeaf, row: int, width: int, look: StyleLookup, marks: Iterable[StyledRange]
) -> Strip:
    """Paints a leaf's row with marked ranges such as a selection or search hits; the strip is not cached."""
    pieces = leaf.pieces(row)
    return look.encode_with_filters(_make_strip(leaf, row, width, look, pieces, tuple(marks)))


def _make_strip(
    leaf: LayoutLeaf,
    row: int,
    width: int,
    look: StyleLookup,
    pieces: list[StyledPiece],
    marks: tuple[StyledRange, ...],
) -> Strip:
    style = look.style
    segments: list[Segment] = []
    used = 0
    for piece in pieces:
        used += cells(piece.text)
        if marks and piece.start >= 0:
            segments.extend(_marked_segments(piece, style(piece.key), marks))
        else:
            segments.append(Segment(piece.text, style(piece.key)))
    fill = style(leaf.row_fill_style_key(row) or "text")
    inner = min(width, leaf.width)
    if used > inner or leaf.shift:
        segments = [*_visible_window(segments, used, leaf.shift, inner, look, fill)]
        used = inner
    if used < width:
        segments.append(Segment(" " * (width - used), fill))
    return Strip(segments, width)


def _marked_segments(piece: StyledPiece, base: Style, marks: tuple[StyledRange, ...]) -> Iterable[Segment]:
    text, _, start, end = piece
    is_literal = len(text) == end - start
    styles = [base] * len(text)
    for mark in marks:
        first, last = max(mark.start, start) - start, min(mark.end, end) - start
        if first >= last:
            continue
        if not is_literal:
            first, last = 0, len(text)
        for index in range(first, last):
            styles[index] = base + mark.style
    at = 0
    for index in range(1, len(text) + 1):
        if index == len(text) or (
            styles[index] is not styles[index - 1] and styles[index] != styles[index - 1]
        ):
            yield Segment(text[at:index], styles[at])
            at = index


def _visible_window(
    segments: list[Segment], used: int, shift: int, width: int, look: StyleLookup, fill: Style
) -> Strip:
    """Returns the visible part of a row wider than the view, by how far it is scrolled sideways, with arrows at the
    edges where it continues."""
    shift = max(0, min(shift, used - width))
    shown = Strip(segments, used).crop(shift, shift + width)
    shown = Strip(Segment.adjust_line_length(list(shown), width, style=fill), width)
    arrow = look.style("accent")
    if used > shift + width and width > 2:
        shown = Strip([*shown.crop(0, width - 1), Segment("›", arrow)], width)
    if shift and width > 2:
        shown = Strip([Segment("‹", arrow), *shown.crop(1, width)], width)
    return shown


def with_text_at_start(strip: Strip, text: str, style: Style, width: int) -> Strip:
    """Returns a strip with a text written over its left end."""
    return Strip([Segment(text, style), *strip.crop(cells(text), width)], width)


def strip_with_text_over_right_end(strip: Strip, text: str, style: Style, width: int) -> Strip:
    """Returns a strip with a text written over its right end."""
    size = cells(text)
    return Strip([*strip.crop(0, max(0, width - size)), Segment(text, style)], width)


def with_text_positions(strip: Strip, places: list[tuple[int, int]]) -> Strip:
    """Returns a strip in whose cells the given text positions are stored, as Textual's selection needs them."""
    segments: list[Segment] = []
    column = 0
    for text, style, _ in strip:
        for char in text:
            place = places[min(column, len(places) - 1)]
            meta = Style.from_meta({"offset": place})
            segments.append(Segment(char, (style or Style()) + meta))
            column += cells(char)
    return Strip(segments, strip.cell_length)
