"""The targets of vi's motions: pure functions over lines, by grapheme.

A position is (line, index in the line). An empty line has one position; the position after a line's last character
exists only for changes. A chip counts as a word."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from widgets.editor.editor_model import TextPosition
from widgets.editor.graphemes import grapheme_boundary_after, grapheme_boundary_before, is_chip_character
from widgets.editor.word_boundaries import is_word_character

TextLines = Sequence[str]
PositionStep = Callable[[TextLines, TextPosition], TextPosition | None]
CharacterKind = object
"""The class of a character; consecutive characters of the same class form a word."""
BLANK_KIND, EMPTY_LINE_KIND, WORD_KIND, OTHER_KIND = "blank", "empty", "word", "other"
_VI_CLOSING_BRACKET_BY_OPENING = {"(": ")", "[": "]", "{": "}"}
_OPENING_BRACKET_BY_CLOSING = {close: begin for begin, close in _VI_CLOSING_BRACKET_BY_OPENING.items()}


class ViMotionTarget(NamedTuple):
    """The target of a vi motion, and whether an operator includes the character there or whole lines."""

    position: TextPosition
    is_inclusive: bool = False
    """Whether an operator includes the character at the later end."""
    is_linewise: bool = False


def next_cursor_position(lines: TextLines, at: TextPosition) -> TextPosition | None:
    """Returns the cursor position after the given one, in this or the next line; None at the end of the text."""
    row, column = at
    line = lines[row]
    following = grapheme_boundary_after(line, column) if column < len(line) else len(line)
    if following < len(line):
        return row, following
    return (row + 1, 0) if row + 1 < len(lines) else None


def previous_cursor_position(lines: TextLines, at: TextPosition) -> TextPosition | None:
    row, column = at
    if column > 0:
        return row, grapheme_boundary_before(lines[row], column)
    return (row - 1, last_cursor_column(lines[row - 1])) if row else None


def last_cursor_column(line: str) -> int:
    """Returns the index of a line's last character, where vi's cursor can be at most; 0 in an empty line."""
    return grapheme_boundary_before(line, len(line)) if line else 0


def first_nonblank_column(line: str) -> int:
    """Returns the index of a line's first character that is not a space; of its last one if there are only spaces."""
    rest = line.lstrip()
    return len(line) - len(rest) if rest else last_cursor_column(line)


def vi_character_kind(lines: TextLines, at: TextPosition, *, is_big: bool) -> CharacterKind:
    row, column = at
    line = lines[row]
    if not line:
        return EMPTY_LINE_KIND
    char = line[column : column + 1]
    if not char or char.isspace():
        return BLANK_KIND
    if is_big:
        return WORD_KIND
    if is_chip_character(char):
        return at  # equal to no other kind
    return WORD_KIND if is_word_character(char) else OTHER_KIND


# -- words -------------------------------------------------------------------------------------------------


def next_word_start(lines: TextLines, at: TextPosition, *, is_big: bool) -> TextPosition:
    """Returns the position of the next word's start or empty line; the end of the text if there is none."""
    kind = vi_character_kind(lines, at, is_big=is_big)
    if kind in (BLANK_KIND, EMPTY_LINE_KIND):
        place = next_cursor_position(lines, at)
    else:
        place = next_cursor_position(lines, end_of_character_run(lines, at, is_big=is_big))
    place = _skip_kinds(lines, place, next_cursor_position, (BLANK_KIND,), is_big=is_big)
    return place if place is not None else (len(lines) - 1, len(lines[-1]))


def previous_word_start(lines: TextLines, at: TextPosition, *, is_big: bool) -> TextPosition:
    place = _skip_kinds(
        lines, previous_cursor_position(lines, at), previous_cursor_position, (BLANK_KIND,), is_big=is_big
    )
    return start_of_character_run(lines, place, is_big=is_big) if place is not None else (0, 0)


def next_word_end(lines: TextLines, at: TextPosition, *, is_big: bool) -> TextPosition:
    place = _skip_kinds(
        lines,
        next_cursor_position(lines, at),
        next_cursor_position,
        (BLANK_KIND, EMPTY_LINE_KIND),
        is_big=is_big,
    )
    if place is None:
        return len(lines) - 1, last_cursor_column(lines[-1])
    return end_of_character_run(lines, place, is_big=is_big)


def previous_word_end(lines: TextLines, at: TextPosition, *, is_big: bool) -> TextPosition:
    """Returns the position of the last character of the word before the given position."""
    place: TextPosition | None = start_of_character_run(lines, at, is_big=is_big)
    if vi_character_kind(lines, at, is_big=is_big) not in (BLANK_KIND, EMPTY_LINE_KIND):
        place = previous_cursor_position(lines, place) if place is not None else None
    elif vi_character_kind(lines, at, is_big=is_big) == EMPTY_LINE_KIND:
        place = previous_cursor_position(lines, at)
    return _skip_kinds(lines, place, previous_cursor_position, (BLANK_KIND,), is_big=is_big) or (0, 0)


def start_of_character_run(lines: TextLines, at: TextPosition, *, is_big: bool) -> TextPosition:
    """Returns the start of the run of characters of the same kind (word, sign, space) that contains the position."""
    return _boundary_of_same_kind(lines, at, previous_cursor_position, is_big=is_big)


def end_of_character_run(lines: TextLines, at: TextPosition, *, is_big: bool) -> TextPosition:
    """Returns the last position of the run of characters of the same kind (word, sign, space) that contains the
    position."""
    return _boundary_of_same_kind(lines, at, next_cursor_position, is_big=is_big)


