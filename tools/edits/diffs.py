"""Represents changes of a text as hunks: for people (with line numbers), for programs (unified), and counted.

Works from the changed spans, so that the cost depends on the change and not on the file."""

import difflib
from collections.abc import Iterable, Sequence
from typing import AnyStr, Final

import msgspec

from tools.edits.aligning import equal_ends

DIFF_CONTEXT: Final = 3
_DISPLAY_CONTEXT: Final = 4
_MAX_ALIGNED_CELLS: Final = 4_000_000
_MAX_ALIGNED_LINES: Final = 60_000
_MAX_DIFF_CHARS: Final = 400_000


class ChangedRegion(msgspec.Struct, frozen=True, kw_only=True):
    """Lines of the old text and the lines that replace them. Lines keep their line feeds."""

    old_first: int
    """Index of the first old line, from 0."""
    new_first: int
    old: tuple[str, ...]
    new: tuple[str, ...]


class Diff(msgspec.Struct, frozen=True, kw_only=True):
    patch: str
    """Unified diff."""
    display: str
    """Numbered lines, in pi's stored form."""
    added: int
    removed: int
    first_changed_line: int | None
    """Line number in the new text, from 1."""


def split_lines(text: str) -> list[str]:
    """Splits at line feeds only, and keeps them."""
    parts = text.split("\n")
    lines = [f"{part}\n" for part in parts[:-1]]
    return [*lines, parts[-1]] if parts[-1] else lines


class _IndexedLines:
    """Lines with their line feeds, of which only a few are accessed."""

    def __init__(self, text: str) -> None:
        self._lines = text.split("\n")
        self.count = len(self._lines) - (not self._lines[-1])

    def between(self, first: int, last: int) -> list[str]:
        lines = [f"{line}\n" for line in self._lines[first:last]]
        if lines and last >= len(self._lines):
            lines[-1] = lines[-1][:-1]
        return lines


def diff_spans(path: str, old: str, spans: Sequence[tuple[int, int, str]]) -> Diff:
    """Returns the diff of replacing `old[start:end]` by a text, for each span; spans are ordered and do not overlap."""
    return _render(path, old, changed_regions(old, spans))


def changed_regions(old: str, spans: Sequence[tuple[int, int, str]]) -> list[ChangedRegion]:
    """Returns the changed lines for such spans."""
    regions: list[ChangedRegion] = []
    line, position, shift = 0, 0, 0
    for start, end, new in _joined_by_line(old, spans):
        line += old.count("\n", position, start)
        position = start
        for region in _aligned_regions(split_lines(old[start:end]), split_lines(new), line, line + shift):
            regions.append(region)
            shift += len(region.new) - len(region.old)
    return regions


def diff_texts(path: str, old: str, new: str) -> Diff:
    """Returns the diff of two whole texts."""
    return diff_spans(path, old, (_changed_span(old, new),))


def compared_regions(old: str, new: str) -> list[ChangedRegion]:
    """Returns the lines in which two whole texts differ."""
    return changed_regions(old, (_changed_span(old, new),))


def _changed_span(old: str, new: str) -> tuple[int, int, str]:
    head = common_prefix_length(old, new)
    tail = _common_suffix_length(old, new, head)
    return head, len(old) - tail, new[head : len(new) - tail]


def common_prefix_length(old: AnyStr, new: AnyStr) -> int:
    """Returns the length of the common beginning."""
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


