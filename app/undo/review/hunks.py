"""Splits the change of a text into hunks, and computes the text without some of them. Pure."""

import hashlib
from collections.abc import Iterable, Sequence

import msgspec

from tools.edits.diffs import (
    DIFF_CONTEXT_LINES,
    ChangedRegion,
    find_differing_lines,
    format_unified_hunks,
    group_regions_into_hunks,
    split_at_line_feeds,
)


class TextHunk(msgspec.Struct, frozen=True, kw_only=True):
    """A hunk of a text's change: changed lines that are shown and decided together."""

    key: str
    """A key that is equal for the same change of the same file, wherever its lines are."""
    regions: tuple[ChangedRegion, ...]
    patch: str
    """The hunk as a unified diff without the names of files."""

    @property
    def added(self) -> int:
        return sum(len(region.new_lines) for region in self.regions)

    @property
    def removed(self) -> int:
        return sum(len(region.old_lines) for region in self.regions)

    @property
    def first_line(self) -> int:
        """The first changed line of the new text, from 1; for removed lines, the line that follows them."""
        return self.regions[0].new_start_index + 1

    @property
    def last_line(self) -> int:
        region = self.regions[-1]
        return max(self.first_line, region.new_start_index + len(region.new_lines))

    @property
    def is_spacing(self) -> bool:
        """Whether the hunk changes only blanks and blank lines."""
        return all(
            _visible_characters(region.old_lines) == _visible_characters(region.new_lines)
            for region in self.regions
        )


def _visible_characters(lines: Sequence[str]) -> str:
    return "".join("".join(lines).split())


def hunk_key_of_texts(*parts: str) -> str:
    """Returns the key that identifies a hunk by its texts."""
    whole = hashlib.sha256()
    for part in parts:
        whole.update(part.encode("utf-8", "surrogatepass") + b"\0")
    return whole.hexdigest()[:16]


def hunks_of_text_change(path: str, old: str, new: str) -> tuple[TextHunk, ...]:
    """Returns the hunks of a text's change, from the first line to the last."""
    groups = group_regions_into_hunks(find_differing_lines(old, new), DIFF_CONTEXT_LINES)
    known: dict[str, int] = {}
    found: list[TextHunk] = []
    for group, patch in zip(groups, format_unified_hunks(old, groups), strict=True):
        words = [text for region in group for text in ("".join(region.old_lines), "".join(region.new_lines))]
        key = hunk_key_of_texts(path, *words)
        number = known[key] = known.get(key, 0) + 1
        key = key if number == 1 else hunk_key_of_texts(key, str(number))
        found.append(TextHunk(key=key, regions=tuple(group), patch=patch))
    return tuple(found)


def text_without_hunks(new: str, hunks: Iterable[TextHunk]) -> str:
    """Returns the new text with the lines of these hunks as they were before the change."""
    lines = split_at_line_feeds(new)
    regions = sorted((one for hunk in hunks for one in hunk.regions), key=lambda one: -one.new_start_index)
    for region in regions:
        lines[region.new_start_index : region.new_start_index + len(region.new_lines)] = region.old_lines
    return "".join(lines)


def new_text_of_hunk(new: str, hunk: TextHunk) -> str:
    """Returns a hunk's lines in the new text, from the first changed one to the last, without the last line's end."""
    first, end = _hunk_extent(hunk)
    return "".join(split_at_line_feeds(new)[first:end]).removesuffix("\n").removesuffix("\r")


def _hunk_extent(hunk: TextHunk) -> tuple[int, int]:
    last = hunk.regions[-1]
    return hunk.regions[0].new_start_index, last.new_start_index + len(last.new_lines)


def is_editable_text(text: str) -> bool:
    """Whether an editor would leave a text unchanged: it has no control characters and no mixed line endings."""
    return not any(
        (mark < " " and mark not in "\n\t") or mark in "\x7f\x85\u2028\u2029" for mark in set(text)
    )


def with_line_endings_of(text: str, now: str) -> str:
    """Returns the text that a person edited, with the line endings of the text that it replaces."""
    lines = split_at_line_feeds(now)
    whole = "".join(_lines_like(text, lines, lines))
    return whole.removesuffix("\n").removesuffix("\r") if lines and not lines[-1].endswith("\n") else whole


