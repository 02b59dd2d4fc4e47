"""Represents changes of a text as hunks: for people (with line numbers), for programs (unified), and counted.

Works from the changed spans, so that the cost depends on the change and not on the file."""

import difflib
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import AnyStr, Final

import msgspec

from tools.edits.line_alignment import (
    UnchangedLines,
    count_common_first_and_last_lines,
    find_unchanged_line_runs,
)

DIFF_CONTEXT_LINES: Final = 3
_SHOWN_DIFF_CONTEXT_LINES: Final = 4
_MAX_COMPARED_LINE_PAIRS: Final = 250_000
"""The maximum number of line pairs that are compared one by one. Above it, lines that are unique are matched first,
because the cost grows with the square of the lines."""
_MAX_ALIGNED_LINES: Final = 60_000
_MAX_DIFF_CHARS: Final = 400_000


class ChangedRegion(msgspec.Struct, frozen=True, kw_only=True):
    """Lines of the old text and the lines that replace them. Lines keep their line feeds."""

    old_start_index: int
    """The index of the first replaced line in the old text, from 0."""
    new_start_index: int
    old_lines: tuple[str, ...]
    new_lines: tuple[str, ...]


class Diff(msgspec.Struct, frozen=True, kw_only=True):
    patch: str
    """The change as a unified diff."""
    display: str
    """The change as lines with numbers, in the form that pi stores."""
    added: int
    removed: int
    first_changed_line: int | None
    """The number of the first changed line in the new text, from 1."""


def split_at_line_feeds(text: str) -> list[str]:
    """Splits a text into lines at line feeds only (not at other line separators); each line keeps its line feed."""
    parts = text.split("\n")
    lines = [f"{part}\n" for part in parts[:-1]]
    return [*lines, parts[-1]] if parts[-1] else lines


class _IndexedLines:
    """Gives access to ranges of a text's lines, with their line feeds, without building all of them."""

    def __init__(self, text: str) -> None:
        self._lines = text.split("\n")
        self.line_count = len(self._lines) - (not self._lines[-1])

    def lines_between(self, first: int, last: int) -> list[str]:
        lines = [f"{line}\n" for line in self._lines[first:last]]
        if lines and last >= len(self._lines):
            lines[-1] = lines[-1][:-1]
        return lines


def make_diff_of_spans(path: str, old: str, spans: Sequence[tuple[int, int, str]]) -> Diff:
    """Returns the diff of replacing `old[start:end]` by a text, for each span; spans are ordered and do not overlap."""
    return _render_diff(path, old, find_changed_regions(old, spans))


def find_changed_regions(old: str, spans: Sequence[tuple[int, int, str]]) -> list[ChangedRegion]:
    """Returns the changed lines of a text in which spans are replaced; the spans are ordered and do not overlap."""
    regions: list[ChangedRegion] = []
    line, position, shift = 0, 0, 0
    for start, end, new in _widen_to_lines(old, spans):
        line += old.count("\n", position, start)
        position = start
        for region in _align_regions(
            split_at_line_feeds(old[start:end]), split_at_line_feeds(new), line, line + shift
        ):
            regions.append(region)
            shift += len(region.new_lines) - len(region.old_lines)
    return regions


def make_diff_of_texts(path: str, old: str, new: str) -> Diff:
    """Returns the diff of two whole texts."""
    return make_diff_of_spans(path, old, (_find_changed_span(old, new),))


@lru_cache(maxsize=4)
def find_differing_lines(old: str, new: str) -> Sequence[ChangedRegion]:
    """Returns the lines in which two whole texts differ; cached, because a change is compared for each view of it."""
    return find_changed_regions(old, (_find_changed_span(old, new),))


def _find_changed_span(old: str, new: str) -> tuple[int, int, str]:
    head = common_prefix_length(old, new)
    tail = _common_suffix_length(old, new, head)
    return head, len(old) - tail, new[head : len(new) - tail]


