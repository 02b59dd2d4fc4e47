"""Finds counts of added and removed lines in texts, such as `+12 −4`, so that they can be coloured everywhere."""

from typing import Literal, NamedTuple

from tools.lazy_patterns import lazy_regex
from tools.number_formatting import MINUS_SIGN

_DIFF_COUNTS_PATTERN = lazy_regex(
    rf"(?<!\S)\+([\d,]*\d)(?: [-{MINUS_SIGN}]([\d,]*\d))?(?![\w.])|(?<!\S){MINUS_SIGN}([\d,]*\d)(?![\w.])"
)


class DiffstatPiece(NamedTuple):
    text: str
    kind: Literal["", "added", "removed"] = ""


def split_diffstat(text: str) -> list[DiffstatPiece]:
    """Splits a text into counts of added lines, counts of removed lines, and the text between them. A hyphen before a
    removed count becomes a minus sign; the length is unchanged."""
    out: list[DiffstatPiece] = []
    at = 0
    for found in _DIFF_COUNTS_PATTERN.finditer(text):
        added, removed = found[1], found[2] or found[3]
        out.append(DiffstatPiece(text[at : found.start()]))
        out.append(DiffstatPiece(f"+{added}" if added else "", "added"))
        out.append(DiffstatPiece(" " if added and removed else ""))
        out.append(DiffstatPiece(f"{MINUS_SIGN}{removed}" if removed else "", "removed"))
        at = found.end()
    return [piece for piece in (*out, DiffstatPiece(text[at:])) if piece.text]
