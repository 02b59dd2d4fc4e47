"""Draws Mermaid fences as text diagrams if the library is installed; otherwise shows them as code."""

from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Literal

from widgets.transcript.leaves.code_leaf import CodeLeaf
from widgets.transcript.leaves.layout_leaf import LayoutLeaf, StyledPiece
from widgets.transcript.leaves.safe_text import cells, clean

DiagramSetting = Literal["streaming", "final", "off"]
"""When a fence is drawn: with every received line, when it is complete, or never."""
MERMAID_LANGUAGES = frozenset(("mermaid", "mmd"))
MAX_SOURCE_CHARS = 4_000
MAX_LINES = 80
"""The maximum number of source lines, because drawing takes more than linear time."""


@lru_cache(64)
def draw_mermaid(source: str) -> tuple[str, ...]:
    """Draws a Mermaid source as lines of text; returns none if it cannot be drawn."""
    if len(source) > MAX_SOURCE_CHARS or source.count("\n") > MAX_LINES or not source.strip():
        return ()
    try:
        import termaid  # noqa: PLC0415 - costs start-up, and may be missing  # pyright: ignore[reportMissingImports]

        picture = str(termaid.render(source))
    except Exception:  # noqa: BLE001 - the library may fail in any way on a model's text: code is shown then
        return ()
    lines = [clean(line).rstrip() for line in picture.split("\n")]
    while lines and not lines[0]:
        lines.pop(0)
    while lines and not lines[-1]:
        lines.pop()
    return tuple(lines)


class DiagramLeaf(CodeLeaf):
    """A unit of layout with a Mermaid diagram, drawn as text. Its text is the source, so that copying gives the
    source."""

    __slots__ = ("_diagrams", "_picture")

    def __init__(self, plain: str, language: str, **more: Any) -> None:
        super().__init__(plain, language, **more)
        self._diagrams: DiagramSetting = "final"

    def apply_setting(self, diagrams: DiagramSetting) -> None:
        if self._diagrams != diagrams:
            self._diagrams = diagrams
            self.discard_layout()

    def _drawable_source(self) -> str:
        """Returns the part of a diagram's source to draw now, of a growing fence only whole lines; empty if it is shown
        as code."""
        if self._diagrams == "off" or (self.is_open and self._diagrams == "final"):
            return ""
        return self.plain[: self.plain.rfind("\n") + 1] if self.is_open else self.plain

    def _lay_out(self, width: int) -> list[tuple[int, int]]:
        self._picture: tuple[str, ...] = draw_mermaid(self._drawable_source())
        if not self._picture:
            return super()._lay_out(width)
        return [(0, 0)] * (len(self._picture) - 1) + [(0, len(self.plain))]

    def pieces(self, row: int) -> list[StyledPiece]:
        if not self._picture:
            return super().pieces(row)
        return [*self._before(row), StyledPiece(self._picture[row], self.key)]

    def natural_width(self) -> int:
        return cells(self.rest) + max((cells(line) for line in self._picture), default=0)

    def close(self) -> None:
        super().close()
        self.discard_layout()


def apply_diagram_setting(leaves: Iterable[LayoutLeaf], diagrams: DiagramSetting) -> None:
    for leaf in leaves:
        if isinstance(leaf, DiagramLeaf):
            leaf.apply_setting(diagrams)


def make_fence_leaf(
    plain: str, language: str, *, first: str = "", rest: str = "", blank: int = 0, is_open: bool = False
) -> CodeLeaf:
    """Creates the unit of layout for a Markdown code fence: a diagram for Mermaid, otherwise code."""
    kind = DiagramLeaf if language in MERMAID_LANGUAGES else CodeLeaf
    return kind(plain, language, first=first, rest=rest, blank=blank, is_open=is_open)
