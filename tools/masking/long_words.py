"""Collects the long words of a text: nearly all secrets are in one, and most of a text is not."""

import bisect
from functools import lru_cache

MIN_WORD_LENGTH = 16
_WORD_BYTES = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_+/=-"
_WORD_TRANSLATION = bytes(0x61 if code in _WORD_BYTES else 0x20 for code in range(256))
_LONG_RUN = b"a" * MIN_WORD_LENGTH
_WORD_CHARS = frozenset(_WORD_BYTES.decode())


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
        at = shape.find(_LONG_RUN)
        while at >= 0:
            end = shape.find(b" ", at + MIN_WORD_LENGTH)
            if end < 0:
                end = len(text)
            begins.append(at)
            starts.append(length)
            words.append(text[at:end])
            length += end - at + 1
            at = shape.find(_LONG_RUN, end)
        self.text = "\n".join(words)
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
