"""The screen for the context window: a bar, a table by kind of content, and large results that a key removes."""

from collections.abc import Callable
from typing import ClassVar

import msgspec
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.strip import Strip
from textual.widget import Widget

from app.tui.features.context.context_groups import CONTEXT_GROUP_TONES, GroupTone
from widgets.key_labels import find_key_and_command_spans
from widgets.lists.list_rows import ListRow, make_column_heads
from widgets.row_builder import RIGHT_MARGIN_CELLS, RowBuilder, cells, divide_bar_cells
from widgets.screens.picker import PickerAction, PickerScreen, picker_bindings
from widgets.screens.preview_pane import PreviewText


class ContextWindowShare(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of content in the bar of the context window, with its tokens and colour."""

    name: str
    tokens: int
    tone: GroupTone


class ContextScreenContent(msgspec.Struct, frozen=True, kw_only=True):
    """The content of the context screen: the bar's shares, totals and table rows."""

    shares: tuple[ContextWindowShare, ...]
    window: int
    reserve: int
    total: str
    """The summary, such as `84k of 200k tokens · 42%`."""
    advice: str = ""
    """How much a compaction would free."""
    rows: tuple[ListRow, ...]
    """The rows of the table. Only large results can be removed and put back."""


USAGE_BAR_CELLS = 8
"""The cells of the bar in front of a row."""
FIGURE_COLUMNS = (6, 8, 8)
"""The cells of a row's figures: items, tokens and share."""
_CONTEXT_COLUMN_HEADS = make_column_heads(
    "Content",
    prefix=" " * (USAGE_BAR_CELLS + 2),
    right="".join(
        f"{head:>{size}}" for head, size in zip(("items", "tokens", "share"), FIGURE_COLUMNS, strict=True)
    ),
)
MIN_SCREEN_ROWS_FOR_LEGEND = 16
"""Rows of the terminal from which the bar has a legend."""
_MIN_SCREEN_ROWS_FOR_MARGINS = 30
"""Rows of the terminal from which there are blank rows around the bar."""


class ContextBar(Widget):
    """A widget that draws the context window as a bar of cells (used, free, reserved for the answer) with a legend."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        *(f"context-bar--{tone}" for tone in CONTEXT_GROUP_TONES),
        "context-bar--free",
        "context-bar--reserve",
    }
    DEFAULT_CSS = "ContextBar { height: 4; }"

    def __init__(self, view: ContextScreenContent, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.view = view

    def show(self, view: ContextScreenContent) -> None:
        self.view = view
        self.refresh()

    def render_line(self, y: int) -> Strip:
        line = RowBuilder(self.size.width, self.rich_style, edge=RIGHT_MARGIN_CELLS).pad(2)
        is_airy = self.size.height > 4
        legend = self._legend_rows(line.remaining_cells)
        first = 3 if is_airy else 3 - len(legend)
        if y == is_airy:
            return self._bar(line).strip()
        if first <= y < first + len(legend):
            for number, (mark, style, name) in enumerate(legend[y - first]):
                line.add("   " if number else "").add(mark, self._style(style)).add(
                    name, self._style("muted")
                )
        elif y == 3 + 2 * is_airy and self.view.advice:
            keys = (at for span in find_key_and_command_spans(self.view.advice) for at in range(*span))
            line.add_highlighted(self.view.advice, keys, self._style("muted"), self._style("accent"))
        return line.strip()

    def _bar(self, line: RowBuilder) -> RowBuilder:
        width = line.remaining_cells
        window = max(self.view.window, sum(share.tokens for share in self.view.shares), 1)
        sizes = divide_bar_cells([share.tokens / window for share in self.view.shares], width)
        for share, size in zip(self.view.shares, sizes, strict=True):
            line.add("█" * size, self._style(share.tone))
        reserve = min(width - sum(sizes), round(width * self.view.reserve / window))
        line.add("░" * (width - sum(sizes) - reserve), self._style("free"))
        return line.add("▒" * reserve, self._style("reserve"))

    def _legend_rows(self, width: int) -> list[list[tuple[str, str, str]]]:
        """Returns the marks, styles and names of the legend, what is not used first; in two rows if one is too
        narrow."""
        unused = [("░ ", "free", "free"), ("▒ ", "reserve", "reserved for the answer")]
        used = [("■ ", share.tone, share.name) for share in self.view.shares if share.tokens]
        needed = sum(cells(mark + name) + 3 for mark, _, name in (*used, *unused)) - 3
        return [[*unused, *used]] if needed <= width else [used, unused]

    def _style(self, name: str):
        return self.get_component_rich_style(f"context-bar--{name}")


class ContextWindowScreen(PickerScreen):
    """The screen that lists what fills the context window: Enter opens a row's content; other keys remove a large
    result or compact."""

    IS_COUNTED: ClassVar[bool] = False
    ACTIONS = (
        PickerAction(
            id="app.context.drop",
            keys="ctrl+x",
            label="drop/restore",
            help="Drop a large result from the context, or restore it",
            closes=False,
            importance=7,
        ),
        PickerAction(
            id="app.context.preview",
            keys="ctrl+e",
            label="compact",
            help="Compact the context",
            needs_row=False,
            importance=6,
        ),
    )
    BINDINGS: ClassVar[list[BindingType]] = picker_bindings(ACTIONS)

    def __init__(
        self,
        view: ContextScreenContent,
        *,
        preview: Callable[[ListRow], PreviewText] | None = None,
        current: str = "",
    ) -> None:
        self._view = view
        super().__init__(
            "Context",
            view.rows,
            order="given",
            choose="open",
            current=current,
            note=view.total,
            empty="the context is empty",
            heads=_CONTEXT_COLUMN_HEADS,
            preview=preview,
            is_full_height=True,
        )
        self.add_class("context")

    def show_context(self, view: ContextScreenContent, note: str = "") -> None:
        self._view = view
        self.query_one(ContextBar).show(view)
        self.show_rows(view.rows, note=note or view.total)

    def _fit(self) -> None:
        super()._fit()
        height = self.app.size.height
        self.query_one(ContextBar).styles.height = (
            7 if height >= _MIN_SCREEN_ROWS_FOR_MARGINS else 4 if height >= MIN_SCREEN_ROWS_FOR_LEGEND else 1
        )

    def compose_above_filter(self) -> ComposeResult:
        yield ContextBar(self._view, id="bar")