def _boundary_of_same_kind(
    lines: TextLines, at: TextPosition, step: PositionStep, *, is_big: bool
) -> TextPosition:
    kind = vi_character_kind(lines, at, is_big=is_big)
    while (place := step(lines, at)) is not None and place[0] == at[0]:
        if vi_character_kind(lines, place, is_big=is_big) != kind:
            break
        at = place
    return at


def _skip_kinds(
    lines: TextLines,
    place: TextPosition | None,
    step: PositionStep,
    kinds: Sequence[CharacterKind],
    *,
    is_big: bool,
) -> TextPosition | None:
    """Steps from a position past all characters of the given kinds; returns the first other one, None if there is
    none."""
    while place is not None and vi_character_kind(lines, place, is_big=is_big) in kinds:
        place = step(lines, place)
    return place


def repeat_position_step(
    step: Callable[[TextPosition], TextPosition], at: TextPosition, count: int
) -> TextPosition:
    for _ in range(count):
        following = step(at)
        if following == at:
            break
        at = following
    return at


# -- within the line, and beyond -----------------------------------------------------------------------------


def position_to_the_left(lines: TextLines, at: TextPosition, count: int) -> TextPosition:
    return repeat_position_step(
        lambda place: (place[0], grapheme_boundary_before(lines[place[0]], place[1])), at, count
    )


def position_to_the_right(lines: TextLines, at: TextPosition, count: int) -> TextPosition:
    """Returns the position `count` characters to the right, at most the end of the line, which only changes can
    reach."""
    return repeat_position_step(
        lambda place: (place[0], grapheme_boundary_after(lines[place[0]], place[1])), at, count
    )


class ViFindMotion(NamedTuple):
    """A vi motion that finds a character in the line (`f`, `t`, `F`, `T`), with that character."""

    kind: str
    char: str

    @property
    def reversed_direction(self) -> "ViFindMotion":
        return ViFindMotion(self.kind.swapcase(), self.char)


def find_character_in_line(
    lines: TextLines, at: TextPosition, wanted: ViFindMotion, count: int, *, is_again: bool = False
) -> ViMotionTarget | None:
    """Returns the target of vi's `f`, `t`, `F` or `T` in the line; None if the character does not occur. `is_again`: a
    repeated `t` skips the character before which it stopped."""
    row, column = at
    line, char = lines[row], wanted.char
    is_till = wanted.kind in "tT"
    found = column
    for number in range(count):
        skips = is_till and is_again and number == 0
        if wanted.kind in "ft":
            begin = grapheme_boundary_after(line, found)
            if skips and line.startswith(char, begin):
                begin = grapheme_boundary_after(line, begin)
            found = line.find(char, begin)
        else:
            stop = found
            if skips and line.endswith(char, 0, stop):
                stop -= len(char)
            found = line.rfind(char, 0, stop)
        if found < 0:
            return None
    if is_till:
        found = grapheme_boundary_before(line, found) if wanted.kind == "t" else found + len(char)
    return ViMotionTarget((row, found), is_inclusive=wanted.kind in "ft")


def find_paragraph_boundary(
    lines: TextLines, at: TextPosition, count: int, *, is_forward: bool
) -> TextPosition:
    """Returns the next or previous blank line around a paragraph; the end of the text if there is
    none."""
    row, step = at[0], 1 if is_forward else -1
    for _ in range(count):
        while 0 <= row < len(lines) and not lines[row]:
            row += step
        while 0 <= row < len(lines) and lines[row]:
            row += step
    if row < 0:
        return 0, 0
    return (row, 0) if row < len(lines) else (len(lines) - 1, len(lines[-1]))


def find_matching_bracket(lines: TextLines, at: TextPosition) -> TextPosition | None:
    """Returns the position of the bracket that matches the one at the cursor, or the next bracket in its line (vi's
    `%`)."""
    row, column = at
    line = lines[row]
    begin = next((place for place in range(column, len(line)) if line[place] in "()[]{}"), -1)
    if begin < 0:
        return None
    char = line[begin]
    if char in _VI_CLOSING_BRACKET_BY_OPENING:
        return find_unmatched_closing(lines, (row, begin + 1), char, _VI_CLOSING_BRACKET_BY_OPENING[char])
    return find_unmatched_opening(lines, (row, begin), _OPENING_BRACKET_BY_CLOSING[char], char)


def find_unmatched_closing(lines: TextLines, at: TextPosition, begin: str, close: str) -> TextPosition | None:
    """Returns the position of the first closing bracket from here on whose opening bracket is before here."""
    rows = range(at[0], len(lines))
    return _find_first_unmatched(
        lines, ((row, range(at[1] if row == at[0] else 0, len(lines[row]))) for row in rows), begin, close
    )


def find_unmatched_opening(lines: TextLines, at: TextPosition, begin: str, close: str) -> TextPosition | None:
    """Returns the position of the last opening bracket before here that is not closed yet."""
    rows = range(at[0], -1, -1)
    ends = ((row, at[1] if row == at[0] else len(lines[row])) for row in rows)
    return _find_first_unmatched(lines, ((row, range(end - 1, -1, -1)) for row, end in ends), close, begin)


def _find_first_unmatched(
    lines: TextLines, ways: Iterable[tuple[int, range]], other: str, wanted: str
) -> TextPosition | None:
    """Returns the first wanted bracket without a partner, in the given order of rows and columns; None if there is
    none."""
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
