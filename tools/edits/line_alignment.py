"""Aligns the lines of two texts: finds the runs of unchanged lines.

Lines that are unique in both texts are matched first, then their neighbours; the rest is compared in full only
where it is small. Nothing is guessed: a line in no run has changed."""

import difflib
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple

MAX_ALIGNED_LINES: Final = 4_000
"""The maximum number of lines of a changed part that is aligned, without the equal lines around it."""
_MAX_COMPARED_LINE_PAIRS: Final = 40_000


class UnchangedLines(NamedTuple):
    old_start: int
    new_start: int
    length: int


def count_common_first_and_last_lines(old: Sequence[str], new: Sequence[str]) -> tuple[int, int]:
    """Returns how many lines both texts share at the beginning, and at the end; no line is counted twice."""
    most = min(len(old), len(new))
    head = 0
    while head < most and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < most - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    return head, tail


def find_unchanged_line_runs(
    old: Sequence[str],
    new: Sequence[str],
    *,
    max_lines: int = MAX_ALIGNED_LINES,
    max_cells: int = _MAX_COMPARED_LINE_PAIRS,
) -> list[UnchangedLines]:
    """Returns the runs of unchanged lines between two texts in order, each as long as possible. `max_cells` limits the
    comparison of lines that are not unique."""
    head, tail = count_common_first_and_last_lines(old, new)
    found = [UnchangedLines(0, 0, head)] if head else []
    old_end, new_end = len(old) - tail, len(new) - tail
    if max(old_end - head, new_end - head) <= max_lines:
        found += _find_unchanged_runs_within(old, new, (head, old_end), (head, new_end), max_cells)
    if tail:
        found.append(UnchangedLines(old_end, new_end, tail))
    return _join_adjacent_unchanged_runs(found)


def _find_unchanged_runs_within(
    old: Sequence[str],
    new: Sequence[str],
    old_span: tuple[int, int],
    new_span: tuple[int, int],
    max_cells: int,
) -> list[UnchangedLines]:
    (a, b), (c, d) = old_span, new_span
    found: list[UnchangedLines] = []
    for i, j in [*_find_unique_line_pairs(old, new, a, b, c, d), (b, d)]:
        if (b - a) * (d - c) and i > a and j > c:
            found += _compare_for_unchanged_runs(old[a:i], new[c:j], a, c, max_cells)
        if i < b and j < d:
            found.append(UnchangedLines(i, j, 1))
        a, c = i + 1, j + 1
    return found


def _find_unique_line_pairs(
    old: Sequence[str], new: Sequence[str], a: int, b: int, c: int, d: int
) -> list[tuple[int, int]]:
    """Returns the longest chain of line pairs that are unique in both texts and in the same order."""
    mine, theirs = Counter(old[a:b]), Counter(new[c:d])
    places = {new[index]: index for index in range(c, d) if theirs[new[index]] == 1}
    pairs = [
        (index, places[old[index]]) for index in range(a, b) if mine[old[index]] == 1 and old[index] in places
    ]
    ends: list[int] = []
    last: list[int] = []
    before: list[int] = []
    for number, (_, place) in enumerate(pairs):
        at = bisect_left(ends, place)
        before.append(last[at - 1] if at else -1)
        if at == len(ends):
            ends.append(place)
            last.append(number)
        else:
            ends[at], last[at] = place, number
    chain: list[tuple[int, int]] = []
    number = last[-1] if last else -1
    while number >= 0:
        chain.append(pairs[number])
        number = before[number]
    return chain[::-1]


def _compare_for_unchanged_runs(
    old: Sequence[str], new: Sequence[str], a: int, c: int, max_cells: int
) -> list[UnchangedLines]:
    """Returns the runs of unchanged lines in two parts of the texts, which begin at the lines `a` and `c`, by a full
    comparison."""
    if len(old) * len(new) > max_cells:
        head, tail = count_common_first_and_last_lines(old, new)
        ends = [
            UnchangedLines(a, c, head),
            UnchangedLines(a + len(old) - tail, c + len(new) - tail, tail),
        ]
        return [run for run in ends if run.length]
    blocks = difflib.SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks()
    return [UnchangedLines(a + block.a, c + block.b, block.size) for block in blocks if block.size]


def _join_adjacent_unchanged_runs(found: Sequence[UnchangedLines]) -> list[UnchangedLines]:
    out: list[UnchangedLines] = []
    for run in found:
        if (
            out
            and out[-1].old_start + out[-1].length == run.old_start
            and out[-1].new_start + out[-1].length == run.new_start
        ):
            out[-1] = out[-1]._replace(length=out[-1].length + run.length)
        else:
            out.append(run)
    return out


def find_position_of_moved_lines(old: Sequence[str], new: Sequence[str], first: int, last: int) -> int | None:
    """Returns where the lines `first` to `last` of the old text are in the new one, if they and one line around them
    are unchanged; None also if they were copied, because the intended copy is unknown."""
    before, behind = max(0, first - 1), min(len(old) - 1, last + 1)
    for run in find_unchanged_line_runs(old, new):
        if not (run.old_start <= before and behind < run.old_start + run.length):
            continue
        place = first - run.old_start + run.new_start
        is_first_still = first > 0 or place == 0
        is_last_still = last < len(old) - 1 or place + last - first == len(new) - 1
        if not is_first_still or not is_last_still or _has_copies(old, new, first, last):
            return None
        return place
    return None


def _has_copies(old: Sequence[str], new: Sequence[str], first: int, last: int) -> bool:
    """Returns whether some lines occur with their neighbours more often in the new text than in the old."""
    before, behind = max(0, first - 1), min(len(old) - 1, last + 1)
    parts = {(before, behind)}
    if any(map(str.isalnum, old[before])):
        parts.add((before, last))
    if any(map(str.isalnum, old[behind])):
        parts.add((first, behind))
    return any(
        _count_occurrences(new, old[start : end + 1]) > _count_occurrences(old, old[start : end + 1])
        for start, end in parts
    )


def _count_occurrences(lines: Sequence[str], part: Sequence[str]) -> int:
    wanted, head = list(part), part[0]
    return sum(
        line == head and list(lines[index : index + len(wanted)]) == wanted
        for index, line in enumerate(lines)
    )