def common_prefix_length(old: AnyStr, new: AnyStr) -> int:
    """Returns how many characters two texts share at their beginning."""
    low, high = 0, min(len(old), len(new))
    while low < high:
        middle = (low + high + 1) // 2
        if old[low:middle] == new[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _common_suffix_length(old: str, new: str, head: int) -> int:
    low, high = 0, min(len(old), len(new)) - head
    while low < high:
        middle = (low + high + 1) // 2
        if old[len(old) - middle : len(old) - low] == new[len(new) - middle : len(new) - low]:
            low = middle
        else:
            high = middle - 1
    return low


def _widen_to_lines(old: str, spans: Sequence[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    """Widens the changed spans of a text to whole lines, and merges spans that share a line."""
    out: list[tuple[int, int, str]] = []
    for start, end, new in spans:
        if old[start:end] == new:
            continue
        line_start = old.rfind("\n", 0, start) + 1
        line_end = end
        is_whole = (
            end > line_start
            and old[end - 1] == "\n"
            and (new.endswith("\n") or (not new and start == line_start))
        )
        if not is_whole:
            found = old.find("\n", end)
            line_end = len(old) if found < 0 else found + 1
        text = old[line_start:start] + new + old[end:line_end]
        if out and line_start < out[-1][1]:
            before_start, before_end, before = out.pop()
            # The earlier span ends with the rest of its line, which contains this span.
            kept = before[: len(before) - (before_end - start)]
            out.append((before_start, line_end, kept + new + old[end:line_end]))
        else:
            out.append((line_start, line_end, text))
    return out


def _align_regions(old: list[str], new: list[str], old_line: int, new_line: int) -> list[ChangedRegion]:
    head, tail = count_common_first_and_last_lines(old, new)
    old_middle, new_middle = old[head : len(old) - tail], new[head : len(new) - tail]
    if not old_middle and not new_middle:
        return []
    return [
        ChangedRegion(
            old_start_index=old_line + head + first,
            new_start_index=new_line + head + new_start_index,
            old_lines=tuple(old_middle[first:last]),
            new_lines=tuple(new_middle[new_start_index:new_last]),
        )
        for first, last, new_start_index, new_last in _find_changed_ranges(old_middle, new_middle)
    ]


def _find_changed_ranges(old: list[str], new: list[str]) -> list[tuple[int, int, int, int]]:
    """Returns the ranges of old lines, each with the range of new lines that replace them."""
    if len(old) * len(new) <= _MAX_COMPARED_LINE_PAIRS:
        opcodes = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
        return [(a, b, c, d) for tag, a, b, c, d in opcodes if tag != "equal"]
    runs = find_unchanged_line_runs(
        old, new, max_lines=_MAX_ALIGNED_LINES, max_cells=_MAX_COMPARED_LINE_PAIRS
    )
    found: list[tuple[int, int, int, int]] = []
    first = new_start_index = 0
    for run in (*runs, UnchangedLines(len(old), len(new), 0)):
        if run.old_start > first or run.new_start > new_start_index:
            found.append((first, run.old_start, new_start_index, run.new_start))
        first, new_start_index = run.old_start + run.length, run.new_start + run.length
    return found


def _render_diff(path: str, old: str, regions: list[ChangedRegion]) -> Diff:
    lines = _IndexedLines(old if regions else "")
    return Diff(
        patch=_format_unified_patch(path, lines, regions),
        display=_format_numbered_diff(lines, regions),
        added=sum(len(region.new_lines) for region in regions),
        removed=sum(len(region.old_lines) for region in regions),
        first_changed_line=regions[0].new_start_index + 1 if regions else None,
    )


def group_regions_into_hunks(regions: Sequence[ChangedRegion], context: int) -> list[list[ChangedRegion]]:
    """Groups regions that are shown as one hunk, with `context` lines around each."""
    groups: list[list[ChangedRegion]] = []
    for region in regions:
        last = groups[-1][-1] if groups else None
        if last and region.old_start_index - (last.old_start_index + len(last.old_lines)) <= 2 * context:
            groups[-1].append(region)
        else:
            groups.append([region])
    return groups


def format_unified_hunks(
    old: str, groups: Sequence[Sequence[ChangedRegion]], *, context: int = DIFF_CONTEXT_LINES
) -> list[str]:
    """Returns the unified diff of each group of regions, without the names of files. Lines between two groups belong
    to the nearer one, however much context is asked for."""
    lines = _IndexedLines(old)
    middles = [(_end_of(above) + below[0].old_start_index) // 2 for above, below in pairwise(groups)]
    return [
        _format_hunk(
            lines, group, max(start, group[0].old_start_index - context), min(end, _end_of(group) + context)
        )
        for group, start, end in zip(groups, (0, *middles), (*middles, lines.line_count), strict=False)
    ]


def _end_of(group: Sequence[ChangedRegion]) -> int:
    """Returns the index of the old line after the last region of the group."""
    return group[-1].old_start_index + len(group[-1].old_lines)


def _format_unified_patch(path: str, lines: _IndexedLines, regions: list[ChangedRegion]) -> str:
    if not regions:
        return ""
    out = [f"--- a/{path}\n+++ b/{path}\n"]
    size = 0
    for group in group_regions_into_hunks(regions, DIFF_CONTEXT_LINES):
        start = max(0, group[0].old_start_index - DIFF_CONTEXT_LINES)
        hunk = _format_hunk(lines, group, start, min(lines.line_count, _end_of(group) + DIFF_CONTEXT_LINES))
        size += len(hunk)
        if size > _MAX_DIFF_CHARS:
            out.append("\\ The rest of the diff is too long to keep\n")
            break
        out.append(hunk)
    return "".join(out)


def _format_hunk(lines: _IndexedLines, group: Sequence[ChangedRegion], start: int, end: int) -> str:
    """Returns the unified diff of the old lines from `start` to `end`, which a group of regions changes."""
    first = group[0]
    body: list[str] = []
    position = start
    for region in group:
        body.extend(" " + line for line in lines.lines_between(position, region.old_start_index))
        body.extend("-" + line for line in region.old_lines)
        body.extend("+" + line for line in region.new_lines)
        position = region.old_start_index + len(region.old_lines)
    body.extend(" " + line for line in lines.lines_between(position, end))
    old_count = end - start
    new_count = old_count + sum(len(region.new_lines) - len(region.old_lines) for region in group)
    new_start = start + first.new_start_index - first.old_start_index
    header = f"@@ -{_format_hunk_range(start, old_count)} +{_format_hunk_range(new_start, new_count)} @@\n"
    return header + "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in body
    )


def _format_hunk_range(start: int, count: int) -> str:
    return f"{start + 1 if count else start},{count}"


def _format_numbered_diff(lines: _IndexedLines, regions: list[ChangedRegion]) -> str:
    if not regions:
        return ""
    width = len(str(lines.line_count + sum(len(region.new_lines) for region in regions)))
    out: list[str] = []
    size = position = 0
    for group in group_regions_into_hunks(regions, _SHOWN_DIFF_CONTEXT_LINES):
        first = group[0]
        position = max(0, first.old_start_index - _SHOWN_DIFF_CONTEXT_LINES)
        if position:
            out.append(f" {'':>{width}} ...")
        shift = first.new_start_index - first.old_start_index
        for region in group:
            out.extend(
                _format_numbered_lines(
                    " ", lines.lines_between(position, region.old_start_index), position + shift, width
                )
            )
            out.extend(_format_numbered_lines("-", region.old_lines, region.old_start_index, width))
            out.extend(_format_numbered_lines("+", region.new_lines, region.new_start_index, width))
            position = region.old_start_index + len(region.old_lines)
            shift = region.new_start_index + len(region.new_lines) - position
        end = min(lines.line_count, position + _SHOWN_DIFF_CONTEXT_LINES)
        out.extend(_format_numbered_lines(" ", lines.lines_between(position, end), position + shift, width))
        size += sum(len(line) for line in out[-200:])
        if size > _MAX_DIFF_CHARS:
            break
        position = end
    if position < lines.line_count:
        out.append(f" {'':>{width}} ...")
    return "\n".join(out)


def _format_numbered_lines(
    sign: str, lines: "list[str] | tuple[str, ...]", first: int, width: int
) -> list[str]:
    return [
        f"{sign}{first + offset + 1:>{width}} {line.rstrip(chr(10))}" for offset, line in enumerate(lines)
    ]
