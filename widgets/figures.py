"""`+12 −4` in the words of bayou: which of it came and which went, to be drawn in their colours wherever they stand."""

from typing import Literal, NamedTuple

from tools.amounts import MINUS
from tools.patterns import late

_CHANGED = late(rf"(?<!\S)\+([\d,]*\d)(?: [-{MINUS}]([\d,]*\d))?(?![\w.])|(?<!\S){MINUS}([\d,]*\d)(?![\w.])")


class Figured(NamedTuple):
    text: str
    kind: Literal["", "added", "removed"] = ""


def figured(text: str) -> list[Figured]:
    """The text in pieces. They are as long as it is; a hyphen before what went becomes a minus."""
    out: list[Figured] = []
    at = 0
    for found in _CHANGED.finditer(text):
        added, removed = found[1], found[2] or found[3]
        out.append(Figured(text[at : found.start()]))
        out.append(Figured(f"+{added}" if added else "", "added"))
        out.append(Figured(" " if added and removed else ""))
        out.append(Figured(f"{MINUS}{removed}" if removed else "", "removed"))
        at = found.end()
    return [piece for piece in (*out, Figured(text[at:])) if piece.text]
