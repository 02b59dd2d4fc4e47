"""Mermaid fences as drawings made of text, when the library that draws them is installed; otherwise as code."""

from functools import lru_cache

from widgets.transcript.code import CodeLeaf
from widgets.transcript.leaf import Piece
from widgets.transcript.text import cells, clean

LANGUAGES = frozenset(("mermaid", "mmd"))
LONGEST_SOURCE = 4_000
MOST_LINES = 80
"""Of source: drawing takes more than linear time."""


@lru_cache(64)
def drawing(source: str) -> tuple[str, ...]:
    """The lines of the picture; none when it cannot be drawn."""
    if len(source) > LONGEST_SOURCE or source.count("\n") > MOST_LINES or not source.strip():
        return ()
    try:
        import termaid  # noqa: PLC0415 - costs start-up, and may be missing  # pyright: ignore[reportMissingImports]

        picture = str(termaid.render(source))
    except Exception:  # noqa: BLE001 - a foreign reader meets a model's text: whatever it trips over, code is shown
        return ()
    lines = [clean(line).rstrip() for line in picture.split("\n")]
    while lines and not lines[0]:
        lines.pop(0)
    while lines and not lines[-1]:
        lines.pop()
    return tuple(lines)


class DiagramLeaf(CodeLeaf):
    """Its own text is the source; the picture is decoration, so that copying gives what was written."""

    __slots__ = ("_picture",)

    def _lay_out(self, width: int) -> list[tuple[int, int]]:
        self._picture: tuple[str, ...] = () if self.is_open else drawing(self.plain)
        if not self._picture:
            return super()._lay_out(width)
        return [(0, 0)] * (len(self._picture) - 1) + [(0, len(self.plain))]

    def pieces(self, row: int) -> list[Piece]:
        if not self._picture:
            return super().pieces(row)
        prefix = self._prefix(row, self._width)
        line = Piece(self._picture[row], self.key)
        return [Piece(prefix, self.prefix_key), line] if prefix else [line]

    def natural_width(self) -> int:
        return cells(self.rest) + max((cells(line) for line in self._picture), default=0)

    def close(self) -> None:
        super().close()
        self.relayout()


def code_leaf(
    plain: str, language: str, *, first: str = "", rest: str = "", blank: int = 0, is_open: bool = False
) -> CodeLeaf:
    """The leaf for a fence."""
    kind = DiagramLeaf if language in LANGUAGES else CodeLeaf
    return kind(plain, language, first=first, rest=rest, blank=blank, is_open=is_open)
