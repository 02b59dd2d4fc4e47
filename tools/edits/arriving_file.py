"""One file of a call that is arriving: where its complete edits go, and how the one that is arriving grows."""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Final, Literal

import msgspec

from tools.base import ToolError
from tools.edits.diffs import Region, changed_regions, compared_regions, split_lines
from tools.edits.growing import BoundedDiff, GrowingLines, bounded_diff
from tools.edits.matching import Ambiguous, Document, find_strict
from tools.edits.replacing import Placed
from tools.edits.shown import NOTHING_SHOWN, ShownLines
from tools.edits.texts import Editable, FileText, in_order
from tools.files.encoding import UTF8
from tools.files.snapshots import Snapshot

MOST_LINES: Final = 400
"""Of a diff that grows."""
_MOST_COMPARED: Final = 4_000_000
"""Lines of the old text times those of the new, that are compared for a picture alone."""


class NoSuchFile(ToolError):
    """There is no such file."""


class Sight(msgspec.Struct, frozen=True, kw_only=True):
    """What may be known of a file before the call runs."""

    what: Literal["text", "missing", "hidden"]
    """Hidden: too large, no text, or not to be shown."""
    path: str = ""
    """As people read it."""
    real: str = ""
    """Absolute, without links."""
    key: str = ""
    """Under which it is known what the model saw of it."""
    text: Editable | None = None
    shown: ShownLines = NOTHING_SHOWN
    versions: tuple[Snapshot, ...] = ()
    why: ToolError | None = None
    """What a call is told that wants to change it."""


class ArrivingTarget:
    """A file's text and what finding something in it needs."""

    def __init__(self, target: Editable, shown: ShownLines, versions: tuple[Snapshot, ...]) -> None:
        self.target = target
        self.shown = shown
        self.versions = versions
        self.document = Document(target.text)

    @property
    def text(self) -> str:
        return self.target.text

    @cached_property
    def lines(self) -> list[str]:
        lines = self.text.split("\n")
        return lines[:-1] if not lines[-1] else lines


class ArrivingDiff(msgspec.Struct, frozen=True, kw_only=True):
    path: str
    diff: BoundedDiff


class _Growth:
    """The edit that is arriving."""

    def __init__(self, key: int, seen: ArrivingTarget, start: int, end: int) -> None:
        text = seen.text
        first = text.rfind("\n", 0, start) + 1
        last = end
        if not (end > first and text[end - 1] == "\n"):
            found = text.find("\n", end)
            last = len(text) if found < 0 else found + 1
        self.key = key
        self.before = text[first:start]
        self.lines = GrowingLines(split_lines(text[first:last]), text.count("\n", 0, first))
        self.taken = 0


