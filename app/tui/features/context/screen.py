"""The context screen: a bar, a table by kind, and large results that can be removed with a key."""

from collections.abc import Callable, Sequence
from typing import ClassVar

import msgspec
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.strip import Strip
from textual.widget import Widget

from widgets.key_labels import key_spans
from widgets.line import RowBuilder
from widgets.lists.row_list import TONES
from widgets.lists.rows import ListRow, Tone
from widgets.screens.picker import PickerAction, PickerScreen, bindings_of
from widgets.screens.preview import PreviewText


class Share(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of content in the bar, with its tokens."""

    name: str
    tokens: int
    tone: Tone


class ContextView(msgspec.Struct, frozen=True, kw_only=True):
    """The data of the context screen: the bar's shares, totals and table rows."""

    shares: tuple[Share, ...]
    window: int
    reserve: int
    total: str
    """The summary, such as `84k of 200k tokens · 42%`."""
    advice: str = ""
    """How much a compaction would free."""
    rows: tuple[ListRow, ...]
    """The rows of the table. Only large results can be removed and put back."""


class ContextBar(Widget):
    """The context window as a row of cells: used, free, and reserved for the answer, with a legend."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        *(f"context-bar--{tone}" for tone in TONES),
        "context-bar--free",
        "context-bar--reserve",
    }
    DEFAULT_CSS = "ContextBar { height: 3; }"

    def __init__(self, view: ContextView, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.view = view

    def show(self, view: ContextView) -> None:
        self.view = view
        self.refresh()

    def render_line(self, y: int) -> Strip:
        line = RowBuilder(self.size.width, self.rich_style, edge=1).pad(2)
        if y == 0:
            return self._bar(line).strip()
        if y == 1:
            return self._legend(line).strip()
        line.add(self.view.total, self._style("text"))
        if self.view.advice:
            line.add(" · ", self._style("muted"))
            keys = (at for span in key_spans(self.view.advice) for at in range(*span))
            line.add_highlighted(self.view.advice, keys, self._style("muted"), self._style("accent"))
        return line.strip()

    def _bar(self, line: RowBuilder) -> RowBuilder:
        width = line.room
        window = max(self.view.window, sum(share.tokens for share in self.view.shares), 1)
        used = 0
        for share, size in zip(self.view.shares, _cells(self.view.shares, window, width), strict=True):
            line.add("█" * size, self._style(share.tone))
            used += size
        reserve = min(width - used, round(width * self.view.reserve / window))
        line.add("░" * (width - used - reserve), self._style("free"))
        return line.add("▒" * reserve, self._style("reserve"))

    def _legend(self, line: RowBuilder) -> RowBuilder:
        for share in self.view.shares:
            if share.tokens:
                line.add("█ ", self._style(share.tone)).add(f"{share.name}  ", self._style("muted"))
        line.add("░ ", self._style("free")).add("free  ", self._style("muted"))
        return line.add("▒ ", self._style("reserve")).add("for the answer", self._style("muted"))

    def _style(self, name: str):
        return self.get_component_rich_style(f"context-bar--{name}")


def _cells(shares: Sequence[Share], window: int, width: int) -> list[int]:
    """Returns the bar's cells per kind: at least one for each kind with tokens, and together at most
    `width`."""
    sizes = [max(1, round(width * share.tokens / window)) if share.tokens else 0 for share in shares]
    while sum(sizes) > width:
        sizes[sizes.index(max(sizes))] -= 1
    return sizes


class ContextScreen(PickerScreen):
    """A picker over the context: Enter opens a row's content; other keys are sent to the application
    as requests."""

    IS_COUNTED: ClassVar[bool] = False
    ACTIONS = (
        PickerAction(
            id="app.context.drop", keys="ctrl+x", label="drop or put back", closes=False, importance=7
        ),
        PickerAction(
            id="app.context.preview",
            keys="ctrl+e",
            label="compact",
            needs_row=False,
            importance=6,
        ),
    )
    BINDINGS: ClassVar[list[BindingType]] = bindings_of(ACTIONS)

    def __init__(
        self,
        view: ContextView,
        *,
        preview: Callable[[ListRow], PreviewText] | None = None,
        current: str = "",
    ) -> None:
        self._view = view
        super().__init__(
            "Context",
            view.rows,
            order="given",
            choose="read it",
            current=current,
            empty="the context is empty",
            preview=preview,
            is_full_height=True,
        )
        self.add_class("context")

    def show_context(self, view: ContextView, note: str = "") -> None:
        self._view = view
        self.query_one(ContextBar).show(view)
        self.show_rows(view.rows, note=note)

    def compose_above(self) -> ComposeResult:
        yield ContextBar(self._view, id="bar")
