"""Texts that look the same to a reader: one spelling for all of them, and the way back to the original's columns.

Quotes, dashes and blanks, and letters composed in two ways; never what means something else to a program (a backtick, a
raised digit, a wide letter).
"""

import unicodedata
from typing import Final

from tools.text import visible

_QUOTES: Final = dict.fromkeys("\u2018\u2019\u201a\u201b\u02bc", "'") | dict.fromkeys(
    "\u201c\u201d\u201e\u201f", '"'
)
_DASHES: Final = dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d", "-")
_SPACES: Final = dict.fromkeys(
    "\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000", " "
)
_INVISIBLE: Final = dict.fromkeys("\u00ad\u200b\u200c\u200d\u2060\ufeff\ufe0e\ufe0f", "")
_MAX_MAPPED: Final = 50_000
_TABLE: Final = str.maketrans(_QUOTES | _DASHES | _SPACES | _INVISIBLE)


def normalized(line: str) -> str:
    """The one spelling of a line."""
    if line.isascii():
        return visible(line)
    return unicodedata.normalize("NFC", visible(line).translate(_TABLE))


def normalized_lines(text: str) -> list[str]:
    """Every line of `text` normalized; plain ones, which are most, all at once."""
    lines = visible(text).split("\n")
    if text.isascii():
        return lines
    return [line if line.isascii() else normalized(line) for line in lines]


def original_column(line: str, column: int) -> int | None:
    """Where in `line` the character begins that is at `column` of its normalized spelling.

    None if it begins inside one, or if the line is too long to find out.
    """
    if len(line) > _MAX_MAPPED:
        return None
    position = 0
    index = 0
    while index < len(line):
        if position >= column:
            return index if position == column else None
        end = index + 1
        while end < len(line) and unicodedata.combining(line[end]):
            end += 1
        position += len(normalized(line[index:end]))
        index = end
    return index if position == column else None
