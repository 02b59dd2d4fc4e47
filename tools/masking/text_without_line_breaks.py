"""A text without its line breaks, in which a value that a narrow terminal, `fold` or an editor broke is whole again.

Its long words are collected too: nearly all secrets are in one, and most of a text is not."""

import bisect
from functools import cached_property, lru_cache

from tools.lazy_patterns import lazy_regex

MIN_LONG_WORD_CHARS = 16
WRAPPED_LINE_BREAK_PATTERN = lazy_regex(r"[ \t\\]{0,80}(?:\r\n?|\n)[ \t]{0,80}")
"""Matches a line break, with the backslash that continues a line in a shell, and the white space around it."""
_INDENTATION_CHARS = " \t"
_LINE_END_CHARS = " \t\\"
_LONG_WORD_BYTES = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_+/=-"
_LONG_WORD_TRANSLATION_TABLE = bytes(0x61 if code in _LONG_WORD_BYTES else 0x20 for code in range(256))
_LONG_WORD_RUN = b"a" * MIN_LONG_WORD_CHARS
_LONG_WORD_CHARS = frozenset(_LONG_WORD_BYTES.decode())


@lru_cache(1024)
def is_long_word(text: str) -> bool:
    """Returns whether a text is a long word, which is found among the words of a `TextWithoutLineBreaks`."""
    return len(text) >= MIN_LONG_WORD_CHARS and _LONG_WORD_CHARS.issuperset(text)


def is_part_of_long_word(text: str) -> bool:
    """Returns whether a text consists of characters of long words, so that it is found as a part of them."""
    return _LONG_WORD_CHARS.issuperset(text)


def join_wrapped_lines(text: str) -> str:
    """Returns a text without its line breaks, and without the white space and backslashes around them."""
    if "\n" not in text and "\r" not in text:
        return text
    lines = text.replace("\r", "\n").split("\n")
    return "".join([line.lstrip(_INDENTATION_CHARS).rstrip(_LINE_END_CHARS) for line in lines])


class TextWithoutLineBreaks:
    """A text without its line breaks, and its long words, with the original position of each character."""

    def __init__(self, original: str) -> None:
        self._original = original
        self.text = join_wrapped_lines(original)
        self._word_begins: list[int] = []
        self._word_starts: list[int] = []
        words: list[str] = []
        shape = self.text.encode("latin-1", "replace").translate(_LONG_WORD_TRANSLATION_TABLE)
        length = 0
        at = shape.find(_LONG_WORD_RUN)
        while at >= 0:
            end = shape.find(b" ", at)
            if end < 0:
                end = len(self.text)
            self._word_begins.append(at)
            self._word_starts.append(length)
            words.append(self.text[at : end + 1])  # what follows a word separates it from the next
            length += end - at + 1
            at = shape.find(_LONG_WORD_RUN, end)
        self.words = "".join(words)

    def original_position(self, at: int) -> int:
        """Returns the position in the original text of a position in the joined text."""
        if self.text is self._original:
            return at
        starts, shifts = self._line_starts
        return at + shifts[bisect.bisect_right(starts, at) - 1]

    def original_span(self, start: int, end: int) -> tuple[int, int]:
        """Returns the span in the original text, from the first to the last character."""
        return self.original_position(start), self.original_position(end - 1) + 1

    def find_occurrences(self, piece: str, is_in_words: bool) -> list[int]:
        """Returns the positions of a literal in the joined text."""
        place = self.words if is_in_words else self.text
        found: list[int] = []
        at = place.find(piece)
        while at >= 0:
            found.append(self._position_of_word_part(at) if is_in_words else at)
            at = place.find(piece, at + 1)
        return found

    def _position_of_word_part(self, at: int) -> int:
        number = bisect.bisect_right(self._word_starts, at) - 1
        return self._word_begins[number] + at - self._word_starts[number]

    @cached_property
    def _line_starts(self) -> tuple[list[int], list[int]]:
        """Where lines start in the joined text, and how far each is from its original position. Made only for a text
        in which something is found."""
        starts: list[int] = []
        shifts: list[int] = []
        length = at = 0
        for line in self._original.replace("\r", "\n").split("\n"):
            kept = line.lstrip(_INDENTATION_CHARS)
            starts.append(length)
            shifts.append(at + len(line) - len(kept) - length)
            length += len(kept.rstrip(_LINE_END_CHARS))
            at += len(line) + 1
        return starts, shifts
