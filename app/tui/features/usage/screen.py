"""The screen for usage: a plot of the last days, and a table with bars, grouped in one way at a time."""

from collections.abc import Sequence
from itertools import accumulate
from typing import ClassVar

import msgspec
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.strip import Strip
from textual.widget import Widget

from tools.number_formatting import draw_thin_progress_bar
from widgets.lists.list_rows import ListRow, RowBadge, RowTone, make_column_heads
from widgets.row_builder import RIGHT_MARGIN_CELLS, RowBuilder, cells, clean_single_line
from widgets.screens.picker import PickerAction, PickerScreen, picker_bindings
from widgets.screens.screen_parts import KeyHint
from widgets.transcript.leaves.safe_text import cut_end_to_fit

_USAGE_BAR_CHARACTERS = " ▁▂▃▄▅▆▇█"
_USAGE_PLOT_ROWS = 4
"""The height of the plot in rows."""
_USAGE_LABEL_CELLS = 9
_USAGE_COLUMN_WIDTHS = ((7, "answers"), (8, "tokens"), (8, "cached"), (10, "cost"))
_COLUMN_TONES: tuple[RowTone, ...] = ("muted", "text", "muted", "number")
LEGEND_TONES: tuple[RowTone, ...] = ("accent", "primary", "secondary", "warning", "muted")
"""The tones of the parts of a column; the last is that of all other parts together."""


