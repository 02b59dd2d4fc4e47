"""The picker: a list from which the user chooses a row, filtered while typing. All selectors of the application use it.

It opens as a sheet at the bottom or at full height, with an optional preview of the current row. The application
provides rows and handles actions."""

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

import msgspec
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widget import Widget

from widgets.editor.line_input import LineInput
from widgets.lists.list_rows import ListRow, insert_blank_rows_before_headings
from widgets.lists.row_filter import ListRowFilter, MatchedListRow, RowRankingOrder
from widgets.lists.row_list import RowList
from widgets.row_builder import cells
from widgets.screens.full_row_text import FullRowTextPane
from widgets.screens.preview_pane import Preview, PreviewText
from widgets.screens.screen_parts import (
    KeyHint,
    KeyHints,
    QuestionEdge,
    RuleTitle,
    ScreenSheet,
    ScreenSheetBody,
)
from widgets.screens.screen_request import ScreenRequest
from widgets.screens.text_pages import ALL_KEYS_HINT, show_all_keys
from widgets.textual_internals import ClosableModalScreen, app_keymap

PICKER_PREVIEW_MIN_WIDTH = 100
"""The minimum width for a preview beside the list."""
MAX_PICKER_TITLE_CELLS = 40
"""The maximum width of the title column, in cells."""
_NO_MATCHING_ROWS_TEXT = "nothing matches"
_MAX_NUMBERED_PICKER_ROWS = 9


class PickerAction(msgspec.Struct, frozen=True, kw_only=True):
    """An action of a picker that has a key besides Enter and Escape."""

    id: str
    """The name used in key maps; returned with the row."""
    keys: str
    """The default keys, separated by commas."""
    label: str
    """The short name in the hint line."""
    help: str = ""
    """The name in the list of all keys, which is read without the page; empty: the label."""
    closes: bool = True
    """Returns the row and closes the picker; otherwise the application handles the action and the picker stays open."""
    needs_row: bool = True
    importance: int = 4


def picker_bindings(actions: Sequence[PickerAction]) -> list[BindingType]:
    """Returns the key bindings for a picker's actions, which take precedence over its filter line."""
    return [
        Binding(
            action.keys,
            f"act('{action.id}')",
            action.help or action.label[:1].upper() + action.label[1:],
            show=False,
            priority=True,
            id=action.id,
        )
        for action in actions
    ]


class PickerResult(msgspec.Struct, frozen=True, kw_only=True):
    """What the user chose in a picker: the row and the action (`choose` for Enter)."""

    row: ListRow
    action: str = "choose"


