"""Where vi's motions lead: pure functions over lines, by grapheme. A chip counts as a word.

A position is (line, index in the line). An empty line has one; the end of a line is a position for changes only."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from widgets.editor.graphemes import boundary_after, boundary_before, is_chip
from widgets.editor.model import Position
from widgets.editor.words import is_word

Lines = Sequence[str]
Step = Callable[[Lines, Position], Position | None]
Kind = object
"""What a character counts as; equal ones in a row are a word."""
BLANK, EMPTY, WORD, OTHER = "blank", "empty", "word", "other"
_PAIRS = {"(": ")", "[": "]", "{": "}"}
_BACK = {close: begin for begin, close in _PAIRS.items()}


class MotionTarget(NamedTuple):
    """Where a motion leads, and whether an operator includes the target or whole lines."""

    place: Position
    is_inclusive: bool = False
    """The character at the later end is taken too."""
    is_linewise: bool = False


def after(lines: Lines, at: Position) -> Position | None:
    """The next place; None at the end."""
    row, column = at
    line = lines[row]
    following = boundary_after(line, column) if column < len(line) else len(line)
    if following < len(line):
        return row, following
    return (row + 1, 0) if row + 1 < len(lines) else None


def before(lines: Lines, at: Position) -> Position | None:
    row, column = at
    if column > 0:
        return row, boundary_before(lines[row], column)
    return (row - 1, last_column(lines[row - 1])) if row else None


def last_column(line: str) -> int:
    """The last character that a cursor can stand on."""
    return boundary_before(line, len(line)) if line else 0


def first_word(line: str) -> int:
    """The first character that is no blank, else the last."""
    rest = line.lstrip()
    return len(line) - len(rest) if rest else last_column(line)


def kind_at(lines: Lines, at: Position, *, is_big: bool) -> Kind:
    row, column = at
    line = lines[row]
    if not line:
        return EMPTY
    char = line[column : column + 1]
    if not char or char.isspace():
        return BLANK
    if is_big:
        return WORD
    if is_chip(char):
        return at  # equal to no other
    return WORD if is_word(char) else OTHER


# -- words -------------------------------------------------------------------------------------------------


def next_word(lines: Lines, at: Position, *, is_big: bool) -> Position:
    """The start of the next word or the next empty line; behind the text where there is none."""
    kind = kind_at(lines, at, is_big=is_big)
    if kind in (BLANK, EMPTY):
        place = after(lines, at)
    else:
        place = after(lines, run_end(lines, at, is_big=is_big))
    place = _over(lines, place, after, (BLANK,), is_big=is_big)
    return place if place is not None else (len(lines) - 1, len(lines[-1]))


def word_before(lines: Lines, at: Position, *, is_big: bool) -> Position:
    place = _over(lines, before(lines, at), before, (BLANK,), is_big=is_big)
    return run_start(lines, place, is_big=is_big) if place is not None else (0, 0)


def word_end(lines: Lines, at: Position, *, is_big: bool) -> Position:
    place = _over(lines, after(lines, at), after, (BLANK, EMPTY), is_big=is_big)
    if place is None:
        return len(lines) - 1, last_column(lines[-1])
    return run_end(lines, place, is_big=is_big)


def end_before(lines: Lines, at: Position, *, is_big: bool) -> Position:
    """The end of the word before."""
    place: Position | None = run_start(lines, at, is_big=is_big)
    if kind_at(lines, at, is_big=is_big) not in (BLANK, EMPTY):
        place = before(lines, place) if place is not None else None
    elif kind_at(lines, at, is_big=is_big) == EMPTY:
        place = before(lines, at)
    return _over(lines, place, before, (BLANK,), is_big=is_big) or (0, 0)


def run_start(lines: Lines, at: Position, *, is_big: bool) -> Position:
    """Where the characters of one kind begin in the line."""
    return _run(lines, at, before, is_big=is_big)


def run_end(lines: Lines, at: Position, *, is_big: bool) -> Position:
    """The last of the characters of one kind."""
    return _run(lines, at, after, is_big=is_big)


def _run(lines: Lines, at: Position, step: Step, *, is_big: bool) -> Position:
    kind = kind_at(lines, at, is_big=is_big)
    while (place := step(lines, at)) is not None and place[0] == at[0]:
        if kind_at(lines, place, is_big=is_big) != kind:
            break
        at = place
    return at


def _over(
    lines: Lines, place: Position | None, step: Step, kinds: Sequence[Kind], *, is_big: bool
) -> Position | None:
    """The first place that is of none of these kinds."""
    while place is not None and kind_at(lines, place, is_big=is_big) in kinds:
        place = step(lines, place)
    return place


def times(step: Callable[[Position], Position], at: Position, count: int) -> Position:
    for _ in range(count):
        following = step(at)
        if following == at:
            break
        at = following
    return at


# -- within the line, and beyond -----------------------------------------------------------------------------


def left(lines: Lines, at: Position, count: int) -> Position:
    return times(lambda place: (place[0], boundary_before(lines[place[0]], place[1])), at, count)


def right(lines: Lines, at: Position, count: int) -> Position:
    """As far as the line's end, which only a change reaches."""
    return times(lambda place: (place[0], boundary_after(lines[place[0]], place[1])), at, count)


