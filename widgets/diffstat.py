"""`+12 −4` in the words of bayou: which of it came and which went, to be drawn in their colours wherever they stand."""

from typing import Literal, NamedTuple

from tools.amounts import MINUS
from tools.patterns import late

_CHANGED = late(rf"(?<!\S)\+([\d,]*\d)(?: [-{MINUS}]([\d,]*\d))?(?![\w.])|(?<!\S){MINUS}([\d,]*\d)(?![\w.])")


class DiffstatPiece(NamedTuple):
    text: str
    kind: Literal["", "added", "removed"] = ""


def split_diffstat(text: str) -> list[DiffstatPiece]:
    """The text in pieces. They are as long as it is; a hyphen before what went becomes a minus."""
    out: list[DiffstatPiece] = []
    at = 0
    for found in _CHANGED.finditer(text):
        added, removed = found[1], found[2] or found[3]
        out.append(DiffstatPiece(text[at : found.start()]))
        out.append(DiffstatPiece(f"+{added}" if added else "", "added"))
        out.append(DiffstatPiece(" " if added and removed else ""))
        out.append(DiffstatPiece(f"{MINUS}{removed}" if removed else "", "removed"))
        at = found.end()
    return [piece for piece in (*out, DiffstatPiece(text[at:])) if piece.text]
