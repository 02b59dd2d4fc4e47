"""Splits the change of a text into hunks, and computes the text without some of them. Pure."""

import hashlib
from collections.abc import Iterable, Sequence

import msgspec

from tools.edits.diffs import (
    DIFF_CONTEXT,
    ChangedRegion,
    compared_regions,
    group_regions,
    split_lines,
    unified_hunks,
)


class TextHunk(msgspec.Struct, frozen=True, kw_only=True):
    """Changed lines that are shown and decided together."""

    key: str
    """The same for the same change of the same file, wherever its lines are."""
    regions: tuple[ChangedRegion, ...]
    patch: str
    """A unified diff without the names of files."""

    @property
    def added(self) -> int:
        return sum(len(region.new) for region in self.regions)

    @property
    def removed(self) -> int:
        return sum(len(region.old) for region in self.regions)

    @property
    def first(self) -> int:
        """The first changed line of the new text, from 1; for removed lines, the line that follows them."""
        return self.regions[0].new_first + 1

    @property
    def last(self) -> int:
        region = self.regions[-1]
        return max(self.first, region.new_first + len(region.new))

    @property
    def is_spacing(self) -> bool:
        """Whether both sides are the same but for blanks and blank lines."""
        return all(_inked(region.old) == _inked(region.new) for region in self.regions)


def _inked(lines: Sequence[str]) -> str:
    return "".join("".join(lines).split())


def key_of(*parts: str) -> str:
    """Returns the key of a change."""
    whole = hashlib.sha256()
    for part in parts:
        whole.update(part.encode("utf-8", "surrogatepass") + b"\0")
    return whole.hexdigest()[:16]


def hunks_of(path: str, old: str, new: str) -> tuple[TextHunk, ...]:
    """Returns the hunks of a change, from the first line to the last."""
    groups = group_regions(compared_regions(old, new), DIFF_CONTEXT)
    known: dict[str, int] = {}
    found: list[TextHunk] = []
    for group, patch in zip(groups, unified_hunks(old, groups), strict=True):
        words = [text for region in group for text in ("".join(region.old), "".join(region.new))]
        key = key_of(path, *words)
        number = known[key] = known.get(key, 0) + 1
        key = key if number == 1 else key_of(key, str(number))
        found.append(TextHunk(key=key, regions=tuple(group), patch=patch))
    return tuple(found)


def without(new: str, hunks: Iterable[TextHunk]) -> str:
    """Returns the new text with these hunks as they were before."""
    lines = split_lines(new)
    regions = sorted((one for hunk in hunks for one in hunk.regions), key=lambda one: -one.new_first)
    for region in regions:
        lines[region.new_first : region.new_first + len(region.new)] = region.old
    return "".join(lines)


class MovedText:
    """A text that others may have changed since, into which hunks are applied or taken back.

    A hunk's lines stand if no other change touches them; the others' changes always stay."""

    def __init__(self, hunks: Sequence[TextHunk], taken: frozenset[str], expected: str, now: str) -> None:
        """`taken`: the hunks that are not in `expected`, the text that the session left."""
        self._now = now
        self._others = compared_regions(expected, now) if expected != now else []
        self._spans: dict[str, list[tuple[int, int, tuple[str, ...]]]] = {}
        """The lines of each hunk in `expected`, and those that would replace them."""
        shift = 0
        for hunk in hunks:
            spans = self._spans[hunk.key] = []
            for region in hunk.regions:
                is_taken = hunk.key in taken
                here, other = (region.old, region.new) if is_taken else (region.new, region.old)
                first = region.new_first + shift
                spans.append((first, first + len(here), other))
                shift += len(here) - len(region.new)

    def stands(self, key: str) -> bool:
        return not any(
            _touches(other, first, end) for first, end, _ in self._spans[key] for other in self._others
        )

    def with_changed(self, keys: Iterable[str]) -> str:
        """Returns the present text with these hunks taken back, or applied where they were taken back."""
        lines = split_lines(self._now)
        for first, end, new in sorted((span for key in keys for span in self._spans[key]), reverse=True):
            shift = sum(
                len(other.new) - len(other.old)
                for other in self._others
                if other.old_first < first or (other.old_first == first and not other.old and first < end)
            )
            lines[first + shift : end + shift] = new
        return "".join(lines)


def _touches(other: ChangedRegion, first: int, end: int) -> bool:
    """Whether a change by others touches lines of a hunk. Directly beside them counts only where the hunk
    has no lines."""
    start, stop = other.old_first, other.old_first + len(other.old)
    if first == end:
        return start <= first <= stop
    return start < end and stop > first