def _lines_like(text: str, replaced: Sequence[str], others: Sequence[str]) -> list[str]:
    """Returns the text that a person edited as lines, with the line ends of the replaced lines, or else with those
    of other lines of the file."""
    known = next((line for line in (*replaced, *others) if line.endswith("\n")), "\n")
    end = "\r\n" if known.endswith("\r\n") else "\n"
    return [f"{line}{end}" for line in text.split("\n")] if text else []


class ChangedText:
    """A text that may have changed since the session, in which single hunks are taken back or applied. This is
    possible for a hunk if no other change touches its lines; other changes always stay."""

    def __init__(self, hunks: Sequence[TextHunk], taken: frozenset[str], expected: str, now: str) -> None:
        """Compares the text with `expected`, the text that the session left. `taken` are the hunks that are not in
        `expected`."""
        self._current_text = now
        self._other_changes = find_differing_lines(expected, now) if expected != now else []
        self._hunk_spans: dict[str, list[tuple[int, int, tuple[str, ...]]]] = {}
        """For each hunk, its lines in `expected`, and the lines that would replace them."""
        shift = 0
        for hunk in hunks:
            spans = self._hunk_spans[hunk.key] = []
            for region in hunk.regions:
                is_taken = hunk.key in taken
                here, other = (
                    (region.old_lines, region.new_lines) if is_taken else (region.new_lines, region.old_lines)
                )
                first = region.new_start_index + shift
                spans.append((first, first + len(here), other))
                shift += len(here) - len(region.new_lines)

    def is_hunk_unchanged(self, key: str) -> bool:
        return not any(
            _touches_hunk(other, first, end)
            for first, end, _ in self._hunk_spans[key]
            for other in self._other_changes
        )

    def text_with_hunks_toggled(self, keys: Iterable[str]) -> str:
        """Returns the present text with these hunks taken back, or applied where they were taken back."""
        lines = split_at_line_feeds(self._current_text)
        for first, end, new in sorted((span for key in keys for span in self._hunk_spans[key]), reverse=True):
            shift = self._line_shift(first, end)
            lines[first + shift : end + shift] = new
        return "".join(lines)

    def _line_shift(self, first: int, end: int) -> int:
        """Returns by how many lines later changes moved a line of the text that the session left."""
        return sum(
            len(other.new_lines) - len(other.old_lines)
            for other in self._other_changes
            if other.old_start_index < first
            or (other.old_start_index == first and not other.old_lines and first < end)
        )

    def can_replace_hunk(self, key: str) -> bool:
        """Returns whether all lines from the hunk's first to its last are still as the session left them."""
        spans = self._hunk_spans[key]
        first, end = spans[0][0], max(spans[-1][1], spans[0][0])
        return not any(_touches_hunk(other, first, end) for other in self._other_changes)

    def text_with_hunk_replaced(self, key: str, text: str) -> str:
        """Returns the present text with other lines in place of a hunk's lines."""
        spans = self._hunk_spans[key]
        lines = split_at_line_feeds(self._current_text)
        shift = self._line_shift(spans[0][0], spans[-1][1])
        first, end = spans[0][0] + shift, spans[-1][1] + shift
        before, replaced, after = lines[:first], lines[first:end], lines[end:]
        put = _lines_like(text, replaced, lines)
        is_open = bool(lines) and not after and not lines[-1].endswith("\n")
        if put and before and not before[-1].endswith("\n"):
            before[-1] += "\r\n" if put[0].endswith("\r\n") else "\n"
        whole = "".join((*before, *put, *after))
        return whole.removesuffix("\n").removesuffix("\r") if is_open and put else whole


def _touches_hunk(other: ChangedRegion, first: int, end: int) -> bool:
    """Returns whether a later change touches lines of a hunk. A change directly beside counts only if the hunk has
    no lines there."""
    start, stop = other.old_start_index, other.old_start_index + len(other.old_lines)
    if first == end:
        return start <= first <= stop
    return start < end and stop > first
