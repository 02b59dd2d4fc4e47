"""The segments of the page's top and bottom line: frozen values, and which of them fit into a width. Pure."""

from collections.abc import Mapping, Sequence
from functools import lru_cache

import msgspec

from tools.patterns import late
from widgets.line import cells, plain_line
from widgets.lists.rows import Tone
from widgets.transcript.leaves import ansi_text
from widgets.transcript.leaves.safe_text import cut_end_to_fit

SEGMENT_GAP = "  "


class Segment(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a status line. `text` is shown, or `short` if there is little room."""

    id: str
    text: str
    short: str = ""
    is_elastic: bool = False
    """Whether the text may be cut to any length between `short` and `text`."""
    tone: Tone = "muted"
    importance: int = 5
    """Segments with the lowest importance are dropped first."""
    is_right: bool = False
    coloured_text: str = ""
    """`text` with SGR sequences, whose colours are shown where the text is whole; it has no other sequences."""
    bar: float = -1.0
    """The fill of a bar before the text, from 0 to 1; negative for no bar."""


BAR_CELLS = 6
_MAX_SHORT_SCRIPT_CELLS = 24


@lru_cache(maxsize=256)
def _text_cells(text: str) -> int:
    return cells(plain_line(text))


_SGR = late(r"\x1b\[[\d;:]*m")


def script_segment(id: str, line: str) -> Segment:
    """Returns the status segment for a line that a user's status script printed. Colours stay; any other escape
    sequence is removed."""
    text = plain_line(ansi_text.strip_ansi(line))
    codes = _SGR.findall(line)
    pieces = [plain_line(ansi_text.strip_ansi(piece)) for piece in _SGR.split(line)]
    kept = "".join(piece + code for piece, code in zip(pieces, (*codes, ""), strict=True))
    return Segment(
        id=id,
        text=text,
        short=cut_end_to_fit(text, _MAX_SHORT_SCRIPT_CELLS) if len(text) > _MAX_SHORT_SCRIPT_CELLS else "",
        is_elastic=True,
        importance=3,
        coloured_text=kept if codes and "".join(pieces) == text else "",
    )


def segment_cells(segment: Segment) -> int:
    return _text_cells(segment.text) + (BAR_CELLS + 1 if segment.bar >= 0 else 0)


def fitting_segments(segments: Sequence[Segment], width: int) -> list[Segment]:
    """Returns the status segments that fit a width: long ones are shortened first, then the least important are
    dropped."""
    whole = [segment for segment in segments if segment.text]
    left = _shorten_segments(list(whole), width)
    while len(left) > 1 and _total_cells(left) > width:
        left.remove(min(reversed(left), key=lambda item: item.importance))
    return _lengthen_segments(left, {segment.id: segment for segment in whole}, width)


def _shorten_segments(left: list[Segment], width: int) -> list[Segment]:
    """Replaces status segments by their short form, the least important first, until all fit the width."""
    for segment in sorted(left, key=lambda item: item.importance):
        if _total_cells(left) <= width:
            break
        if not segment.short and segment.bar < 0:
            continue
        at = next(index for index, item in enumerate(left) if item.id == segment.id)
        left[at] = msgspec.structs.replace(segment, text=segment.short or segment.text, bar=-1.0)
    return left


def _lengthen_segments(left: list[Segment], whole: Mapping[str, Segment], width: int) -> list[Segment]:
    """Gives shortened status segments back as much of their text as the free room allows."""
    for segment in sorted(left, key=lambda item: -item.importance):
        room = width - _total_cells(left) + segment_cells(segment)
        longer = whole[segment.id]
        if longer.is_elastic and segment.text != longer.text:
            longer = msgspec.structs.replace(longer, text=cut_end_to_fit(plain_line(longer.text), room))
        if segment_cells(longer) <= room:
            left[left.index(segment)] = longer
    return left


def _total_cells(segments: Sequence[Segment]) -> int:
    return sum(segment_cells(segment) for segment in segments) + len(SEGMENT_GAP) * max(0, len(segments) - 1)
