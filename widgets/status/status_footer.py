"""The line of status segments at the bottom of the page. It redraws only when a segment changed."""

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import ClassVar

from rich.style import Style
from rich.text import Text
from textual.strip import Strip
from textual.widget import Widget

from widgets.row_builder import RIGHT_MARGIN_CELLS, RowBuilder, clean_single_line, divide_bar_cells
from widgets.status.status_segments import (
    STATUS_SEGMENT_GAP,
    USAGE_BAR_CELLS,
    StatusSegment,
    fitting_status_segments,
    status_segment_cells,
)

SEGMENT_TONES = ("text", "muted", "dim", "accent", "success", "warning", "error")


class SegmentLine(Widget):
    """A widget that shows status segments in one line, some at the left and some at the right edge."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        *(f"segment-line--{tone}" for tone in SEGMENT_TONES),
        "segment-line--track",
    }
    DEFAULT_CSS = "SegmentLine { height: 1; }"

    def __init__(self, segments: Sequence[StatusSegment] = (), *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.segments = tuple(segments)

    def show(self, segments: Sequence[StatusSegment]) -> None:
        """Shows other status segments; does nothing if they are unchanged."""
        segments = tuple(segments)
        if segments != self.segments:
            self.segments = segments
            self.refresh()

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        line = RowBuilder(width, self.rich_style).pad(2)
        shown = fitting_status_segments(self.segments, width - 2 - RIGHT_MARGIN_CELLS)
        left = [segment for segment in shown if not segment.is_right]
        right = [segment for segment in shown if segment.is_right]
        self._draw(line, left)
        size = sum(status_segment_cells(segment) for segment in right) + len(STATUS_SEGMENT_GAP) * max(
            0, len(right) - 1
        )
        if right:
            line.fill_to_column(width - RIGHT_MARGIN_CELLS - size)
            self._draw(line, right)
        return line.strip()

    def _draw(self, line: RowBuilder, segments: Sequence[StatusSegment]) -> None:
        for number, segment in enumerate(segments):
            style = self.get_component_rich_style(f"segment-line--{segment.tone}")
            line.add(STATUS_SEGMENT_GAP if number else "")
            if segment.bar >= 0:
                track = self.get_component_rich_style("segment-line--track")
                [filled] = divide_bar_cells([segment.bar], USAGE_BAR_CELLS)
                line.add("━" * filled, style).add("─" * (USAGE_BAR_CELLS - filled), track).add(" ")
            text = clean_single_line(segment.text)
            pieces = _styled_pieces(segment.coloured_text) if segment.coloured_text else ()
            if "".join(piece for piece, _ in pieces) == text:
                for piece, colours in pieces:
                    line.add(piece, style + colours)
            else:
                line.add(text, style)


@lru_cache(maxsize=16)
def _styled_pieces(coloured: str) -> tuple[tuple[str, Style], ...]:
    """Splits a text with SGR sequences into pieces of one style each, without the sequences."""
    text = Text.from_ansi(coloured)
    ends = sorted({0, len(text), *(at for span in text.spans for at in (span.start, span.end))})
    return tuple(
        (
            text.plain[start:end],
            sum(
                (
                    span.style if isinstance(span.style, Style) else Style.parse(span.style)
                    for span in text.spans
                    if span.start <= start < span.end
                ),
                Style.null(),
            ),
        )
        for start, end in pairwise(ends)
    )


class StatusFooter(SegmentLine):
    """The bottom line of the page: folder and branch, usage and cost, model."""
