"""The side panel of a wide page: changed files, todos, jobs. Takes frozen rows and never the focus.

The application decides its content and whether it is shown."""

from collections.abc import Iterator, Sequence
from typing import ClassVar, Literal

import msgspec
from rich.style import Style
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from widgets import textual_internals as textual_inside
from widgets.line import RowBuilder, cells, plain_line

SideTone = Literal["text", "muted", "dim", "accent", "success", "warning", "error"]
_PARTS = ("text", "muted", "dim", "accent", "success", "warning", "error", "title", "rule")


class SideRow(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the side panel."""

    text: str
    mark: str = ""
    tone: SideTone = "text"
    figures: tuple[tuple[str, SideTone], ...] = ()
    """Numbers at the right edge, each with its colour."""
    is_path: bool = False
    """Whether the text is a path, which is cut at its beginning."""


class SideSection(msgspec.Struct, frozen=True, kw_only=True):
    """A titled section of the side panel."""

    title: str
    note: str = ""
    rows: tuple[SideRow, ...] = ()
    at: int = 0
    """The index of the row that stays visible if not all rows fit."""


class SidePanel(Widget):
    """The panel at the right of a wide page."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {f"side--{part}" for part in _PARTS}
    DEFAULT_CSS = "SidePanel { dock: right; height: 100%; }"

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        textual_inside.paint_without_frame(self)
        self.sections: tuple[SideSection, ...] = ()
        self._drawn: list[SideSection | SideRow | None] = []
        self.display = False

    def show(self, sections: Sequence[SideSection]) -> None:
        if tuple(sections) != self.sections:
            self.sections = tuple(sections)
            self.refresh()

    def render_lines(self, crop: Region) -> list[Strip]:
        self._drawn = list(self._lines())
        return super().render_lines(crop)

    def render_line(self, y: int) -> Strip:
        line = RowBuilder(self.size.width, self.rich_style, edge=1).add("│ ", self._style("rule"))
        if y < len(self._drawn):
            self._draw(line, self._drawn[y])
        return line.strip()

    def _lines(self) -> Iterator[SideSection | SideRow | None]:
        """Yields the content of each line: a section heading, a row, or None for a blank line."""
        for number, (section, room) in enumerate(zip(self.sections, self._shares(), strict=True)):
            if number:
                yield None
            yield section
            yield from in_room(section, room)

    def _shares(self) -> list[int]:
        """Returns the number of rows for each section; the longest is shortened first."""
        shares = [len(section.rows) for section in self.sections]
        room = self.size.height - 2 * len(shares) + 1
        while sum(shares) > max(room, len(shares)):
            shares[shares.index(max(shares))] -= 1
        return shares

    def _draw(self, line: RowBuilder, shown: SideSection | SideRow | None) -> None:
        match shown:
            case SideSection():
                line.add(plain_line(shown.title), self._style("title"))
                styles = (self._style(tone) for tone in ("muted", "success", "error"))
                line.add_with_diffstat(f"  {plain_line(shown.note)}" if shown.note else "", *styles)
            case SideRow():
                figures = sum(cells(text) + 1 for text, _ in shown.figures)
                words = RowBuilder(max(1, line.room - figures), line.base)
                words.add(f"{shown.mark} " if shown.mark else "", self._style(shown.tone))
                words.add(plain_line(shown.text), self._style(shown.tone), keep_end=shown.is_path)
                line.take(words)
                line.fill_to(line.width - 1 - figures)
                for text, tone in shown.figures:
                    line.add(" ").add(text, self._style(tone))
            case None:
                pass

    def _style(self, part: str) -> Style:
        return self.get_component_rich_style(f"side--{part}")


def in_room(section: SideSection, room: int) -> Sequence[SideRow]:
    """Returns the rows around the important one; the last row counts those left out."""
    rows = section.rows
    if len(rows) <= room:
        return rows
    shown = max(0, room - 1)
    first = max(0, min(section.at - 1, len(rows) - shown))
    more = SideRow(text=f"… {len(rows) - shown:,} more", tone="muted")
    return [*rows[first : first + shown], more]
