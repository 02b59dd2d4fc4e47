"""Draws a unified diff with line numbers: changed words are highlighted; wide views show old and new side by side,
unless a line would be wrapped there.

Word differences and syntax colours are computed when a line is painted."""

from bisect import bisect_right
from itertools import pairwise
from operator import attrgetter

from tools.diff_lines import find_changed_words, parse_unified_diff
from widgets.transcript.leaves.code_leaf import WindowedSyntaxColours
from widgets.transcript.leaves.layout_leaf import LayoutLeaf, StyledPiece, StyleRun
from widgets.transcript.leaves.safe_text import cells, wrap_line_into_ranges

SIDE_BY_SIDE_DIFF_MIN_WIDTH = 116


class DiffLeaf(LayoutLeaf):
    """A unit of layout with a unified diff: side by side in wide views where no line is too wide for that."""

    __slots__ = (
        "_drawn",
        "_is_simple",
        "_is_split",
        "_numbers",
        "_windows",
        "_word_spans",
        "_wraps",
        "language",
        "lines",
    )

    def __init__(self, diff: str, language: str) -> None:
        plain, self.lines = parse_unified_diff(diff)
        super().__init__(plain, key="output")
        self.language = language
        self._numbers = len(str(max(self.lines[-1].old_line, self.lines[-1].new_line))) if self.lines else 1
        self._is_split = False
        self._is_simple = plain.isascii() and "\t" not in plain
        """Whether each character takes one cell, so that a line's length tells whether it fits."""
        self._drawn: list[tuple[int, int, int, int]] = []
        """For each row: line on the left (or the only one), its wrapped row, line on the right, its wrapped row."""
        self._wraps: dict[int, list[tuple[int, int]]] = {}
        self._word_spans: dict[int, list[tuple[int, int]]] = {}
        self._windows = WindowedSyntaxColours(plain, language)

    def _lay_out(self, width: int) -> list[tuple[int, int]]:
        self._is_split = width >= SIDE_BY_SIDE_DIFF_MIN_WIDTH and any(line.kind == "-" for line in self.lines)
        self._is_split = self._is_split and self._widest_line <= self._text_room(width)
        self._drawn = []
        self._wraps = {}
        rows: list[tuple[int, int]] = []
        room, lines = self._text_room(width), self.lines
        for left, right in self._row_pairs():
            line = lines[left if left >= 0 else right]
            other = lines[right] if right >= 0 else line
            if self._is_simple and max(line.end - line.start, other.end - other.start) <= room:
                self._drawn.append((left, 0, right, 0))
                rows.append((line.start, line.end))
                continue
            count = max(len(self._wrapped_line(index, room)) for index in (left, right) if index >= 0)
            spans = self._wrapped_line(left if left >= 0 else right, room)
            for row in range(count):
                start, end = spans[min(row, len(spans) - 1)]
                self._drawn.append((left, row, right, row))
                rows.append((line.start + start, line.start + end))
        return rows

    @property
    def _widest_line(self) -> int:
        """Returns the width of the diff's widest line in cells, for which both sides need room."""
        if self._is_simple:
            return max(line.end - line.start for line in self.lines)
        return max(cells(self.plain[line.start : line.end]) for line in self.lines)

    def _text_room(self, width: int) -> int:
        room = self._room(width)
        if self._is_split:
            return max(1, (room - 3) // 2 - self._numbers - 3)
        return max(1, room - self._numbers - 3)

    def _row_pairs(self) -> list[tuple[int, int]]:
        if not self._is_split:
            return [(index, -1) for index in range(len(self.lines))]
        pairs = []
        for index, line in enumerate(self.lines):
            match line.kind:
                case "-":
                    pairs.append((index, line.paired_line))
                case "+" if line.paired_line < 0:
                    pairs.append((-1, index))
                case "+":
                    pass
                case _:
                    pairs.append((index, index))
        return pairs

    def _wrapped_line(self, index: int, room: int) -> list[tuple[int, int]]:
        spans = self._wraps.get(index)
        if spans is None:
            line = self.lines[index]
            spans = self._wraps[index] = wrap_line_into_ranges(self.plain[line.start : line.end], room)
        return spans

    def row_fill_style_key(self, row: int) -> str:
        if self._is_split:
            return ""
        return _with_background("text", self.lines[self._drawn[row][0]].kind)

    def pieces(self, row: int) -> list[StyledPiece]:
        left, left_row, right, right_row = self._drawn[row]
        out = self._before(row)
        room = self._text_room(self._width)
        if not self._is_split:
            out.extend(self._side_pieces(left, left_row, room, is_old=self.lines[left].kind == "-"))
            return out
        side = room + self._numbers + 3
        for index, line_row, is_old in ((left, left_row, True), (right, right_row, False)):
            pieces = self._side_pieces(index, line_row, room, is_old=is_old) if index >= 0 else []
            pad = side - sum(cells(piece.text) for piece in pieces)
            kind = self.lines[index].kind if index >= 0 else " "
            out.extend(pieces)
            if pad > 0:
                out.append(StyledPiece(" " * pad, _with_background("text", kind)))
            if is_old:
                out.append(StyledPiece(" │ ", "rule"))
        return out

    def _side_pieces(self, index: int, row: int, room: int, *, is_old: bool) -> list[StyledPiece]:
        line = self.lines[index]
        spans = self._wrapped_line(index, room)
        if row >= len(spans):
            return []
        number = "" if row or line.kind == "@" else str(line.old_line if is_old else line.new_line)
        sign = line.kind if line.kind in "+-" and not row else " "
        text = StyledPiece(f"{number:>{self._numbers}} {sign} ", _with_background("dim", line.kind))
        start, end = line.start + spans[row][0], line.start + spans[row][1]
        return [text, *self._text_pieces(start, end)]

    def style_runs_for(self, start: int, end: int) -> list[StyleRun]:
        line = max(0, bisect_right(self.lines, start, key=attrgetter("start")) - 1)
        kind = self.lines[line].kind
        if kind == "@":
            return [(start, end, "dim")]
        runs = [
            (max(a, start), min(b, end), key)
            for a, b, key in self._windows.style_runs_around(start)
            if b > start and a < end
        ]
        return _combine_styles(start, end, runs, self._changed_words(line), kind)

    def _changed_words(self, index: int) -> list[tuple[int, int]]:
        line = self.lines[index]
        if line.paired_line < 0:
            return []
        if index not in self._word_spans:
            old, new = (index, line.paired_line) if line.kind == "-" else (line.paired_line, index)
            texts = [self.plain[self.lines[at].start : self.lines[at].end] for at in (old, new)]
            for at, spans in zip((old, new), find_changed_words(*texts), strict=True):
                base = self.lines[at].start
                self._word_spans[at] = [(base + a, base + b) for a, b in spans]
        return self._word_spans[index]


def diff_line_number_at(leaf: DiffLeaf, row: int) -> int:
    """Returns the line number in the new file that a row of a diff shows; for a removed line, where it was."""
    left, _, right, _ = leaf._drawn[row]
    return max(1, leaf.lines[right if right >= 0 else left].new_line)


def _with_background(key: str, kind: str) -> str:
    return key + {"+": "|add", "-": "|remove"}.get(kind, "|page")


def _combine_styles(
    start: int, end: int, runs: list[StyleRun], words: list[tuple[int, int]], kind: str
) -> list[StyleRun]:
    """Returns the style runs of a line of a diff: its syntax colours with the background for added or removed, stronger
    in changed words."""
    edges = {
        start,
        end,
        *(edge for run in runs for edge in run[:2]),
        *(edge for word in words for edge in word),
    }
    out: list[StyleRun] = []
    marks = sorted(edge for edge in edges if start <= edge <= end)
    at = 0
    for first, last in pairwise(marks):
        while at < len(runs) and runs[at][1] <= first:
            at += 1
        key = runs[at][2] if at < len(runs) and runs[at][0] <= first else "text"
        key = _with_background(key, kind)
        if any(a <= first and last <= b for a, b in words):
            key += "-word"
        out.append((first, last, key))
    return out