class UsageRow(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the usage table: the sum for a day, model, project or session."""

    id: str
    title: str
    detail: str = ""
    """Additional text, shown if there is room and always searched."""
    amount: float
    """The value of the bar."""
    figures: tuple[str, ...] = ()
    """The row's numbers: answers, tokens, cache hits, cost."""
    tone: RowTone = "accent"
    """The colour of the bar: that of the part of the columns which the row is."""


class PlottedUsageDay(msgspec.Struct, frozen=True, kw_only=True):
    """The usage of one day in the plot."""

    name: str
    amounts: tuple[float, ...]
    """The parts of the column, from below, in the order of the legend."""
    figure: str

    @property
    def amount(self) -> float:
        return sum(self.amounts)


class UsageScreenContent(msgspec.Struct, frozen=True, kw_only=True):
    """The content of the usage screen: plot, rows and totals."""

    title: str
    heading: str = ""
    """What the rows are."""
    note: str = ""
    """The total."""
    days: tuple[PlottedUsageDay, ...] = ()
    """The last days, oldest first, including days without usage."""
    legend: tuple[str, ...] = ()
    """The names of the parts of the columns."""
    rows: tuple[UsageRow, ...] = ()
    skipped: tuple[tuple[str, str], ...] = ()
    """Usage that is not counted: pairs of reason and files."""


class UsagePlot(Widget):
    """A bar chart with a column for each of the last days that fit."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "usage-plot--label",
        "usage-plot--rule",
        *(f"usage-plot--{tone}" for tone in LEGEND_TONES),
    }
    DEFAULT_CSS = f"UsagePlot {{ height: {_USAGE_PLOT_ROWS + 3}; }}"

    def __init__(self, view: UsageScreenContent, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._days, self._legend = view.days, view.legend

    def show(self, view: UsageScreenContent) -> None:
        self._days, self._legend = view.days, view.legend
        self.refresh()

    def render_line(self, y: int) -> Strip:
        label, rule = self._style("label"), self._style("rule")
        line = RowBuilder(self.size.width, self.rich_style, edge=RIGHT_MARGIN_CELLS).pad(2)
        if y == _USAGE_PLOT_ROWS + 2:
            return self._draw_legend(line).strip()
        room = line.remaining_cells - _USAGE_LABEL_CELLS - 2
        step = 3 if room >= 3 * len(self._days) else 2
        days = self._days[-max(1, room // step) :]
        most = max(days, key=lambda day: day.amount, default=None)
        if most is None:
            return line.strip()
        if y >= _USAGE_PLOT_ROWS:
            return (self._draw_axis if y == _USAGE_PLOT_ROWS else self._draw_dates)(line, days, step).strip()
        told = most.figure if y == 0 else ""
        line.add(f"{told:>{_USAGE_LABEL_CELLS}} ", label).add("│", rule)
        for day in days:
            character, part = _column_cell(day.amounts, most.amount, _USAGE_PLOT_ROWS - 1 - y)
            line.add(character * (step - 1), self._style(LEGEND_TONES[part])).pad(1)
        return line.strip()

    def _draw_legend(self, line: RowBuilder) -> RowBuilder:
        """Draws the names of the parts of the columns, as many as fit."""
        line.pad(_USAGE_LABEL_CELLS + 2)
        for tone, name in zip(LEGEND_TONES, self._legend, strict=False):
            text = clean_single_line(name)
            if cells(text) + 5 > line.remaining_cells:
                break
            line.add("■ ", self._style(tone)).add(f"{text}   ", self._style("label"))
        return line

    def _draw_axis(self, line: RowBuilder, days: Sequence[PlottedUsageDay], step: int) -> RowBuilder:
        rule = self._style("rule")
        line.add(f"{'0':>{_USAGE_LABEL_CELLS}} ", self._style("label"))
        return line.add("└" + "─" * (step * len(days)), rule)

    def _draw_dates(self, line: RowBuilder, days: Sequence[PlottedUsageDay], step: int) -> RowBuilder:
        first, last = days[0].name, days[-1].name
        line.pad(_USAGE_LABEL_CELLS + 2)
        start = line.used
        line.add(first, self._style("label"))
        return line.fill_to_column(start + step * len(days) - 1 - cells(last)).add(last, self._style("label"))

    def _style(self, name: str):
        return self.get_component_rich_style(f"usage-plot--{name}")


def _column_cell(amounts: Sequence[float], most: float, row: int) -> tuple[str, int]:
    """Returns one cell of a column in the usage plot, with rows counted from below: its block character, and the index
    of the part that has most of it. A cell has one colour, since two that touch could not be told apart."""
    if not most or sum(amounts) <= 0:
        return " ", 0
    height = max(1, round(8 * _USAGE_PLOT_ROWS * sum(amounts) / most))
    bottom, top = 8 * row, min(8 * row + 8, height)
    if top <= bottom:
        return " ", 0
    ends = [height * end / sum(amounts) for end in accumulate(amounts)]
    starts = [0.0, *ends]
    shares = [min(end, top) - max(start, bottom) for start, end in zip(starts, ends, strict=False)]
    return _USAGE_BAR_CHARACTERS[top - bottom], shares.index(max(shares))


MAX_COLUMNS_OF_NARROW_USAGE_TABLE = 60
"""Columns below which a row shows only its cost."""
_MIN_SCREEN_ROWS_FOR_MARGINS = 30
"""Rows of the terminal from which there are blank rows around the plot."""
MIN_SCREEN_ROWS_FOR_USAGE_PLOT = 16
"""Rows of the terminal from which the plot is shown above the list."""


class UsageScreen(PickerScreen):
    """The screen that shows usage: Enter opens the parts of a row, and other keys group the usage differently."""

    ACTIONS = (
        PickerAction(
            id="app.usage.next",
            keys="tab",
            label="group by",
            help="Group by day, model, project or session",
            closes=False,
            needs_row=False,
            importance=7,
        ),
        PickerAction(
            id="app.usage.previous",
            keys="shift+tab",
            label="previous grouping",
            help="Previous grouping",
            closes=False,
            needs_row=False,
            importance=2,
        ),
    )
    BINDINGS: ClassVar[list[BindingType]] = picker_bindings(ACTIONS)

    def __init__(self, view: UsageScreenContent, *, current: str = "") -> None:
        self.view = view
        super().__init__(
            view.title,
            _usage_rows(view, 80),
            order="given",
            choose="open",
            current=current,
            note=view.note,
            heads=_column_heads(view, 80),
            empty="no usage recorded yet",
            is_full_height=True,
        )

    def compose_above_filter(self) -> ComposeResult:
        yield UsagePlot(self.view, id="plot")

    def _fit(self) -> None:
        super()._fit()
        plot, height = self.query_one(UsagePlot), self.app.size.height
        plot.display = height >= MIN_SCREEN_ROWS_FOR_USAGE_PLOT
        plot.styles.margin = (1, 0) if height >= _MIN_SCREEN_ROWS_FOR_MARGINS else 0

    def on_resize(self) -> None:
        width = self.app.size.width
        self.show_rows(_usage_rows(self.view, width), heads=_column_heads(self.view, width))

    def hints(self) -> list[KeyHint]:
        return [hint for hint in super().hints() if hint.id != "app.usage.previous"]

    def show_view(self, view: UsageScreenContent) -> None:
        self.view = view
        self.query_one(UsagePlot).show(view)
        width = self.app.size.width
        self.show_rows(
            _usage_rows(view, width), title=view.title, note=view.note, heads=_column_heads(view, width)
        )


def _visible_columns(width: int) -> tuple[tuple[int, str], ...]:
    return _USAGE_COLUMN_WIDTHS[-1:] if width < MAX_COLUMNS_OF_NARROW_USAGE_TABLE else _USAGE_COLUMN_WIDTHS


def _column_heads(view: UsageScreenContent, width: int) -> ListRow:
    return make_column_heads(
        view.heading, right="".join(f"{head:>{size}}" for size, head in _visible_columns(width))
    )


def _usage_rows(view: UsageScreenContent, width: int) -> list[ListRow]:
    is_wide, is_narrow = width >= 100, width < MAX_COLUMNS_OF_NARROW_USAGE_TABLE
    size = 24 if is_wide else 0 if is_narrow else 10
    longest = 40 if is_wide else max(8, min(width - size - 41, width * 2 // 5 - 1))
    columns = _visible_columns(width)
    longest = width - 16 if is_narrow else longest
    most = max((row.amount for row in view.rows), default=0.0)
    rows = [
        ListRow(
            id=row.id,
            title=cut_end_to_fit(clean_single_line(row.title), longest),
            badges=(RowBadge(text=draw_thin_progress_bar(row.amount, most, size), tone=row.tone),)
            if size
            else (),
            detail=row.detail if is_wide else "",
            search_words=f"{row.title} {row.detail} {row.id}",
            right="".join(
                f"{figure:>{cells_}}"
                for (cells_, _), figure in zip(columns, row.figures[-len(columns) :], strict=False)
            ),
            right_tones=tuple(
                (size, tone) for (size, _), tone in zip(columns, _COLUMN_TONES[-len(columns) :], strict=True)
            ),
        )
        for row in view.rows
    ]
    if view.skipped:
        rows.append(ListRow(id="left out", title="Skipped", is_heading=True))
        rows += [
            ListRow(id=f"left out {number}", title=why, detail=what, is_disabled=True)
            for number, (why, what) in enumerate(view.skipped)
        ]
    return rows