def _joined_by_line(old: str, spans: Sequence[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    """Widens spans to whole lines; spans that share a line are merged."""
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


def _aligned_regions(old: list[str], new: list[str], old_line: int, new_line: int) -> list[ChangedRegion]:
    head, tail = equal_ends(old, new)
    old_middle, new_middle = old[head : len(old) - tail], new[head : len(new) - tail]
    if not old_middle and not new_middle:
        return []
    if len(old_middle) + len(new_middle) > _MAX_ALIGNED_LINES:
        opcodes = [("replace", 0, len(old_middle), 0, len(new_middle))]
    else:
        # In very many lines the frequent ones (blank, a brace) do not help and cost most of the time.
        is_large = len(old_middle) * len(new_middle) > _MAX_ALIGNED_CELLS
        opcodes = difflib.SequenceMatcher(None, old_middle, new_middle, autojunk=is_large).get_opcodes()
    return [
        ChangedRegion(
            old_first=old_line + head + first,
            new_first=new_line + head + new_first,
            old=tuple(old_middle[first:last]),
            new=tuple(new_middle[new_first:new_last]),
        )
        for tag, first, last, new_first, new_last in opcodes
        if tag != "equal"
    ]


def _render(path: str, old: str, regions: list[ChangedRegion]) -> Diff:
    lines = _IndexedLines(old if regions else "")
    return Diff(
        patch=_unified_patch(path, lines, regions),
        display=_numbered_diff(lines, regions),
        added=sum(len(region.new) for region in regions),
        removed=sum(len(region.old) for region in regions),
        first_changed_line=regions[0].new_first + 1 if regions else None,
    )


def group_regions(regions: Sequence[ChangedRegion], context: int) -> list[list[ChangedRegion]]:
    """Groups regions that are shown as one hunk, with `context` lines around each."""
    groups: list[list[ChangedRegion]] = []
    for region in regions:
        last = groups[-1][-1] if groups else None
        if last and region.old_first - (last.old_first + len(last.old)) <= 2 * context:
            groups[-1].append(region)
        else:
            groups.append([region])
    return groups


def unified_hunks(old: str, groups: Iterable[Sequence[ChangedRegion]]) -> list[str]:
    """Returns the unified diff of each group of regions, without the names of files."""
    lines = _IndexedLines(old)
    return [_hunk(lines, group) for group in groups]


def _unified_patch(path: str, lines: _IndexedLines, regions: list[ChangedRegion]) -> str:
    if not regions:
        return ""
    out = [f"--- a/{path}\n+++ b/{path}\n"]
    size = 0
    for group in group_regions(regions, DIFF_CONTEXT):
        hunk = _hunk(lines, group)
        size += len(hunk)
        if size > _MAX_DIFF_CHARS:
            out.append("\\ The rest of the diff is too long to keep\n")
            break
        out.append(hunk)
    return "".join(out)


def _hunk(lines: _IndexedLines, group: Sequence[ChangedRegion]) -> str:
    first, last = group[0], group[-1]
    start = max(0, first.old_first - DIFF_CONTEXT)
    end = min(lines.count, last.old_first + len(last.old) + DIFF_CONTEXT)
    body: list[str] = []
    position = start
    for region in group:
        body.extend(" " + line for line in lines.between(position, region.old_first))
        body.extend("-" + line for line in region.old)
        body.extend("+" + line for line in region.new)
        position = region.old_first + len(region.old)
    body.extend(" " + line for line in lines.between(position, end))
    old_count = end - start
    new_count = old_count + sum(len(region.new) - len(region.old) for region in group)
    new_start = start + first.new_first - first.old_first
    header = f"@@ -{_range(start, old_count)} +{_range(new_start, new_count)} @@\n"
    return header + "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in body
    )


def _range(start: int, count: int) -> str:
    return f"{start + 1 if count else start},{count}"


def _numbered_diff(lines: _IndexedLines, regions: list[ChangedRegion]) -> str:
    if not regions:
        return ""
    width = len(str(lines.count + sum(len(region.new) for region in regions)))
    out: list[str] = []
    size = position = 0
    for group in group_regions(regions, _DISPLAY_CONTEXT):
        first = group[0]
        position = max(0, first.old_first - _DISPLAY_CONTEXT)
        if position:
            out.append(f" {'':>{width}} ...")
        shift = first.new_first - first.old_first
        for region in group:
            out.extend(_numbered(" ", lines.between(position, region.old_first), position + shift, width))
            out.extend(_numbered("-", region.old, region.old_first, width))
            out.extend(_numbered("+", region.new, region.new_first, width))
            position = region.old_first + len(region.old)
            shift = region.new_first + len(region.new) - position
        end = min(lines.count, position + _DISPLAY_CONTEXT)
        out.extend(_numbered(" ", lines.between(position, end), position + shift, width))
        size += sum(len(line) for line in out[-200:])
        if size > _MAX_DIFF_CHARS:
            break
        position = end
    if position < lines.count:
        out.append(f" {'':>{width}} ...")
    return "\n".join(out)


def _numbered(sign: str, lines: "list[str] | tuple[str, ...]", first: int, width: int) -> list[str]:
    return [
        f"{sign}{first + offset + 1:>{width}} {line.rstrip(chr(10))}" for offset, line in enumerate(lines)
    ]
