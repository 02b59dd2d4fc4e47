"""Word boundaries in one line. A chip is a separate word.

A grapheme counts by its first code point, so combining marks never end a word."""

from collections.abc import Sequence

from widgets.editor.graphemes import is_chip_character, line_graphemes


def is_word_character(char: str) -> bool:
    return char.isalnum() or char == "_" or is_chip_character(char)


def word_start_before_index(line: str, at: int) -> int:
    """Returns the start of the word before a position; 0 if there is none."""
    starts = _find_word_starts(line[:at])
    place = len(starts)
    while place and not is_word_character(line[starts[place - 1]]):
        place -= 1
    if place and is_chip_character(line[starts[place - 1]]):
        return starts[place - 1]
    while place and is_word_character(char := line[starts[place - 1]]) and not is_chip_character(char):
        place -= 1
    return starts[place] if place < len(starts) else at


def word_end_after_index(line: str, at: int) -> int:
    """Returns the end of the word after a position; the end of the line if there is none."""
    rest = line[at:]
    starts = _find_word_starts(rest)
    place = 0
    while place < len(starts) and not is_word_character(rest[starts[place]]):
        place += 1
    if place < len(starts) and is_chip_character(rest[starts[place]]):
        return at + starts[place] + 1
    while (
        place < len(starts) and is_word_character(char := rest[starts[place]]) and not is_chip_character(char)
    ):
        place += 1
    return at + starts[place] if place < len(starts) else len(line)


def _find_word_starts(text: str) -> Sequence[int]:
    return range(len(text)) if text.isascii() else [grapheme.start for grapheme in line_graphemes(text)]