class Find(NamedTuple):
    """`f`, `t`, `F`, `T` and its character."""

    kind: str
    char: str

    @property
    def reversed(self) -> "Find":
        return Find(self.kind.swapcase(), self.char)


def find(
    lines: Lines, at: Position, wanted: Find, count: int, *, is_again: bool = False
) -> MotionTarget | None:
    """`is_again`: the character right beside the cursor is where `t` stopped the last time."""
    row, column = at
    line, char = lines[row], wanted.char
    is_till = wanted.kind in "tT"
    found = column
    for number in range(count):
        skips = is_till and is_again and number == 0
        if wanted.kind in "ft":
            begin = boundary_after(line, found)
            if skips and line.startswith(char, begin):
                begin = boundary_after(line, begin)
            found = line.find(char, begin)
        else:
            stop = found
            if skips and line.endswith(char, 0, stop):
                stop -= len(char)
            found = line.rfind(char, 0, stop)
        if found < 0:
            return None
    if is_till:
        found = boundary_before(line, found) if wanted.kind == "t" else found + len(char)
    return MotionTarget((row, found), is_inclusive=wanted.kind in "ft")


def paragraph(lines: Lines, at: Position, count: int, *, is_forward: bool) -> Position:
    """The next blank line behind a paragraph, or before one; the text's end where there is none."""
    row, step = at[0], 1 if is_forward else -1
    for _ in range(count):
        while 0 <= row < len(lines) and not lines[row]:
            row += step
        while 0 <= row < len(lines) and lines[row]:
            row += step
    if row < 0:
        return 0, 0
    return (row, 0) if row < len(lines) else (len(lines) - 1, len(lines[-1]))


def matching(lines: Lines, at: Position) -> Position | None:
    """The bracket that belongs to the one at the cursor, or to the next one in its line."""
    row, column = at
    line = lines[row]
    begin = next((place for place in range(column, len(line)) if line[place] in "()[]{}"), -1)
    if begin < 0:
        return None
    char = line[begin]
    if char in _PAIRS:
        return closing(lines, (row, begin + 1), char, _PAIRS[char])
    return opening(lines, (row, begin), _BACK[char], char)


def closing(lines: Lines, at: Position, begin: str, close: str) -> Position | None:
    """The closing bracket from a place on that is not that of another pair."""
    rows = range(at[0], len(lines))
    return _unpaired(
        lines, ((row, range(at[1] if row == at[0] else 0, len(lines[row]))) for row in rows), begin, close
    )


def opening(lines: Lines, at: Position, begin: str, close: str) -> Position | None:
    """The opening bracket before a place that is not that of another pair."""
    rows = range(at[0], -1, -1)
    ends = ((row, at[1] if row == at[0] else len(lines[row])) for row in rows)
    return _unpaired(lines, ((row, range(end - 1, -1, -1)) for row, end in ends), close, begin)


def _unpaired(lines: Lines, ways: Iterable[tuple[int, range]], other: str, wanted: str) -> Position | None:
    """The first bracket on these ways, a row and its columns each, to which none of the others there belongs."""
    depth = 0
    for row, columns in ways:
        line = lines[row]
        for column in columns:
            if line[column] == other:
                depth += 1
            elif line[column] == wanted:
                if not depth:
                    return row, column
                depth -= 1
    return None
