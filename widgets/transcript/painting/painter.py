"""Paints the visible rows: cached strips for most rows, and the overlay on them.

`row_strips` turns a row of a leaf into a strip."""

import time

from textual.geometry import Region
from textual.selection import Selection
from textual.strip import Strip
from textual.widget import Widget

from widgets import textual_internals as textual_inside
from widgets.graphics.terminal_images import images_of
from widgets.key_labels import key_label
from widgets.transcript.column import Column, RowInSight
from widgets.transcript.leaves.safe_text import crop
from widgets.transcript.overlay import Overlay
from widgets.transcript.painting.row_strips import (
    StyledRange,
    paint,
    paint_marked,
    with_end,
    with_places,
    with_start,
)
from widgets.transcript.painting.style_lookup import CurrentStyles, StyleLookup
from widgets.transcript.painting.thumbnails import Thumbnails
from widgets.transcript.pointing import offset_in, range_in
from widgets.transcript.viewport import Viewport


class Painter:
    """Paints the visible rows of a transcript."""

    def __init__(
        self, widget: Widget, column: Column, viewport: Viewport, overlay: Overlay, look: CurrentStyles
    ) -> None:
        self._widget = widget
        self._column = column
        self._viewport = viewport
        self._overlay = overlay
        self._look = look
        self._shown: list[Strip] = []
        self.thumbnails = Thumbnails(column, viewport, lambda: images_of(widget.app))
        self.cost = 0.0
        """The CPU seconds spent painting since it was last set to zero."""

    def forget_look(self) -> None:
        """Drops all painted rows after the theme changed."""
        self._look.forget()
        for item in self._column.items:
            item.forget_colours()
        self._viewport.forget_shown()

    def set_links_enabled(self, is_wanted: bool) -> None:
        """Sets whether links are written so that the terminal can open them."""
        if is_wanted != self._look.has_links:
            self._look.has_links = is_wanted
            self.forget_look()

    def lines(self, crop: Region) -> list[Strip]:
        # The compositor asks for the whole visible region on every partial update: mostly kept strips.
        began = time.thread_time()
        textual_inside.clear_dirty_regions(self._widget)
        strips = self.rows(crop.y, crop.height)
        self._shown = strips if crop.y == 0 and crop.height >= self._viewport.height else []
        self.cost += time.thread_time() - began
        if crop.x or crop.width < self._viewport.width:
            return [strip.crop(crop.x, crop.x + crop.width) for strip in strips]
        return strips

    def line_with_places(self, y: int) -> Strip:
        """Returns a row with text positions in its cells, to find what is under the pointer."""
        width = self._viewport.width
        strip = self.rows(y, 1)[0]
        rows = self._viewport.rows
        if y >= len(rows) or (leaf := rows[y].leaf) is None:
            return strip
        item = rows[y].item
        index = self._column.index_of(item.block.id) or 0
        base = item.base_of(leaf)
        places = [(base + offset_in(leaf, rows[y].row, x), index) for x in range(width)]
        return with_places(strip, places)

    def repaint_changed(self, first: int) -> None:
        """Repaints, from a row on, only the rows that changed.

        The last row is always repainted, because it shows labels about the rows below."""
        widget, height = self._widget, self._viewport.height
        self._viewport.rows_changed()
        first = max(0, min(first, height - 1))
        if len(self._shown) != height:
            widget.refresh(widget.size.region)
            return
        changed = [
            Region(0, first + row, widget.size.width, 1)
            for row, strip in enumerate(self.rows(first, height - first))
            if strip is not self._shown[first + row] and strip != self._shown[first + row]
        ]
        if changed:
            widget.refresh(*changed)

    def as_text(self) -> str:
        """Returns the visible rows as text."""
        strips = self.rows(0, self._viewport.height)
        lines = ["".join(segment.text for segment in strip).rstrip() for strip in strips]
        return "\n".join(lines).rstrip("\n")

    def rows(self, first: int, count: int) -> list[Strip]:
        """Returns visible rows in full width."""
        viewport, overlay = self._viewport, self._overlay
        width, look = viewport.width, self._look.now
        blank = look.blank(width)
        in_sight = viewport.rows
        self.thumbnails.want(in_sight)
        rows = in_sight[first : first + count]
        selection = self._widget.text_selection
        if selection is None and not overlay.search.is_on and not overlay.cursor and overlay.hovered is None:
            strips = [blank if leaf is None else paint(leaf, row, width, look) for _, leaf, row in rows]
        else:
            strips = [self._overlaid(row, selection, width, look) for row in rows]
        if len(strips) < count:
            strips += [blank] * (count - len(strips))
        if strips and first + count == viewport.height:
            strips[-1] = self._labelled(strips[-1], look, width)
        return strips

    def _labelled(self, strip: Strip, look: StyleLookup, width: int) -> Strip:
        """Adds labels to the last row: the hovered link's target, and new content below."""
        viewport = self._viewport
        if self._overlay.hovered is not None:
            address = crop(f" {self._overlay.hovered.address}", max(8, width - 20)) + " "
            strip = look.finish(with_start(strip, address, look.style("hover"), width))
        if viewport.new_below and not viewport.is_following:
            label = " · ".join(filter(None, (f" ↓ {viewport.new_below} new", self._end_key()))) + " "
            strip = look.finish(with_end(strip, label, look.style("new-below"), width))
        return strip

    def _end_key(self) -> str:
        """Returns the label of the key that scrolls to the end: the blocks' key if they have the
        focus, else the page's."""
        own = textual_inside.keymap_of(self._widget.app)
        if self._widget.has_focus:
            return key_label(own, "transcript.end", "End")
        return key_label(own, "tui.altScreen.bottom", "Ctrl+End")

    def _overlaid(self, row: RowInSight, selection: Selection | None, width: int, look: StyleLookup) -> Strip:
        """Returns a row with its overlay: selection, search hits, the mark of the focused block."""
        marks = self._marks(row, selection, look) if row.leaf is not None else []
        if row.leaf is None:
            strip = look.blank(width)
        elif marks:
            strip = paint_marked(row.leaf, row.row, width, look, marks)
        else:
            strip = paint(row.leaf, row.row, width, look)
        if self._overlay.cursor and row.item.block.id == self._overlay.cursor and not _is_gap(row):
            first = strip.text[:1]
            says_state = first not in " │›▸▾·"
            sign, style = (first, "focus-glyph") if says_state else ("▌", "focus")
            strip = look.finish(with_start(strip, sign, look.style(style), width))
        return strip

    def _marks(self, row: RowInSight, selection: Selection | None, look: StyleLookup) -> list[StyledRange]:
        item, leaf = row.item, row.leaf
        assert leaf is not None
        base = item.base_of(leaf)
        start, end = leaf.layout(self._column.width)[row.row]
        first, last = base + start, base + max(end, start)
        marks: list[StyledRange] = []
        hovered, search = self._overlay.hovered, self._overlay.search
        if hovered is not None and hovered.leaf is leaf:
            marks.append(StyledRange(hovered.start, hovered.end, look.style("hover")))
        if search.is_on:
            shown = search.shown
            for number, (a, b) in enumerate(search.spans(item, self._column.expansion)):
                if b > first and a < last:
                    is_shown = (
                        shown is not None and shown.block_id == item.block.id and shown.number == number
                    )
                    style = look.style("current-match" if is_shown else "match")
                    marks.append(StyledRange(a - base, b - base, style))
        if selection is not None:
            index = self._column.index_of(item.block.id) or 0
            a, b = range_in(selection, index, 1 << 40)
            if b > first and a < last:
                marks.append(StyledRange(a - base, b - base, look.selection()))
        return marks


def _is_gap(row: RowInSight) -> bool:
    return row.leaf is None and row.row < 0
