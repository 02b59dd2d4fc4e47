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
from widgets.readable_styles import has_background_color, make_style_readable
from widgets.row_builder import RIGHT_MARGIN_CELLS, RowBuilder, cells, clean_single_line, divide_bar_cells

SidePanelTone = Literal["text", "muted", "dim", "accent", "secondary", "success", "warning", "error"]
_MIN_SIDE_PANEL_ROWS_FOR_MARGINS = 16
_MIN_SIDE_PANEL_BLANK_ROWS = 4
"""Rows that stay blank beside an optional section."""
_SIDE_PANEL_STYLE_NAMES = (*get_args(SidePanelTone), "title", "rule")


class SidePanelRow(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the side panel: its text with a mark, figures or a bar."""

    text: str
    mark: str = ""
    mark_tone: SidePanelTone | None = None
    """The colour of the mark; None for that of the text."""
    tone: SidePanelTone = "text"
    figures: tuple[tuple[str, SidePanelTone], ...] = ()
    """Numbers at the right edge, each with its colour."""
    bar: tuple[tuple[float, SidePanelTone], ...] = ()
    """The parts of a bar in place of a text, each with its share of the whole row and its colour."""
    is_path: bool = False
    """Whether the text is a path, which is cut at its beginning."""


class SidePanelSection(msgspec.Struct, frozen=True, kw_only=True):
    """A section of the side panel: a title, a note, and rows."""

    title: str
    note: str = ""
    rows: tuple[SidePanelRow, ...] = ()
    important_row: int = 0
    """The index of the row that stays visible if not all rows fit."""
    is_optional: bool = False
    """Whether it is shown only where much room is left."""


class SidePanel(Widget):
    """The widget at the right of a wide page that shows sections about the session."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {f"side--{part}" for part in _SIDE_PANEL_STYLE_NAMES}
    DEFAULT_CSS = "SidePanel { dock: right; height: 100%; }"

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        textual_inside.paint_without_frame(self)
        self.sections: tuple[SidePanelSection, ...] = ()
        self._drawn: list[SidePanelSection | SidePanelRow | None] = []
        self.display = False

    def show(self, sections: Sequence[SidePanelSection]) -> None:
        if tuple(sections) != self.sections:
            self.sections = tuple(sections)
            self.refresh()

    def render_lines(self, crop: Region) -> list[Strip]:
        self._drawn = self._lines()
        return super().render_lines(crop)

    def render_line(self, y: int) -> Strip:
        edge = "  " if has_background_color(self.rich_style) else "│ "
        line = RowBuilder(self.size.width, self.rich_style, edge=RIGHT_MARGIN_CELLS).add(
            edge, self._style("rule")
        )
        if y < len(self._drawn):
            self._draw(line, self._drawn[y])
        return line.strip()

    def _lines(self) -> list[SidePanelSection | SidePanelRow | None]:
        """Returns what each line of the panel shows: a section heading, a row, or None for a blank line."""
        height = self.size.height
        top, bottom = (2, 1) if height >= _MIN_SIDE_PANEL_ROWS_FOR_MARGINS else (0, 0)
        room = height - top - bottom
        lines = list[SidePanelSection | SidePanelRow | None]()
        sections = _fitting_sections(self.sections, room)
        for section, rows in zip(sections, _section_heights(sections, room), strict=True):
            lines += [*[None] * bool(lines), section, *fit_section_rows(section, rows)]
        return [*[None] * top, *lines]

    def _draw(self, line: RowBuilder, shown: SidePanelSection | SidePanelRow | None) -> None:
        match shown:
            case SidePanelSection():
                line.add(clean_single_line(shown.title), self._style("title"))
                styles = (self._style(tone) for tone in ("muted", "success", "error"))
                line.add_with_diffstat(f"  {clean_single_line(shown.note)}" if shown.note else "", *styles)
            case SidePanelRow(bar=bar) if bar:
                sizes = divide_bar_cells([share for share, _ in bar], line.remaining_cells)
                for size, (_, tone) in zip(sizes, bar, strict=True):
                    line.add("━" * size, self._style(tone))
                line.add("─" * line.remaining_cells, self._style("rule"))
            case SidePanelRow():
                figures = sum(cells(text) + 1 for text, _ in shown.figures)
                words = RowBuilder(max(1, line.remaining_cells - figures), line.base)
                words.add(f"{shown.mark} " if shown.mark else "", self._style(shown.mark_tone or shown.tone))
                words.add(clean_single_line(shown.text), self._style(shown.tone), keep_end=shown.is_path)
                line.append_row(words)
                line.fill_to_column(line.width - RIGHT_MARGIN_CELLS - figures)
                for text, tone in shown.figures:
                    line.add(" ").add(text, self._style(tone))
            case None:
                pass

    def _style(self, part: str) -> Style:
        return make_style_readable(self.get_component_rich_style(f"side--{part}"))


def _fitting_sections(sections: Sequence[SidePanelSection], height: int) -> Sequence[SidePanelSection]:
    """Returns the sections to show: the optional ones only if enough rows stay blank with them."""
    needed = sum(len(section.rows) + 2 for section in sections)
    if needed + _MIN_SIDE_PANEL_BLANK_ROWS <= height:
        return sections
    return [section for section in sections if not section.is_optional]


def _section_heights(sections: Sequence[SidePanelSection], height: int) -> list[int]:
    """Returns how many rows each section gets in the panel's height; the longest section is shortened first."""
    shares = [len(section.rows) for section in sections]
    room = height - 2 * len(shares) + 1
    while sum(shares) > max(room, len(shares)):
        shares[shares.index(max(shares))] -= 1
    return shares


def fit_section_rows(section: SidePanelSection, room: int) -> Sequence[SidePanelRow]:
    """Returns as many rows of a section as fit, around its important row; if some are left out, the last row counts
    them."""
    rows = section.rows
    if len(rows) <= room:
        return rows
    shown = max(0, room - 1)
    first = max(0, min(section.important_row - 1, len(rows) - shown))
    more = SidePanelRow(text=f"… {len(rows) - shown:,} more", tone="muted")
    return [*rows[first : first + shown], more]
