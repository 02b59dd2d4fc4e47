"""Collects the long words of a text: nearly all secrets are in one, and most of a text is not.

A long word at the end of a line goes on in the first word of the next, as base64 and hexadecimal are broken."""

import bisect
import re
from functools import lru_cache

from tools.patterns import late

MIN_WORD_LENGTH = 16
_WORD_BYTES = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_+/=-"
_WORD_TRANSLATION = bytes(0x61 if code in _WORD_BYTES else 0x20 for code in range(256))
_LONG_RUN = b"a" * MIN_WORD_LENGTH
_WORD_CHARS = frozenset(_WORD_BYTES.decode())
_LINE_ENDS = ("\n", "\r")
_BREAK_WITHIN_WORD_PATTERN = late(r"\r?\n[ \t]{0,16}(?=[\w+/=-])", re.ASCII)


@lru_cache(1024)
def is_long_word(text: str) -> bool:
    """Returns whether a text is a long word, which `LongWords` would find."""
    return len(text) >= MIN_WORD_LENGTH and _WORD_CHARS.issuperset(text)


def is_word_part(text: str) -> bool:
    """Returns whether a text consists of characters of long words, so that `LongWords` would find it as a part."""
    return _WORD_CHARS.issuperset(text)


class LongWords:
    """The long words of one text, with the original position of each character."""

    def __init__(self, text: str) -> None:
        shape = text.encode("latin-1", "replace").translate(_WORD_TRANSLATION)
        begins: list[int] = []
        words: list[str] = []
        starts: list[int] = []
        length = 0
        self.are_broken = False
        """Whether a word continues in the next line."""
        at = shape.find(_LONG_RUN)
        while at >= 0:
            end = shape.find(b" ", at)
            if end < 0:
                end = len(text)
            begins.append(at)
            starts.append(length)
            if text[end : end + 1] in _LINE_ENDS and end - at >= MIN_WORD_LENGTH:
                following = _BREAK_WITHIN_WORD_PATTERN.match(text, end)
                if following is not None:
                    self.are_broken = True
                    words.append(text[at:end])
                    length += end - at
                    at = following.end()
                    continue
            words.append(text[at : end + 1])  # what follows a word separates it from the next
            length += end - at + 1
            at = shape.find(_LONG_RUN, end)
        self.text = "".join(words)
        self._begins = begins
        self._starts = starts

    def original_position(self, at: int) -> int:
        """Returns the position in the original text of a position in the joined long words."""
        number = bisect.bisect_right(self._starts, at) - 1
        return self._begins[number] + at - self._starts[number]

    def occurrences(self, piece: str) -> list[int]:
        """Returns the positions of a text in the original text, found among the long words."""
        found: list[int] = []
        at = self.text.find(piece)
        while at >= 0:
            found.append(self.original_position(at))
            at = self.text.find(piece, at + 1)
        return found
