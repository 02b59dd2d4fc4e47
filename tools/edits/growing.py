"""Lines that are being replaced while the new ones still come: what is decided of them, and a diff of bounded length.

Pure. A new line is decided when it has come whole; an old one when a later line was found again behind it, or when all
has come. What was decided stays, so that the diff grows and never takes back what it showed.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

import msgspec

from tools.edits.diffs import CONTEXT, Region, grouped

_FEED: Final = "\n"
_TELLING: Final = 4
"""So many letters or digits make a line that is there once a place to go on from."""


class GrowingLines:
    """The lines of one place, from `first` (from 0), and those that come instead."""

    def __init__(self, old: Sequence[str], first: int) -> None:
        """Lines have their line feeds."""
        self._old = old
        self._first = first
        self._at = 0
        """The first of the old lines of which nothing is decided."""
        self._waiting: list[str] = []
        """New lines since then."""
        self._new = 0
        """So many of them are new beyond doubt: the last of these stands nowhere among the old ones."""
        self._regions: list[Region] = []
        self._last = -1
        """Where the last new line would be among the old ones."""
        self._where: dict[str, list[int]] | None = None

    def take(self, lines: Sequence[str]) -> None:
        """More new lines, each whole."""
        for line in lines:
            self._take(line)

    @property
    def regions(self) -> tuple[Region, ...]:
        """What is decided; where nothing is yet, the place."""
        if self._new:
            return (*self._regions, self._region(self._at, self._waiting[: self._new]))
        return tuple(self._regions) or (self._region(self._at, ()),)

    def _region(self, end: int, new: Sequence[str]) -> Region:
        return Region(
            old_first=self._first + self._at,
            new_first=self._first + self._at,
            old=tuple(self._old[self._at : end]),
            new=tuple(new),
        )

    def _take(self, line: str) -> None:
        if not self._waiting and self._at < len(self._old) and self._old[self._at] == line:
            self._at += 1
            return
        self._waiting.append(line)
        found = self._again(line)
        if found is None:
            self._new = len(self._waiting) if self._last < 0 else self._new
            return
        same = 1
        while (
            same < len(self._waiting)
            and found - same >= self._at
            and self._old[found - same] == self._waiting[-1 - same]
        ):
            same += 1
        replaced = self._waiting[: len(self._waiting) - same]
        self._regions.append(self._region(found + 1 - same, replaced))
        self._at = found + 1
        self._waiting, self._new = [], 0
        self._last = -1

    def _again(self, line: str) -> int | None:
        """Where among the undecided lines this one stands beyond doubt: it is there once and tells something, or it and
        the one before it stand there in a row."""
        if self._where is None:
            self._where = {}
            for index, old in enumerate(self._old):
                self._where.setdefault(old, []).append(index)
        places = self._where.get(line, ())
        start = bisect_left(places, self._at)
        before, self._last = self._last, places[start] if start < len(places) else -1
        if self._last < 0:
            return None
        if before >= 0 and self._last != before + 1 and line.strip():
            follows = bisect_left(places, before + 1)
            if follows < len(places) and places[follows] == before + 1:
                self._last = before + 1
        is_in_a_row = before >= self._at and self._last == before + 1
        is_once = len(places) - start == 1 and sum(map(str.isalnum, line)) >= _TELLING
        return self._last if is_in_a_row or is_once else None


class BoundedDiff(msgspec.Struct, frozen=True, kw_only=True):
    """A unified diff up to a number of lines."""

    patch: str
    more: int
    """Lines that it leaves out."""
    added: int
    removed: int


def bounded_diff(path: str, lines: Sequence[str], regions: Sequence[Region], most: int) -> BoundedDiff:
    """`lines`: all of the old text, without line feeds. A region without old and new lines shows what is around it."""
    out = [f"--- a/{path}", f"+++ b/{path}"]
    more = 0
    for group in grouped(regions, CONTEXT):
        first, last = group[0], group[-1]
        start = max(0, first.old_first - CONTEXT)
        end = min(len(lines), last.old_first + len(last.old) + CONTEXT)
        count = end - start + sum(len(region.new) for region in group)
        room = max(0, most + 2 - len(out))
        if room:
            out.append(f"@@ -{start + 1},1 +{start + 1 + first.new_first - first.old_first},1 @@")
            out += islice(_rows(lines, group, start, end), room)
        more += max(0, count - room)
    return BoundedDiff(
        patch="\n".join(out) + "\n",
        more=more,
        added=sum(len(region.new) for region in regions),
        removed=sum(len(region.old) for region in regions),
    )


def _rows(lines: Sequence[str], group: Sequence[Region], start: int, end: int) -> Iterator[str]:
    at = start
    for region in group:
        yield from (f" {line}" for line in lines[at : region.old_first])
        yield from (f"-{line.removesuffix(_FEED)}" for line in region.old)
        yield from (f"+{line.removesuffix(_FEED)}" for line in region.new)
        at = region.old_first + len(region.old)
    yield from (f" {line}" for line in lines[at:end])