class PickerScreen(ClosableModalScreen[PickerResult | None]):
    """A screen with a list that is filtered while typing; returns the chosen row and the action."""

    AUTO_FOCUS: ClassVar[str | None] = ""
    ACTIONS: ClassVar[tuple[PickerAction, ...]] = ()
    """The actions of a subclass, which binds them with `picker_bindings`."""
    IS_ALIGNED: ClassVar[bool] = True
    """Whether the text after the titles is aligned in a column."""
    IS_COUNTED: ClassVar[bool] = True
    """Whether the number of rows is shown."""
    IS_SEARCHED: ClassVar[bool] = True
    """Whether typing filters the list."""
    BELOW_MIN_ROWS: ClassVar[int] = 0
    """Rows of the terminal from which the preview is below the list where it has no room beside it; 0: never."""
    HAS_EDGE: ClassVar[bool] = False
    """Whether a coloured edge shows that somebody is asked."""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "choose", "Choose", show=False, id="tui.select.confirm"),
        Binding("up,ctrl+p", "move(-1)", "Up", show=False, id="tui.select.up"),
        Binding("down,ctrl+n", "move(1)", "Down", show=False, id="tui.select.down"),
        Binding("pageup", "page(-1)", "Page up", show=False, id="tui.select.pageUp"),
        Binding("pagedown", "page(1)", "Page down", show=False, id="tui.select.pageDown"),
        Binding("home", "edge(False)", "First", show=False, id="tui.select.first"),
        Binding("end", "edge(True)", "Last", show=False, id="tui.select.last"),
        Binding("f1", "all_keys", "All keys of this list", show=False, id="tui.select.keys"),
    ]

    class ActionRequested(ScreenRequest["PickerScreen"]):
        """Message: the user pressed the key of an action that does not close the picker; the application may answer
        with `show_rows`."""

        def __init__(self, screen: "PickerScreen", action: str, row: ListRow | None) -> None:
            super().__init__(screen)
            self.action = action
            self.row = row

    def __init__(
        self,
        title: str,
        rows: Sequence[ListRow] = (),
        *,
        query: str = "",
        placeholder: str = "type to filter",
        empty: str | Callable[[Mapping[str, str]], str] = _NO_MATCHING_ROWS_TEXT,
        choose: str = "choose",
        order: RowRankingOrder = "best",
        current: str = "",
        note: str = "",
        heads: ListRow | None = None,
        preview: Callable[[ListRow], PreviewText] | None = None,
        below: Sequence[Widget] = (),
        is_full_height: bool = False,
        filters: bool = True,
    ) -> None:
        """Creates a picker of `rows`. `choose`: the word for what Enter does; empty if Enter only closes. `empty`: the
        text for an empty list, or a function of the user's keys. `heads`: the heads of the columns. `below`: widgets
        below the list."""
        has_panes = preview is not None or bool(below)
        super().__init__(
            classes=" ".join(
                name
                for name, applies in (("full-height", is_full_height), ("measured", not has_panes))
                if applies
            )
            or None
        )
        self._title = title
        self._rows = insert_blank_rows_before_headings(rows)
        self._query = query
        self._placeholder = placeholder
        self._empty = (
            empty if callable(empty) else lambda own: _NO_MATCHING_ROWS_TEXT if self._rows else empty
        )
        self._choose = choose
        self._current = current
        self._note = note
        self._heads = heads
        self._preview = preview
        self._text_below = below
        self._filters = filters
        self._filter = ListRowFilter(self._rows, order)
        self._order: RowRankingOrder = order
        self._row_numbers = _RowNumbers(
            may_be=self.IS_SEARCHED and filters and not query and not is_full_height
        )

    # -- calls ---------------------------------------------------------------------------------------------

    @property
    def is_there(self) -> bool:
        """Whether the picker still has its list: background work may end after the picker was closed."""
        return bool(self.query(RowList))

    @property
    def row(self) -> ListRow | None:
        current = self.query_one(RowList).current if self.is_there else None
        if current is None or not self._row_numbers.enable_row_numbers_for(self._rows):
            return current
        return next(
            (row for row in self._rows if row.id == current.id), current
        )  # the row without its number

    @property
    def filter_text(self) -> str:
        return self.query_one("#filter", LineInput).text

    def show_rows(
        self,
        rows: Sequence[ListRow],
        *,
        current: str = "",
        title: str | None = None,
        note: str | None = None,
        heads: ListRow | None = None,
    ) -> None:
        """Replaces the picker's rows, and its title, note or column heads if given; the cursor stays on its row if that
        is still there. Does nothing after the picker was closed."""
        if not self.is_there:
            return
        keep = current or (self.row.id if self.row else "")
        self._rows = insert_blank_rows_before_headings(rows)
        self._filter = ListRowFilter(self._rows, self._order)
        self._title = self._title if title is None else title
        self._note = self._note if note is None else note
        self._heads = heads or self._heads
        self.query_one(RowList).title_cells = self._title_cells()
        self._apply(keep)

    def show_note(self, note: str) -> None:
        """Shows a short note at the right of the title: what just happened, or a problem."""
        self._note = note
        if self.is_there:
            self._update_count()

    def refresh_preview(self) -> None:
        """Draws the preview of the picker's current row again, because more is known about it."""
        if self._preview is not None and self.row is not None:
            self.query_one("#preview", Preview).show(self._preview(self.row))

    # -- screen --------------------------------------------------------------------------------------------

    def compose(self) -> ComposeResult:
        self._arrange_panes()
        with ScreenSheet(id="sheet"):
            if self.HAS_EDGE:
                yield QuestionEdge()
            yield RuleTitle(self._title, indent=0 if self.HAS_EDGE else 2, id="title")
            yield from self.compose_above_filter()
            yield LineInput(self._query, placeholder=self._placeholder, id="filter")
            with ScreenSheetBody(id="body"):
                yield RowList(
                    title_cells=self._title_cells(),
                    heads=self._heads,
                    id="rows",
                )
                if self._preview is not None:
                    yield Preview(id="preview")
                yield from self._text_below
            yield FullRowTextPane(id="told")
            yield KeyHints(self.hints(), all_keys=ALL_KEYS_HINT, id="keys")

    def compose_above_filter(self) -> ComposeResult:
        """Yields the widgets that a subclass shows between title and filter line; none here."""
        yield from ()

    def _title_cells(self) -> int:
        rows = (*self._rows, self._heads) if self._heads is not None else self._rows
        widths = (cells(row.title) + len(row.before) for row in rows if not row.is_heading)
        number = 2 if self._row_numbers.is_allowed else 0
        return min(MAX_PICKER_TITLE_CELLS, number + max(widths, default=0)) if self.IS_ALIGNED else 0

    def hints(self) -> list[KeyHint]:
        own = [
            KeyHint(action.keys.split(",")[0], action.label, action.importance, action.id)
            for action in self.ACTIONS
        ]
        count = sum(not row.is_heading for row in self._rows)
        number = (
            [KeyHint(f"1-{count}", "pick", 3)]
            if count > 1 and self._row_numbers.enable_row_numbers_for(self._rows)
            else []
        )
        chooses = [KeyHint("enter", self._choose, 9, "tui.select.confirm")] if self._choose else []
        return [
            *chooses,
            *number,
            *own,
            KeyHint("escape", "close", 8, "tui.select.cancel"),
        ]

    def on_mount(self) -> None:
        self._fit()
        self._apply(self._current)
        if not self._row_numbers.enable_row_numbers_for(self._rows) and self.IS_SEARCHED:
            self.query_one("#filter", LineInput).focus()

    def on_key(self, event: events.Key) -> None:
        """Handles a key in a short list, which has no filter line: a number chooses a row, any other character opens
        the filter line with it."""
        if (
            not self._row_numbers.enable_row_numbers_for(self._rows)
            or event.character is None
            or not event.is_printable
        ):
            return
        event.stop()
        event.prevent_default()
        if event.character.isdecimal():
            if (row := self._row_numbers.row_with_number(event.character, self._rows)) is not None:
                self.dismiss(PickerResult(row=row))
            return
        self._row_numbers.is_allowed = False  # the line stays, even if it is cleared
        line = self.query_one("#filter", LineInput)
        line.display = True
        line.focus()
        line.set_text(event.character)

    def on_resize(self) -> None:
        self._fit()

    def _arrange_panes(self) -> None:
        """Sets whether the preview is beside or below the list. It runs before the panes exist, because a later change
        would style all of them again."""
        width, height = self.app.size
        is_beside = self._preview is not None and width >= PICKER_PREVIEW_MIN_WIDTH
        self.set_class(is_beside, "beside")
        if self.BELOW_MIN_ROWS:
            self.set_class(not is_beside and height >= self.BELOW_MIN_ROWS, "below")

    def _fit(self) -> None:
        self._arrange_panes()
        is_told = self._preview is not None and (self.has_class("beside") or self.has_class("below"))
        self.query_one(FullRowTextPane).reserve_rows(self.query_one(RowList), is_told=is_told)
        if not self.has_class("full-height"):
            most = max(3, self.app.size.height * 3 // 5 - 3)
            least = 2 if self._row_numbers.enable_row_numbers_for(self._rows) and self._preview is None else 5
            rows = max(len(self._rows), least) + self.query_one(RowList).column_head_height
            self.query_one("#body").styles.height = max(1, min(most, rows))

    def _apply(self, keep: str = "") -> None:
        query, is_brief = self.filter_text, self._row_numbers.enable_row_numbers_for(self._rows)
        shown = self.adjust_visible_rows(self._filter.apply_query(query if self._filters else ""))
        self.query_one("#filter", LineInput).display = self.IS_SEARCHED and not is_brief
        rows = self.query_one(RowList)
        rows.column_heads = (
            _heads_beside_numbers(self._heads) if self._heads is not None and is_brief else self._heads
        )
        rows.empty_text = self._empty(app_keymap(self.app))
        rows.show_rows(_number_rows(shown) if is_brief else shown, query=query, keep=keep)
        self._fit()
        self._update_count()
        needing = {action.id for action in self.ACTIONS if action.needs_row} | {"tui.select.confirm"}
        hints = [hint for hint in self.hints() if self.row is not None or hint.id not in needing]
        self.query_one("#keys", KeyHints).show(hints)

    def adjust_visible_rows(self, shown: list[MatchedListRow]) -> list[MatchedListRow]:
        """Returns the visible rows of a picker, adjusted to each other by a subclass; unchanged here."""
        return shown

    def _update_count(self) -> None:
        shown = sum(not item.row.is_heading for item in self.query_one(RowList).visible_rows)
        total = sum(not row.is_heading for row in self._rows)
        count = f"{total:,}" if shown == total else f"{shown:,} of {total:,}"
        if self._row_numbers.enable_row_numbers_for(self._rows) or (shown == total and not self.IS_COUNTED):
            count = ""
        note = self._filter.query_problem or self._note
        self.query_one(RuleTitle).show(title=self._title, note=" · ".join(filter(None, (note, count))))

    def on_line_input_changed(self, event: LineInput.Changed) -> None:
        event.stop()
        self._apply(keep="" if event.text else (self.row.id if self.row else ""))

    def on_row_list_moved(self, event: RowList.Moved) -> None:
        event.stop()
        if self._preview is not None:
            self.query_one("#preview", Preview).show(self._preview(event.row) if event.row else PreviewText())
        self.query_one(FullRowTextPane).show_row(self.query_one(RowList))

    def on_row_list_chosen(self, event: RowList.Chosen) -> None:
        event.stop()
        self.action_choose()

    # -- actions -------------------------------------------------------------------------------------------

    def action_choose(self) -> None:
        if self.row is not None and not self.row.is_disabled:
            self.dismiss(PickerResult(row=self.row))

    def action_act(self, action_id: str) -> None:
        action = next(action for action in self.ACTIONS if action.id == action_id)
        if self.row is None and action.needs_row:
            return
        if action.closes and self.row is not None:
            self.dismiss(PickerResult(row=self.row, action=action_id))
        else:
            self.post_message(self.ActionRequested(self, action_id, self.row))

    def action_all_keys(self) -> None:
        show_all_keys(self)

    def action_move(self, delta: int) -> None:
        self.query_one(RowList).action_move(delta)

    def action_page(self, direction: int) -> None:
        self.query_one(RowList).action_page(direction)

    def action_edge(self, is_end: bool) -> None:
        self.query_one(RowList).action_edge(is_end)


class _RowNumbers:
    """Decides whether the rows of a short list are numbered, so that a digit chooses one and no filter line is
    needed."""

    def __init__(self, *, may_be: bool) -> None:
        self.is_allowed = may_be
        """Whether a short list is numbered; not after text was typed to filter it."""

    def enable_row_numbers_for(self, rows: Sequence[ListRow]) -> bool:
        return self.is_allowed and 0 < sum(not row.is_heading for row in rows) <= _MAX_NUMBERED_PICKER_ROWS

    @staticmethod
    def row_with_number(number: str, rows: Sequence[ListRow]) -> ListRow | None:
        """Returns the list row with this number; None if there is none that can be chosen."""
        choices = [row for row in rows if not row.is_heading]
        at = int(number) - 1
        return choices[at] if 0 <= at < len(choices) and not choices[at].is_disabled else None


def _heads_beside_numbers(heads: ListRow) -> ListRow:
    return msgspec.structs.replace(heads, prefix=f"  {heads.prefix}")


def _number_rows(shown: Sequence[MatchedListRow]) -> list[MatchedListRow]:
    out: list[MatchedListRow] = []
    number = 0
    for item in shown:
        if not item.row.is_heading:
            number += 1
            prefix = f"{number} {item.row.prefix}"
            item = item._replace(row=msgspec.structs.replace(item.row, prefix=prefix))
        out.append(item)
    return out
