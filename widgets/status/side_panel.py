"""The side panel of a wide page: changed files, todos, jobs, prompts, and what the session used, from the top without
holes.

It takes frozen rows and never has the focus. The application decides its content and whether it is shown."""

from collections.abc import Sequence
from typing import ClassVar, Literal, get_args

import msgspec
from rich.style import Style
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from widgets import textual_internals as textual_inside
from widgets.line import RIGHT_MARGIN, RowBuilder, cells, plain_line, share_cells
from widgets.readable_styles import has_background, readable_style

SideTone = Literal["text", "muted", "dim", "accent", "secondary", "success", "warning", "error"]
_ROWS_FOR_MARGINS = 16
_MIN_BLANK_ROWS = 4
"""Rows that stay blank beside an optional section."""
_STYLE_NAMES = (*get_args(SideTone), "title", "rule")


class SideRow(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the side panel: its text with a mark, figures or a bar."""

    text: str
    mark: str = ""
    mark_tone: SideTone | None = None
    """The colour of the mark; None for that of the text."""
    tone: SideTone = "text"
    figures: tuple[tuple[str, SideTone], ...] = ()
    """Numbers at the right edge, each with its colour."""
    bar: tuple[tuple[float, SideTone], ...] = ()
    """The parts of a bar in place of a text, each with its share of the whole row and its colour."""
    is_path: bool = False
    """Whether the text is a path, which is cut at its beginning."""


class SideSection(msgspec.Struct, frozen=True, kw_only=True):
    """A section of the side panel: a title, a note, and rows."""

    title: str
    note: str = ""
    rows: tuple[SideRow, ...] = ()
    important_row: int = 0
    """The index of the row that stays visible if not all rows fit."""
    is_optional: bool = False
    """Whether it is shown only where much room is left."""


class SidePanel(Widget):
    """The widget at the right of a wide page that shows sections about the session."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {f"side--{part}" for part in _STYLE_NAMES}
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
        self._drawn = self._lines()
        return super().render_lines(crop)

    def render_line(self, y: int) -> Strip:
        edge = "  " if has_background(self.rich_style) else "│ "
        line = RowBuilder(self.size.width, self.rich_style, edge=RIGHT_MARGIN).add(edge, self._style("rule"))
        if y < len(self._drawn):
            self._draw(line, self._drawn[y])
        return line.strip()

    def _lines(self) -> list[SideSection | SideRow | None]:
        """Returns what each line of the panel shows: a section heading, a row, or None for a blank line."""
        height = self.size.height
        top, bottom = (2, 1) if height >= _ROWS_FOR_MARGINS else (0, 0)
        room = height - top - bottom
        lines = list[SideSection | SideRow | None]()
        sections = _fitting_sections(self.sections, room)
        for section, rows in zip(sections, _section_heights(sections, room), strict=True):
            lines += [*[None] * bool(lines), section, *rows_in_room(section, rows)]
        return [*[None] * top, *lines]

    def _draw(self, line: RowBuilder, shown: SideSection | SideRow | None) -> None:
        match shown:
            case SideSection():
                line.add(plain_line(shown.title), self._style("title"))
                styles = (self._style(tone) for tone in ("muted", "success", "error"))
                line.add_with_diffstat(f"  {plain_line(shown.note)}" if shown.note else "", *styles)
            case SideRow(bar=bar) if bar:
                sizes = share_cells([share for share, _ in bar], line.remaining_cells)
                for size, (_, tone) in zip(sizes, bar, strict=True):
                    line.add("━" * size, self._style(tone))
                line.add("─" * line.remaining_cells, self._style("rule"))
            case SideRow():
                figures = sum(cells(text) + 1 for text, _ in shown.figures)
                words = RowBuilder(max(1, line.remaining_cells - figures), line.base)
                words.add(f"{shown.mark} " if shown.mark else "", self._style(shown.mark_tone or shown.tone))
                words.add(plain_line(shown.text), self._style(shown.tone), keep_end=shown.is_path)
                line.append_line(words)
                line.fill_to(line.width - RIGHT_MARGIN - figures)
                for text, tone in shown.figures:
                    line.add(" ").add(text, self._style(tone))
            case None:
                pass

    def _style(self, part: str) -> Style:
        return readable_style(self.get_component_rich_style(f"side--{part}"))


def _fitting_sections(sections: Sequence[SideSection], height: int) -> Sequence[SideSection]:
    """Returns the sections to show: the optional ones only if enough rows stay blank with them."""
    needed = sum(len(section.rows) + 2 for section in sections)
    if needed + _MIN_BLANK_ROWS <= height:
        return sections
    return [section for section in sections if not section.is_optional]


def _section_heights(sections: Sequence[SideSection], height: int) -> list[int]:
    """Returns how many rows each section gets in the panel's height; the longest section is shortened first."""
    shares = [len(section.rows) for section in sections]
    room = height - 2 * len(shares) + 1
    while sum(shares) > max(room, len(shares)):
        shares[shares.index(max(shares))] -= 1
    return shares


def rows_in_room(section: SideSection, room: int) -> Sequence[SideRow]:
    """Returns as many rows of a section as fit, around its important row; if some are left out, the last row counts
    them."""
    rows = section.rows
    if len(rows) <= room:
        return rows
    shown = max(0, room - 1)
    first = max(0, min(section.important_row - 1, len(rows) - shown))
    more = SideRow(text=f"… {len(rows) - shown:,} more", tone="muted")
    return [*rows[first : first + shown], more]
