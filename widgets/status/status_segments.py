"""The segments of the page's top and bottom line: frozen values, and which of them fit into a width. Pure."""

from collections.abc import Mapping, Sequence
from functools import lru_cache

import msgspec

from tools.lazy_patterns import lazy_regex
from widgets.lists.list_rows import RowTone
from widgets.row_builder import cells, clean_single_line
from widgets.transcript.leaves import ansi_text
from widgets.transcript.leaves.safe_text import cut_end_to_fit

STATUS_SEGMENT_GAP = "  "


class StatusSegment(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a status line. `text` is shown, or `short` if there is little room."""

    id: str
    text: str
    short: str = ""
    is_elastic: bool = False
    """Whether the text may be cut to any length between `short` and `text`."""
    tone: RowTone = "muted"
    importance: int = 5
    """Segments with the lowest importance are dropped first."""
    is_right: bool = False
    coloured_text: str = ""
    """`text` with SGR sequences, whose colours are shown where the text is whole; it has no other sequences."""
    bar: float = -1.0
    """The fill of a bar before the text, from 0 to 1; negative for no bar."""


USAGE_BAR_CELLS = 6
_MAX_SHORT_STATUS_SCRIPT_CELLS = 24


@lru_cache(maxsize=256)
def _text_cells(text: str) -> int:
    return cells(clean_single_line(text))


_SGR_PATTERN = lazy_regex(r"\x1b\[[\d;:]*m")


def status_script_segment(id: str, line: str) -> StatusSegment:
    """Returns the status segment for a line that a user's status script printed. Colours stay; any other escape
    sequence is removed."""
    text = clean_single_line(ansi_text.strip_ansi(line))
    codes = _SGR_PATTERN.findall(line)
    pieces = [clean_single_line(ansi_text.strip_ansi(piece)) for piece in _SGR_PATTERN.split(line)]
    kept = "".join(piece + code for piece, code in zip(pieces, (*codes, ""), strict=True))
    return StatusSegment(
        id=id,
        text=text,
        short=cut_end_to_fit(text, _MAX_SHORT_STATUS_SCRIPT_CELLS)
        if len(text) > _MAX_SHORT_STATUS_SCRIPT_CELLS
        else "",
        is_elastic=True,
        importance=3,
        coloured_text=kept if codes and "".join(pieces) == text else "",
    )


def status_segment_cells(segment: StatusSegment) -> int:
    return _text_cells(segment.text) + (USAGE_BAR_CELLS + 1 if segment.bar >= 0 else 0)


def fitting_status_segments(segments: Sequence[StatusSegment], width: int) -> list[StatusSegment]:
    """Returns the status segments that fit a width: long ones are shortened first, then the least important are
    dropped."""
    whole = [segment for segment in segments if segment.text]
    left = _shorten_segments(list(whole), width)
    while len(left) > 1 and _total_cells(left) > width:
        left.remove(min(reversed(left), key=lambda item: item.importance))
    return _lengthen_segments(left, {segment.id: segment for segment in whole}, width)


def _shorten_segments(left: list[StatusSegment], width: int) -> list[StatusSegment]:
    """Replaces status segments by their short form, the least important first, until all fit the width."""
    for segment in sorted(left, key=lambda item: item.importance):
        if _total_cells(left) <= width:
            break
        if not segment.short and segment.bar < 0:
            continue
        at = next(index for index, item in enumerate(left) if item.id == segment.id)
        left[at] = msgspec.structs.replace(segment, text=segment.short or segment.text, bar=-1.0)
    return left


def _lengthen_segments(
    left: list[StatusSegment], whole: Mapping[str, StatusSegment], width: int
) -> list[StatusSegment]:
    """Gives shortened status segments back as much of their text as the free room allows."""
    for segment in sorted(left, key=lambda item: -item.importance):
        room = width - _total_cells(left) + status_segment_cells(segment)
        longer = whole[segment.id]
        if longer.is_elastic and segment.text != longer.text:
            longer = msgspec.structs.replace(
                longer, text=cut_end_to_fit(clean_single_line(longer.text), room)
            )
        if status_segment_cells(longer) <= room:
            left[left.index(segment)] = longer
    return left


def _total_cells(segments: Sequence[StatusSegment]) -> int:
    return sum(status_segment_cells(segment) for segment in segments) + len(STATUS_SEGMENT_GAP) * max(
        0, len(segments) - 1
    )
