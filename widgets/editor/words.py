"""Word boundaries in one line. A chip is a separate word.

A grapheme counts by its first code point, so combining marks never end a word."""

from collections.abc import Sequence

from widgets.editor.graphemes import graphemes, is_chip


def is_word(char: str) -> bool:
    return char.isalnum() or char == "_" or is_chip(char)


def word_start(line: str, at: int) -> int:
    """Returns the start of the word before a position; 0 if there is none."""
    starts = _word_starts(line[:at])
    place = len(starts)
    while place and not is_word(line[starts[place - 1]]):
        place -= 1
    if place and is_chip(line[starts[place - 1]]):
        return starts[place - 1]
    while place and is_word(char := line[starts[place - 1]]) and not is_chip(char):
        place -= 1
    return starts[place] if place < len(starts) else at


def word_end(line: str, at: int) -> int:
    """Returns the end of the word after a position; the end of the line if there is none."""
    rest = line[at:]
    starts = _word_starts(rest)
    place = 0
    while place < len(starts) and not is_word(rest[starts[place]]):
        place += 1
    if place < len(starts) and is_chip(rest[starts[place]]):
        return at + starts[place] + 1
    while place < len(starts) and is_word(char := rest[starts[place]]) and not is_chip(char):
        place += 1
    return at + starts[place] if place < len(starts) else len(line)


def _word_starts(text: str) -> Sequence[int]:
    return range(len(text)) if text.isascii() else [grapheme.start for grapheme in graphemes(text)]
