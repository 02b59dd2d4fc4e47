"""Splits text into user-perceived characters (graphemes) and measures them in cells.

Widths follow Rich's table, so that measured and drawn widths agree. A chip is one character and is measured by its
label."""

from collections.abc import Callable
from typing import NamedTuple

from rich.cells import split_graphemes

TAB_CELLS = 4
FIRST_CHIP_CODE_POINT = 0x100000
LAST_CHIP_CODE_POINT = 0x10FFFD


class Grapheme(NamedTuple):
    """A user-perceived character: its range in the line and its width in cells."""

    start: int
    end: int
    cells: int


def is_chip_character(char: str) -> bool:
    return FIRST_CHIP_CODE_POINT <= ord(char) <= LAST_CHIP_CODE_POINT


def _is_regional_indicator(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def _is_skin_tone(char: str) -> bool:
    return "\U0001f3fb" <= char <= "\U0001f3ff"


def line_graphemes(line: str) -> list[Grapheme]:
    """Splits a line of the editor into graphemes without gaps. Tabs and chips have width 0 here."""
    if line.isascii():
        return [Grapheme(at, at + 1, 0 if char == "\t" else 1) for at, char in enumerate(line)]
    found: list[Grapheme] = []
    start = 0
    for at, char in enumerate(line):
        if char == "\t" or is_chip_character(char):
            _add_graphemes(line, start, at, found)
            found.append(Grapheme(at, at + 1, 0))
            start = at + 1
    _add_graphemes(line, start, len(line), found)
    return found


def _add_graphemes(line: str, begin: int, stop: int, found: list[Grapheme]) -> None:
    """Appends the graphemes of a part of a line that has no chips and tabs to `found`. Flags and skin tones are joined
    with their neighbours."""
    if begin == stop:
        return
    flag_is_open = False
    first_of_part = len(found)
    for start, end, cells in split_graphemes(line[begin:stop])[0]:
        first = line[begin + start]
        if len(found) > first_of_part and (
            (flag_is_open and _is_regional_indicator(first)) or _is_skin_tone(first)
        ):
            last = found[-1]
            found[-1] = Grapheme(last.start, begin + end, last.cells + cells)
            flag_is_open = False
        else:
            found.append(Grapheme(begin + start, begin + end, cells))
            flag_is_open = _is_regional_indicator(first)


def grapheme_boundary_before(line: str, at: int) -> int:
    """Returns the start of the grapheme (user-perceived character) that ends at or spans the index `at` of a line."""
    if at <= 0:
        return 0
    if line.isascii():
        return at - 1
    start = 0
    for grapheme in line_graphemes(line):
        if grapheme.start >= at:
            break
        start = grapheme.start
    return start


def grapheme_boundary_after(line: str, at: int) -> int:
    """Returns the end of the grapheme (user-perceived character) that begins at or spans the index `at` of a line."""
    if at >= len(line):
        return len(line)
    if line.isascii():
        return at + 1
    for grapheme in line_graphemes(line):
        if grapheme.end > at:
            return grapheme.end
    return len(line)


def snap_to_grapheme_boundary(line: str, at: int) -> int:
    """Returns the first boundary between graphemes at or after the index `at` of a line."""
    if at >= len(line):  # at the end, where most typing happens, nothing needs to be checked
        return len(line)
    return grapheme_boundary_after(line, at - 1) if at > 0 else 0


def measure_graphemes(line: str, chip_cells: Callable[[str], int]) -> list[Grapheme]:
    """Returns the graphemes of a line with their widths in cells, tabs and chips included, as if the line began at
    column 0."""
    found: list[Grapheme] = []
    column = 0
    for start, end, cells in line_graphemes(line):
        char = line[start]
        if char == "\t":
            cells = TAB_CELLS - column % TAB_CELLS
        elif is_chip_character(char):
            cells = chip_cells(char)
        found.append(Grapheme(start, end, cells))
        column += cells
    return found


def text_width_in_cells(text: str, chip_cells: Callable[[str], int]) -> int:
    if text.isascii() and "\t" not in text:
        return len(text)
    return sum(grapheme.cells for grapheme in measure_graphemes(text, chip_cells))
