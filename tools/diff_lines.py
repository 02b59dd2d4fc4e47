"""Parses unified diffs into lines, pairs the lines that replace each other, and finds the changed words in them.

Pure: the transcript and the exported page decide how the lines look."""

from difflib import SequenceMatcher
from typing import NamedTuple

from tools.patterns import late

_HUNK = late(r"@@+ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")
_WORD = late(r"\w+|\s+|[^\w\s]")
_MAX_WORD_DIFF_CHARS = 600
_MIN_SIMILARITY = 0.35


class DiffLine(NamedTuple):
    kind: str
    """`+`, `-`, a space for context, or `@` for a gap."""
    old: int
    new: int
    start: int
    """Offset of the line's text in the plain text of all lines."""
    end: int
    partner: int = -1
    """Index of the line that this line replaces or is replaced by; -1 if none."""


def parse_diff(diff: str) -> tuple[str, list[DiffLine]]:
    """Returns the code in a unified diff without its signs, and a `DiffLine` for each line."""
    old = new = 0
    in_hunk = False
    texts: list[str] = []
    lines: list[DiffLine] = []
    at = 0

    def add(kind: str, text: str) -> None:
        nonlocal at
        texts.append(text)
        lines.append(DiffLine(kind, old, new, at, at + len(text)))
        at += len(text) + 1

    for line in diff.split("\n"):
        if match := _HUNK.match(line):
            if in_hunk:
                add("@", "⋯")
            old, new, in_hunk = int(match[1]), int(match[2]), True
        elif not in_hunk or line.startswith("\\"):
            continue
        elif line.startswith("+"):
            add("+", line[1:])
            new += 1
        elif line.startswith("-"):
            add("-", line[1:])
            old += 1
        elif line.startswith(" "):
            add(" ", line[1:])
            old += 1
            new += 1
    return "\n".join(texts), _pair_lines(lines)


def _pair_lines(lines: list[DiffLine]) -> list[DiffLine]:
    out = list(lines)
    index = 0
    while index < len(out):
        first = index
        while index < len(out) and out[index].kind == "-":
            index += 1
        middle = index
        while index < len(out) and out[index].kind == "+":
            index += 1
        for offset in range(min(middle - first, index - middle)):
            removed, added = first + offset, middle + offset
            out[removed] = out[removed]._replace(partner=added)
            out[added] = out[added]._replace(partner=removed)
        if index == first:
            index += 1
    return out


def changed_words(old: str, new: str) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Returns the spans in which two versions of a line differ; empty when the versions have too little in common."""
    if max(len(old), len(new)) > _MAX_WORD_DIFF_CHARS:
        return [], []
    before, after = _WORD.findall(old), _WORD.findall(new)
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    if matcher.ratio() < _MIN_SIMILARITY:
        return [], []
    removed, added = list[tuple[int, int]](), list[tuple[int, int]]()
    for tag, a, b, c, d in matcher.get_opcodes():
        if tag != "equal":
            removed.append((sum(map(len, before[:a])), sum(map(len, before[:b]))))
            added.append((sum(map(len, after[:c])), sum(map(len, after[:d]))))
    return [span for span in removed if span[0] < span[1]], [span for span in added if span[0] < span[1]]
