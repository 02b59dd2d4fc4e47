"""Parses unified diffs into lines, pairs the lines that replace each other, and finds the changed words in them.

Pure: the transcript and the exported page decide how the lines look."""

from difflib import SequenceMatcher
from itertools import accumulate, groupby, pairwise
from typing import NamedTuple

from tools.lazy_patterns import lazy_regex

_HUNK_HEADER_PATTERN = lazy_regex(r"@@+ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")
_WORD_PATTERN = lazy_regex(r"\w+|\s+|[^\w\s]")
_MAX_WORD_DIFF_CHARS = 600
_MIN_LINE_SIMILARITY = 0.35


class DiffLine(NamedTuple):
    kind: str
    """`+`, `-`, a space for context, or `@` for a gap."""
    old_line: int
    new_line: int
    start: int
    """Offset of the line's text in the plain text of all lines."""
    end: int
    paired_line: int = -1
    """Index of the line that this line replaces or is replaced by; -1 if none."""


def parse_unified_diff(diff: str) -> tuple[str, list[DiffLine]]:
    """Returns the code lines of a unified diff without their signs, and a `DiffLine` for each."""
    old = new = 0
    in_hunk = False
    kinds: list[str] = []
    texts: list[str] = []
    olds: list[int] = []
    news: list[int] = []
    for line in diff.split("\n"):
        kind = line[:1]
        if kind == "@" and (match := _HUNK_HEADER_PATTERN.match(line)):
            if in_hunk:
                kinds.append("@")
                texts.append("⋯")
                olds.append(old)
                news.append(new)
            old, new, in_hunk = int(match[1]), int(match[2]), True
        elif in_hunk and kind and kind in "+- ":
            kinds.append(kind)
            texts.append(line[1:])
            olds.append(old)
            news.append(new)
            if kind != "+":
                old += 1
            if kind != "-":
                new += 1
    starts = list(accumulate((len(text) + 1 for text in texts), initial=0))
    ends = [start - 1 for start in starts[1:]]
    return "\n".join(texts), list(map(DiffLine, kinds, olds, news, starts, ends, _pair_replaced_lines(kinds)))


def _pair_replaced_lines(kinds: list[str]) -> list[int]:
    """Pairs removed with added lines of a diff: returns for each line the index of the one that it replaces or is
    replaced by, or -1."""
    found = [-1] * len(kinds)
    at = 0
    for (kind, lines), (following, others) in pairwise(
        (*((kind, len(list(group))) for kind, group in groupby(kinds)), ("", 0))
    ):
        if kind == "-" and following == "+":
            paired = min(lines, others)
            found[at : at + paired] = range(at + lines, at + lines + paired)
            found[at + lines : at + lines + paired] = range(at, at + paired)
        at += lines
    return found


def find_changed_words(old: str, new: str) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Returns the words in which two versions of a line differ, as spans; empty if the versions have too little in
    common."""
    if max(len(old), len(new)) > _MAX_WORD_DIFF_CHARS:
        return [], []
    before, after = _WORD_PATTERN.findall(old), _WORD_PATTERN.findall(new)
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    if matcher.ratio() < _MIN_LINE_SIMILARITY:
        return [], []
    removed, added = list[tuple[int, int]](), list[tuple[int, int]]()
    for tag, a, b, c, d in matcher.get_opcodes():
        if tag != "equal":
            removed.append((sum(map(len, before[:a])), sum(map(len, before[:b]))))
            added.append((sum(map(len, after[:c])), sum(map(len, after[:d]))))
    return [span for span in removed if span[0] < span[1]], [span for span in added if span[0] < span[1]]