class ArrivingFile:
    def __init__(self, path: str, sight: Sight) -> None:
        self.path = sight.path or path
        self.sight = sight
        self.seen = (
            ArrivingTarget(sight.text, sight.shown, sight.versions) if sight.text is not None else None
        )
        self._new: ArrivingTarget | None = None
        """It is made by this call."""
        self._placed = 0
        """How many of them were looked for."""
        self._regions: Sequence[Region] = ()
        self._arriving: Sequence[Region] = ()
        self._growth: _Growth | None = None
        self._at: int | None = None
        """Where the old text that is arriving stands."""
        self.problem: ToolError | None = None
        """Why a complete edit has no place."""

    def diff(self) -> ArrivingDiff | None:
        """None: nothing of it can be told, or may be."""
        seen = self.seen or self._new
        if seen is None:
            return None
        regions = _in_order([*self._regions, *self._arriving])
        return ArrivingDiff(path=self.path, diff=bounded_diff(self.path, seen.lines, regions, MOST_LINES))

    # Complete edits

    def place(self, count: int, find: Callable[[ArrivingTarget], Placed]) -> None:
        """Where they go, looked for when there are more of them."""
        if self._placed == count or self.problem is not None:
            return
        self._placed = count
        if self.seen is None:
            self.problem = self.sight.why
            return
        try:
            found = in_order(self.seen.document, find(self.seen).found, self.path)
        except ToolError as problem:
            self.problem = problem
            return
        text = self.seen.text
        spans = [(span.start, span.end, span.new_text) for span in found]
        self._regions = changed_regions(text, [one for one in spans if text[one[0] : one[1]] != one[2]])

    # What is arriving

    def rest(self) -> None:
        """Nothing of it is arriving, unless something is said now."""
        self._arriving = ()

    def point_at(self, old: str) -> None:
        """The old text comes: its place, once its first lines are there in one place alone."""
        seen = self.seen
        if seen is None:
            return
        known = seen.target.adapted(old[: old.rfind("\n") + 1])
        if not known.strip():
            self._at = None
            return
        text = seen.text
        if self._at is None or not text.startswith(known, self._at):
            at = text.find(known)
            self._at = at if at >= 0 and text.find(known, at + 1) < 0 else None
        if self._at is not None:
            line = text.count("\n", 0, self._at)
            self._arriving = (Region(old_first=line, new_first=line, old=(), new=()),)

    def grow(self, key: int, old: str, new: str) -> None:
        """The new text comes, and the old one is complete."""
        seen = self.seen
        if seen is None:
            return
        if self._growth is None or self._growth.key != key:
            try:
                span = find_strict(seen.document, seen.target.adapted(old), "") if old else None
            except Ambiguous:
                span = None
            if span is None:
                return
            self._growth = _Growth(key, seen, span.start, span.end)
        growth = self._growth
        text = growth.before + seen.target.adapted(new.removesuffix("\r"))
        end = text.rfind("\n") + 1
        growth.lines.take(split_lines(text[growth.taken : end]))
        growth.taken = max(growth.taken, end)
        self._arriving = growth.lines.regions

    def grow_at(self, key: int, find: Callable[[ArrivingTarget], Placed], new: Sequence[str]) -> None:
        """The new lines come for a place that is named."""
        seen = self.seen
        if seen is None:
            return
        if self._growth is None or self._growth.key != key:
            try:
                found = [span for spans in find(seen).found for span in spans]
            except ToolError:
                return
            if not found:
                return
            self._growth = _Growth(key, seen, found[0].start, found[0].end)
            if found[0].start == found[0].end:
                first = seen.text.count("\n", 0, found[0].start)
                self._growth.lines = GrowingLines((), first + (self._growth.before != ""))
        growth = self._growth
        for part in new[growth.taken :]:
            growth.lines.take([f"{line}\n" for line in part.removesuffix("\n").split("\n")])
        growth.taken = len(new)
        self._arriving = growth.lines.regions

    def write(self, content: str, *, is_over: bool) -> None:
        """All of the text comes anew."""
        seen = self.seen
        if seen is None:
            return
        if is_over and len(seen.lines) * content.count("\n") <= _MOST_COMPARED:
            self._arriving, self._growth = (), None
            self._regions = compared_regions(seen.text, content.replace("\r\n", "\n"))
            return
        if self._growth is None:
            self._growth = _Growth(0, seen, 0, len(seen.text))
        growth = self._growth
        end = content.rfind("\n") + 1
        growth.lines.take(split_lines(content[growth.taken : end].replace("\r\n", "\n")))
        growth.taken = max(growth.taken, end)
        self._arriving = growth.lines.regions

    def become(self, regions: Sequence[Region]) -> None:
        """All that is to change in it."""
        self._regions = regions

    def arrive(self, regions: Sequence[Region]) -> None:
        """What changes besides, as far as it has come."""
        self._arriving = regions

    def add(self, lines: Sequence[str]) -> None:
        """A new file, as far as it has come."""
        if self.sight.what == "missing":
            self._new = ArrivingTarget(
                FileText(text="", raw="", encoding=UTF8, endings="lf"), NOTHING_SHOWN, ()
            )
            self._regions = (
                Region(old_first=0, new_first=0, old=(), new=tuple(f"{line}\n" for line in lines)),
            )


def _in_order(regions: Sequence[Region]) -> list[Region]:
    """From the first to the last, each with its lines in the new text; of two that meet the first counts."""
    out: list[Region] = []
    shift = end = 0
    for region in sorted(regions, key=lambda region: region.old_first):
        if region.old_first < end:
            continue
        end = region.old_first + len(region.old)
        out.append(msgspec.structs.replace(region, new_first=region.old_first + shift))
        shift += len(region.new) - len(region.old)
    return out
