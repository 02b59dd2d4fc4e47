"""Paints the visible rows of a transcript: cached strips for most rows, and marks such as the selection on them.
`row_strips` turns a row into a strip."""

import time

from textual.geometry import Region
from textual.selection import Selection
from textual.strip import Strip
from textual.widget import Widget

from widgets import textual_internals as textual_inside
from widgets.graphics.terminal_images import terminal_images_of_app
from widgets.key_labels import key_label
from widgets.transcript.block_stack import BlockStack, LocatedTranscriptRow
from widgets.transcript.leaves.layout_leaf import ACTION_LINK_URL_PREFIX
from widgets.transcript.leaves.safe_text import cut_end_to_fit
from widgets.transcript.painting.image_loading import Thumbnails
from widgets.transcript.painting.row_strips import (
    StyledRange,
    paint_leaf_row,
    paint_marked_row,
    strip_with_text_over_right_end,
    with_text_at_start,
    with_text_positions,
)
from widgets.transcript.painting.style_lookup import CurrentStyles, StyleLookup
from widgets.transcript.row_marks import RowMarks
from widgets.transcript.text_under_pointer import offset_at_cell, selected_range
from widgets.transcript.transcript_viewport import Viewport


class Painter:
    """Paints the visible rows of a transcript."""

    def __init__(
        self, widget: Widget, column: BlockStack, viewport: Viewport, overlay: RowMarks, look: CurrentStyles
    ) -> None:
        self._widget = widget
        self._column = column
        self._viewport = viewport
        self._overlay = overlay
        self._look = look
        self._shown_strips: list[Strip] = []
        self.thumbnails = Thumbnails(column, viewport, lambda: terminal_images_of_app(widget.app))
        self.cost = 0.0
        """The CPU seconds spent painting since it was last set to zero."""

    def drop_painted_rows(self) -> None:
        """Drops all painted rows of the transcript after the theme changed."""
        self._look.forget()
        for item in self._column.items:
            item.discard_painted_rows()
        self._viewport.invalidate_all()

    def set_links_enabled(self, is_wanted: bool) -> None:
        """Sets whether links are written so that the terminal itself can open them."""
        if is_wanted != self._look.has_links:
            self._look.has_links = is_wanted
            self.drop_painted_rows()

    def paint_region(self, crop: Region) -> list[Strip]:
        # The compositor asks for the whole visible region on every partial update: mostly kept strips.
        began = time.thread_time()
        textual_inside.clear_dirty_regions(self._widget)
        strips = self.visible_strips(crop.y, crop.height)
        self._shown_strips = strips if crop.y == 0 and crop.height >= self._viewport.height else []
        self.cost += time.thread_time() - began
        if crop.x or crop.width < self._viewport.width:
            return [strip.crop(crop.x, crop.x + crop.width) for strip in strips]
        return strips

    def line_with_positions(self, y: int) -> Strip:
        """Returns a visible row as a strip whose cells hold text positions, to find the text under the pointer."""
        width = self._viewport.width
        strip = self.visible_strips(y, 1)[0]
        rows = self._viewport.rows
        if y >= len(rows) or (leaf := rows[y].leaf) is None:
            return strip
        item = rows[y].item
        index = self._column.index_of(item.block.id) or 0
        base = item.leaf_text_offset(leaf)
        places = [(base + offset_at_cell(leaf, rows[y].row, x), index) for x in range(width)]
        return with_text_positions(strip, places)

    def repaint_changed(self, first: int) -> None:
        """Repaints only those rows from a row on that changed.

        The last row is always repainted, because it shows labels about the rows below."""
        widget, height = self._widget, self._viewport.height
        self._viewport.invalidate_rows()
        first = max(0, min(first, height - 1))
        if len(self._shown_strips) != height:
            widget.refresh(widget.size.region)
            return
        changed = [
            Region(0, first + row, widget.size.width, 1)
            for row, strip in enumerate(self.visible_strips(first, height - first))
            if strip is not self._shown_strips[first + row] and strip != self._shown_strips[first + row]
        ]
        if changed:
            widget.refresh(*changed)

    def as_text(self) -> str:
        """Returns the visible rows of the transcript as plain text."""
        strips = self.visible_strips(0, self._viewport.height)
        lines = ["".join(segment.text for segment in strip).rstrip() for strip in strips]
        return "\n".join(lines).rstrip("\n")

    def visible_strips(self, first: int, count: int) -> list[Strip]:
        """Returns visible rows of the transcript as painted strips in full width, with selection, search hits and
        labels."""
        viewport, overlay = self._viewport, self._overlay
        width, look = viewport.width, self._look.current
        blank = look.blank_strip(width)
        in_sight = viewport.rows
        self.thumbnails.request_images(in_sight)
        rows = in_sight[first : first + count]
        selection = self._widget.text_selection
        if selection is None and not overlay.search.is_on and not overlay.cursor and overlay.hovered is None:
            strips = [
                blank if leaf is None else paint_leaf_row(leaf, row, width, look) for _, leaf, row in rows
            ]
        else:
            strips = [self._add_overlays(row, selection, width, look) for row in rows]
        if len(strips) < count:
            strips += [blank] * (count - len(strips))
        if strips and first + count == viewport.height:
            strips[-1] = self._add_labels(strips[-1], look, width)
        return strips

    def _add_labels(self, strip: Strip, look: StyleLookup, width: int) -> Strip:
        """Adds labels to the last visible row: the target of the link under the pointer, and how much new content is
        below."""
        viewport = self._viewport
        if self._overlay.hovered is not None and not self._overlay.hovered.address.startswith(
            ACTION_LINK_URL_PREFIX
        ):
            address = cut_end_to_fit(f" {self._overlay.hovered.address}", max(8, width - 20)) + " "
            strip = look.encode_with_filters(with_text_at_start(strip, address, look.style("hover"), width))
        if viewport.new_below and not viewport.is_following:
            label = " · ".join(filter(None, (f" ↓ {viewport.new_below} new", self._end_key_label()))) + " "
            strip = look.encode_with_filters(
                strip_with_text_over_right_end(strip, label, look.style("new-below"), width)
            )
        return strip

    def _end_key_label(self) -> str:
        """Returns the label of the key that scrolls to the end: the transcript's own key if it has the focus, else the
        page's."""
        own = textual_inside.app_keymap(self._widget.app)
        if self._widget.has_focus:
            return key_label(own, "transcript.end", "End")
        return key_label(own, "tui.altScreen.bottom", "Ctrl+End")

    def _add_overlays(
        self, row: LocatedTranscriptRow, selection: Selection | None, width: int, look: StyleLookup
    ) -> Strip:
        """Paints a row with the marks on it: selection, search hits, and the sign of the focused block."""
        marks = self._marked_ranges(row, selection, look) if row.leaf is not None else []
        if row.leaf is None:
            strip = look.blank_strip(width)
        elif marks:
            strip = paint_marked_row(row.leaf, row.row, width, look, marks)
        else:
            strip = paint_leaf_row(row.leaf, row.row, width, look)
        if self._overlay.cursor and row.item.block.id == self._overlay.cursor and not _is_blank_row(row):
            first = strip.text[:1]
            says_state = first not in " │›▸▾·"
            sign, style = (first, "focus-glyph") if says_state else ("▌", "focus")
            strip = look.encode_with_filters(with_text_at_start(strip, sign, look.style(style), width))
        return strip

    def _marked_ranges(
        self, row: LocatedTranscriptRow, selection: Selection | None, look: StyleLookup
    ) -> list[StyledRange]:
        item, leaf = row.item, row.leaf
        assert leaf is not None
        base = item.leaf_text_offset(leaf)
        start, end = leaf.layout(self._column.width)[row.row]
        first, last = base + start, base + max(end, start)
        marks: list[StyledRange] = []
        hovered, search = self._overlay.hovered, self._overlay.search
        if hovered is not None and hovered.leaf is leaf:
            marks.append(StyledRange(hovered.start, hovered.end, look.style("hover")))
        if search.is_on:
            shown = search.current_hit
            for number, (a, b) in enumerate(search.hit_spans(item, self._column.expansion)):
                if b > first and a < last:
                    is_shown = (
                        shown is not None
                        and shown.block_id == item.block.id
                        and shown.index_in_block == number
                    )
                    style = look.style("current-match" if is_shown else "match")
                    marks.append(StyledRange(a - base, b - base, style))
        if selection is not None:
            index = self._column.index_of(item.block.id) or 0
            a, b = selected_range(selection, index, 1 << 40)
            if b > first and a < last:
                marks.append(StyledRange(a - base, b - base, look.selection_style()))
        return marks


def _is_blank_row(row: LocatedTranscriptRow) -> bool:
    return row.leaf is None and row.row < 0
