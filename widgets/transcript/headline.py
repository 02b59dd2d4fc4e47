"""The line of a card: mark, what was done to what, and at the right edge, in one column, the figures of it.

What is done to is the last to give way. What is too long to stand beside it gets a row of its own.
"""

from tools.amounts import MINUS
from tools.patterns import late
from widgets.transcript.leaf import Leaf, Piece
from widgets.transcript.text import cells, crop, crop_start

MOST_FIGURES = 26
"""Cells of figures for which the subject gives way."""
WIDEST = 116
"""On a wider page figures stay where the eye finds them."""
_CHANGED = late(rf"(?<!\S)\+([\d,]*\d)(?: [-{MINUS}]([\d,]*\d))?(?![\w.])|(?<!\S){MINUS}([\d,]*\d)(?![\w.])")
_SEPARATOR = " · "


class Headline(Leaf):
    """One row, or two."""

    __slots__ = ("_figures", "_glyph", "_is_below", "_left", "_subject")

    def __init__(
        self,
        glyph: tuple[str, str],
        title: str,
        subject: str,
        figures: list[tuple[str, str]],
        *,
        link: str = "toggle",
    ) -> None:
        super().__init__("", link=link)
        self._glyph = glyph
        self._left = f"{title} " if title and subject else title
        self._subject = subject
        self._figures = [piece for text, key in figures for piece in _coloured(text, key)]
        told = "".join(text for text, _ in self._figures)
        self.plain = f"{glyph[0]}{self._left}{subject}{_SEPARATOR if told else ''}{told}"
        self._is_below = False

    def _lay_out(self, width: int) -> list[tuple[int, int]]:
        end = len(self.plain)
        right = self._size(self._figures)
        left = cells(self._glyph[0]) + cells(self._left) + cells(self._subject)
        self._is_below = right > MOST_FIGURES and left + 2 + right > min(width, WIDEST)
        if not self._is_below:
            return [(0, end)]
        start = len(self._glyph[0]) + len(self._left) + len(self._subject)
        return [(0, start), (start, end)]

    @staticmethod
    def _size(pieces: list[tuple[str, str]]) -> int:
        return sum(cells(text) for text, _ in pieces)

    def pieces(self, row: int) -> list[Piece]:
        width = self._width
        if row == 1:
            at = len(self.plain) - sum(len(text) for text, _ in self._figures)
            return [Piece("│ ", "rule"), *self._cut(self._figures, width - 2, at)]
        right = [] if self._is_below else self._figures
        size = self._size(right)
        edge = min(width, WIDEST) if size else width
        lead = cells(self._glyph[0])
        at = len(self._glyph[0])
        title = crop(self._left, max(1, width - lead))
        out = [Piece(*self._glyph, 0, at), Piece(title, "title", at, at + len(title))]
        room = edge - lead - cells(title) - (size + 2 if size else 0)
        at += len(self._left)
        subject = self._fitting(max(8, room))
        if subject:
            is_cut = subject != self._subject
            end = at + len(self._subject)
            out.append(Piece(subject, "subject", at, at + len(subject) - 1 if is_cut else end))
        used = sum(cells(piece.text) for piece in out)
        if size and used + 2 + size <= width:
            out.append(Piece(" " * (max(edge, used + 2 + size) - size - used), "text"))
            out += self._cut(right, size, len(self.plain) - sum(len(text) for text, _ in right))
        return self._within(out, width)

    def _fitting(self, room: int) -> str:
        """Of a path the end, which has the name; of all else the beginning."""
        subject = self._subject
        if cells(subject) <= room:
            return subject
        return crop_start(subject, room) if "/" in subject and " " not in subject else crop(subject, room)

    @staticmethod
    def _cut(parts: list[tuple[str, str]], room: int, at: int) -> list[Piece]:
        out = []
        for text, key in parts:
            shown = crop(text, room)
            room -= cells(shown)
            if shown:
                out.append(Piece(shown, key, at, at + len(shown)))
            at += len(text)
            if room <= 0:
                break
        return out

    @staticmethod
    def _within(pieces: list[Piece], width: int) -> list[Piece]:
        out, room = [], width
        for piece in pieces:
            if room <= 0:
                break
            shown = crop(piece.text, room)
            out.append(piece if shown == piece.text else piece._replace(text=shown))
            room -= cells(shown)
        return out


def _coloured(text: str, key: str) -> list[tuple[str, str]]:
    """`+12 −4` in the colours of a diff."""
    out: list[tuple[str, str]] = []
    at = 0
    for found in _CHANGED.finditer(text):
        added, removed = found[1], found[2] or found[3]
        out.append((text[at : found.start()], key))
        out.append((f"+{added}" if added else "", "added"))
        out.append((" " if added and removed else "", key))
        out.append((f"{MINUS}{removed}" if removed else "", "removed"))
        at = found.end()
    return [piece for piece in (*out, (text[at:], key)) if piece[0]]


def headline(
    glyph: str, glyph_key: str, title: str, subject: str, figures: list[tuple[str, str]]
) -> Headline:
    """The figures stand behind each other."""
    joined: list[tuple[str, str]] = []
    for text, key in figures:
        if text:
            joined.append((f"{_SEPARATOR}{text}" if joined else text, key))
    return Headline((f"{glyph} ", glyph_key), title, subject, joined)
