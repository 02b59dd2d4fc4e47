"""vi's text objects: the word, quotes, brackets or paragraph around a position. Pure."""

from typing import NamedTuple

from widgets.editor.editor_model import TextPosition
from widgets.editor.graphemes import grapheme_boundary_after
from widgets.editor.vi.motion_targets import (
    BLANK_KIND,
    TextLines,
    end_of_character_run,
    find_unmatched_closing,
    find_unmatched_opening,
    start_of_character_run,
    vi_character_kind,
)

_BRACKETS_BY_TEXT_OBJECT_NAME = {
    **{"(": ("(", ")"), ")": ("(", ")"), "b": ("(", ")")},
    **{"{": ("{", "}"), "}": ("{", "}"), "B": ("{", "}")},
    **{"[": ("[", "]"), "]": ("[", "]"), "<": ("<", ">"), ">": ("<", ">")},
}
TEXT_OBJECT_NAMES = frozenset("wWp\"'`") | frozenset(_BRACKETS_BY_TEXT_OBJECT_NAME)


class TextRange(NamedTuple):
    """A range of the text that a vi command works on: from a position to the one after its last character, or whole
    lines."""

    start: TextPosition
    end: TextPosition
    is_linewise: bool = False


def find_text_object(
    lines: TextLines, at: TextPosition, name: str, *, is_around: bool, count: int = 1
) -> TextRange | None:
    """Returns the range of a vi text object (word, quotes, brackets, paragraph) around a position; None if there is
    none."""
    if name in "wW":
        return _find_word_range(lines, at, is_big=name == "W", is_around=is_around, count=count)
    if name == "p":
        return _find_paragraph_range(lines, at[0], is_around=is_around, count=count)
    if name in _BRACKETS_BY_TEXT_OBJECT_NAME:
        return _find_bracket_range(
            lines, at, *_BRACKETS_BY_TEXT_OBJECT_NAME[name], is_around=is_around, count=count
        )
    return _find_quote_range(lines[at[0]], at, name, is_around=is_around)


def _position_after(lines: TextLines, at: TextPosition) -> TextPosition:
    return at[0], grapheme_boundary_after(lines[at[0]], at[1])


def _find_word_range(
    lines: TextLines, at: TextPosition, *, is_big: bool, is_around: bool, count: int
) -> TextRange:
    """Returns the range of `count` words from the position on (vi's `iw` and `aw`), within the line; runs of spaces
    count as words."""
    row, line = at[0], lines[at[0]]
    if not line:
        return TextRange(at, at)

    def kind(column: int) -> object:
        return vi_character_kind(lines, (row, column), is_big=is_big)

    start = start_of_character_run(lines, at, is_big=is_big)
    end = at
    for number in range(count):
        if number and end[1] >= len(line):
            break
        begins_blank = end[1] < len(line) and kind(end[1]) == BLANK_KIND
        end = _position_after(lines, end_of_character_run(lines, end, is_big=is_big))
        if is_around and end[1] < len(line) and (begins_blank or kind(end[1]) == BLANK_KIND):
            end = _position_after(lines, end_of_character_run(lines, end, is_big=is_big))
    has_blank = line[end[1] - 1 : end[1]].isspace() or line[start[1] : start[1] + 1].isspace()
    if is_around and not has_blank and start[1] > 0 and line[: start[1]].strip():
        start = (row, len(line[: start[1]].rstrip()))  # no space after it: include the space before
    return TextRange(start, end)


def _find_paragraph_range(lines: TextLines, row: int, *, is_around: bool, count: int) -> TextRange:
    def same(one: int) -> bool:
        return bool(lines[one].strip()) == is_text

    is_text = bool(lines[row].strip())
    first = last = row
    while first > 0 and same(first - 1):
        first -= 1
    row = first - 1
    for _ in range(count * (2 if is_around else 1)):
        if row + 1 >= len(lines):
            break
        row += 1
        is_text = bool(lines[row].strip())
        while row + 1 < len(lines) and same(row + 1):
            row += 1
        last = row
    if is_around and lines[last].strip():  # no blank lines after it: include those before
        while first > 0 and not lines[first - 1].strip():
            first -= 1
    return TextRange((first, 0), (last, len(lines[last])), is_linewise=True)


def _find_bracket_range(
    lines: TextLines, at: TextPosition, begin: str, close: str, *, is_around: bool, count: int
) -> TextRange | None:
    row, column = at
    char = lines[row][column : column + 1]
    start = at if char == begin else find_unmatched_opening(lines, at, begin, close)
    for _ in range(count - 1):
        start = find_unmatched_opening(lines, start, begin, close) if start is not None else None
    if start is None:
        return None
    end = find_unmatched_closing(lines, (start[0], start[1] + 1), begin, close)
    if end is None:
        return None
    if is_around:
        return TextRange(start, (end[0], end[1] + 1))
    inner = (start[0], start[1] + 1)
    if end[0] > inner[0] and inner[1] == len(lines[inner[0]]) and not lines[end[0]][: end[1]].strip():
        if end[0] - inner[0] < 2:
            return None  # nothing between the lines of the brackets
        return TextRange((inner[0] + 1, 0), (end[0] - 1, len(lines[end[0] - 1])), is_linewise=True)
    return TextRange(inner, end)


def _find_quote_range(line: str, at: TextPosition, quote: str, *, is_around: bool) -> TextRange | None:
    """Returns the range between the quotes around the position, else between the next ones in the line; with
    `is_around` including them and the space beside them; None if there are none."""
    row, column = at
    targets = [place for place, char in enumerate(line) if char == quote and not _is_escaped(line, place)]
    for begin, close in zip(targets[::2], targets[1::2], strict=False):
        if close < column:
            continue
        if not is_around:
            return TextRange((row, begin + 1), (row, close))
        stop = close + 1
        while stop < len(line) and line[stop].isspace():
            stop += 1
        if stop == close + 1:
            while begin and line[begin - 1].isspace():
                begin -= 1
        return TextRange((row, begin), (row, stop))
    return None


def _is_escaped(line: str, at: int) -> bool:
    return (at - len(line[:at].rstrip("\\"))) % 2 == 1
