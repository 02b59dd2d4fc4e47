"""Segments of header and footer: frozen values, and which of them fit. Pure."""

from collections.abc import Mapping, Sequence
from functools import lru_cache

import msgspec

from tools.patterns import late
from widgets.line import cells, plain_line
from widgets.lists.rows import Tone
from widgets.transcript.leaves import ansi
from widgets.transcript.leaves.safe_text import crop

GAP = "  "


class Segment(msgspec.Struct, frozen=True, kw_only=True):
    """A part of the status line. `text` is shown, or `short` if there is little room."""

    id: str
    text: str
    short: str = ""
    is_elastic: bool = False
    """Whether the text may be cut to any length between `short` and `text`."""
    tone: Tone = "muted"
    importance: int = 5
    """Segments with the lowest importance are dropped first."""
    is_right: bool = False
    coloured: str = ""
    """`text` with SGR sequences, whose colours are shown where the text is whole; it has no other sequences."""
    bar: float = -1.0
    """The fill of a bar before the text, from 0 to 1; negative for no bar."""


BAR_CELLS = 6
_SHORT_SCRIPT_CELLS = 24


def bar_text(share: float) -> str:
    """Returns a small bar drawn in eighths of a cell."""
    share = min(1.0, max(0.0, share))
    eighths = round(share * BAR_CELLS * 8)
    full, rest = divmod(eighths, 8)
    return ("█" * full + (" ▏▎▍▌▋▊▉"[rest] if rest else "")).ljust(BAR_CELLS)


@lru_cache(maxsize=256)
def _size(text: str) -> int:
    return cells(plain_line(text))


_SGR = late(r"\x1b\[[\d;:]*m")


def script_segment(id: str, line: str) -> Segment:
    """Returns a segment for a line of a script. Colours stay; any other sequence is removed."""
    text = plain_line(ansi.plain(line))
    codes = _SGR.findall(line)
    pieces = [plain_line(ansi.plain(piece)) for piece in _SGR.split(line)]
    kept = "".join(piece + code for piece, code in zip(pieces, (*codes, ""), strict=True))
    return Segment(
        id=id,
        text=text,
        short=crop(text, _SHORT_SCRIPT_CELLS) if len(text) > _SHORT_SCRIPT_CELLS else "",
        is_elastic=True,
        importance=3,
        coloured=kept if codes and "".join(pieces) == text else "",
    )


def size_of(segment: Segment) -> int:
    return _size(segment.text) + (BAR_CELLS + 1 if segment.bar >= 0 else 0)


def fitting(segments: Sequence[Segment], width: int) -> list[Segment]:
    """Returns the segments that fit: long ones are shortened first, then the least important are dropped."""
    whole = [segment for segment in segments if segment.text]
    left = _shorter(list(whole), width)
    while len(left) > 1 and _total(left) > width:
        left.remove(min(reversed(left), key=lambda item: item.importance))
    return _longer_again(left, {segment.id: segment for segment in whole}, width)


def _shorter(left: list[Segment], width: int) -> list[Segment]:
    """Shortens segments until they fit, the least important first."""
    for segment in sorted(left, key=lambda item: item.importance):
        if _total(left) <= width:
            break
        if not segment.short and segment.bar < 0:
            continue
        at = next(index for index, item in enumerate(left) if item.id == segment.id)
        left[at] = msgspec.structs.replace(segment, text=segment.short or segment.text, bar=-1.0)
    return left


def _longer_again(left: list[Segment], whole: Mapping[str, Segment], width: int) -> list[Segment]:
    """Lengthens shortened segments where room is left."""
    for segment in sorted(left, key=lambda item: -item.importance):
        room = width - _total(left) + size_of(segment)
        longer = whole[segment.id]
        if longer.is_elastic and segment.text != longer.text:
            longer = msgspec.structs.replace(longer, text=crop(plain_line(longer.text), room))
        if size_of(longer) <= room:
            left[left.index(segment)] = longer
    return left


def _total(segments: Sequence[Segment]) -> int:
    return sum(size_of(segment) for segment in segments) + len(GAP) * max(0, len(segments) - 1)
