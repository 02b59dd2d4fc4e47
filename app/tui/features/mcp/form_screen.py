"""The screen for a form: the message, a row per field with its value, and a description of the current field."""

import time
from collections.abc import Callable, Sequence
from typing import ClassVar

import msgspec
from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType

from widgets.lists.list_rows import ListRow, RowBadge
from widgets.lists.row_list import RowList
from widgets.screens.full_row_text import ROOMY_SCREEN_MIN_ROWS
from widgets.screens.picker import PickerAction, PickerResult, PickerScreen, picker_bindings
from widgets.screens.preview_pane import (
    Preview,
    PreviewParagraph,
    PreviewText,
    count_preview_rows,
    make_preview_text,
)
from widgets.screens.screen_parts import QUESTION_EDGE_CELLS, KeyHint
from widgets.status.input_guard import TYPING_PAUSE_SECONDS

OTHER_ANSWER_ROW_TEXT = "Other answer…"
"""The row of an answer in the user's own words."""


_ROWS_AROUND_FORM_FIELDS = 3
"""The title, the keys, and a row of the conversation."""


class FilledFormField(msgspec.Struct, frozen=True, kw_only=True):
    """A field of a form with its current value and what is wrong with it."""

    id: str
    title: str
    value: str = ""
    description: str = ""
    """A description of the expected value."""
    error: str = ""
    """Why the value is invalid."""
    is_required: bool = False


class _AskedScreen(PickerScreen):
    """The base of a form's screens: a list below a message, which is scrolled if it does not fit."""

    IS_SEARCHED: ClassVar[bool] = False  # single letters and the space bar are keys here
    IS_COUNTED: ClassVar[bool] = False
    HAS_EDGE: ClassVar[bool] = True
    asked_text: PreviewText
    _is_scrolled = False

    def compose_above_filter(self) -> ComposeResult:
        yield Preview(id="message")

    def on_mount(self) -> None:
        super().on_mount()
        self.add_class("card")
        self.query_one("#message", Preview).show(self.asked_text)

    def hints(self) -> list[KeyHint]:
        *own, close = super().hints()
        scroll = KeyHint("pageup/pagedown", "scroll", 4, "tui.select.pageUp/tui.select.pageDown")
        return [*own, *([scroll] if self._is_scrolled else []), close]

    def fit_message(self, max_rows: int) -> int:
        """Sets the height of the message, at most `max_rows`, and returns it with the blank row below."""
        blank = int(self.app.size.height >= ROOMY_SCREEN_MIN_ROWS)
        pane = self.query_one("#message", Preview)
        rows = count_preview_rows(self.asked_text, self.app.size.width - QUESTION_EDGE_CELLS)
        height = max(1, min(rows, max_rows - blank))
        pane.styles.height = height
        pane.styles.margin = (0, 0, blank, 0)
        self._is_scrolled = rows > height
        return height + blank

    def action_page(self, direction: int) -> None:
        if self._is_scrolled:
            pane = self.query_one("#message", Preview)
            pane.scroll_relative(y=direction * max(1, pane.size.height - 1), animate=False)
        else:
            super().action_page(direction)


class RequestedFormScreen(_AskedScreen):
    """The screen for a form with several fields; returns the field to edit, or `app.form.send` or
    `app.form.decline`."""

    ACTIONS = (
        PickerAction(
            id="app.form.send", keys="s", label="send", help="Send the answers to the server", importance=8
        ),
        PickerAction(id="app.form.clear", keys="x", label="clear", help="Clear the field"),
        PickerAction(
            id="app.form.decline",
            keys="d",
            label="decline",
            help="Decline to answer the server",
            importance=7,
        ),
    )
    BINDINGS: ClassVar[list[BindingType]] = picker_bindings(ACTIONS)

    def __init__(
        self,
        title: str,
        message: str | PreviewText,
        fields: Sequence[FilledFormField],
        *,
        current: str = "",
        grace: float = 0.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Creates the screen. `grace`: seconds without typing before it accepts keys, because it opens by itself and
        the user may be typing something else."""
        self._grace = grace
        self._clock = clock
        self._armed_at = 0.0
        self._fields = {field.id: field for field in fields}
        self.asked_text = message if isinstance(message, PreviewText) else make_preview_text("", message)
        self._description_pane = Preview(id="about")
        super().__init__(
            title,
            _field_rows(fields),
            order="given",
            choose="edit",
            current=current,
            empty="this form has no fields",
            below=(self._description_pane,),
        )
        self.add_class("below")

    def on_mount(self) -> None:
        super().on_mount()
        self._armed_at = self._clock() + self._grace

    def action_act(self, action_id: str) -> None:
        if self._is_grace_over():
            super().action_act(action_id)

    def action_choose(self) -> None:
        if self._is_grace_over():
            super().action_choose()

    def on_key(self, event: events.Key) -> None:
        self._is_grace_over()
        if self._grace and event.is_printable:  # a letter that is no key of the form: a text is being typed
            self._armed_at = max(self._armed_at, self._clock() + TYPING_PAUSE_SECONDS)

    def _is_grace_over(self) -> bool:
        now = self._clock()
        if now >= self._armed_at:
            return True
        self._armed_at = max(self._armed_at, now + self._grace)
        return False

    def _fit(self) -> None:
        """Sizes the pane below the form for the longest description of a field, so that the list does not move."""
        super()._fit()
        width, height = self.app.size.width - QUESTION_EDGE_CELLS, self.app.size.height
        blank = int(height >= ROOMY_SCREEN_MIN_ROWS)
        told = max(
            (count_preview_rows(_field_preview(field), width) for field in self._fields.values()), default=0
        )
        self._description_pane.display = told > 0
        self._description_pane.styles.height = max(1, min(told, height // 4))
        self._description_pane.styles.margin = (blank, 0, 0, 0)
        below = min(told, height // 4) + blank if told else 0
        fields = min(max(1, len(self._fields)), max(2, height // 4))
        asked = self.fit_message(max(height // 2, height - fields - below - _ROWS_AROUND_FORM_FIELDS))
        most = max(2, height - 2 - asked - below)
        self.query_one("#body").styles.height = min(most, max(1, len(self._fields))) + below

    def on_row_list_moved(self, event: RowList.Moved) -> None:
        field = self._fields.get(event.row.id) if event.row else None
        self._description_pane.show(_field_preview(field) if field is not None else PreviewText())


class FormChoicesScreen(_AskedScreen):
    """A screen with choices of which several may be marked; returns the row for another answer, or `app.form.keep`."""

    ACTIONS = (
        PickerAction(
            id="app.form.mark",
            keys="space",
            label="select",
            help="Select or deselect the choice",
            closes=False,
            importance=9,
        ),
        PickerAction(
            id="app.form.keep", keys="ctrl+s", label="save", help="Save the selected choices", importance=8
        ),
    )
    BINDINGS: ClassVar[list[BindingType]] = picker_bindings(ACTIONS)

    def __init__(
        self, title: str, question: PreviewText, rows: Sequence[ListRow], marked: Sequence[str]
    ) -> None:
        self.marked = list(marked)
        self._choices = list(rows)
        self.asked_text = question
        super().__init__(title, self._choices, order="given", choose="")

    def _fit(self) -> None:
        super()._fit()
        height = self.app.size.height
        rows = max(1, min(len(self._choices), height // 3))
        self.query_one("#body").styles.height = rows
        self.fit_message(min(height * 2 // 3, height - rows - _ROWS_AROUND_FORM_FIELDS))

    def action_choose(self) -> None:
        self._toggle_mark()

    def action_act(self, action_id: str) -> None:
        if action_id == "app.form.mark":
            self._toggle_mark()
        else:
            super().action_act(action_id)

    def _toggle_mark(self) -> None:
        if self.row is None:
            return
        if self.row.id == OTHER_ANSWER_ROW_TEXT:
            self.dismiss(PickerResult(row=self.row))
            return
        self.marked = [
            row.id
            for row in self._choices
            if row.id != OTHER_ANSWER_ROW_TEXT and (row.id in self.marked) != (row.id == self.row.id)
        ]
        self._choices = [
            row
            if row.id == OTHER_ANSWER_ROW_TEXT
            else msgspec.structs.replace(row, is_checked=row.id in self.marked)
            for row in self._choices
        ]
        self.show_rows(self._choices, note=f"{len(self.marked)} selected")


def _field_preview(field: FilledFormField) -> PreviewText:
    parts = (
        [PreviewParagraph(text=f"{field.title}: {field.description}", tone="muted")]
        if field.description
        else []
    )
    if field.error:
        parts.append(PreviewParagraph(text=field.error, tone="error"))
    return PreviewText(parts=tuple(parts))


def _value_badge(field: FilledFormField) -> RowBadge:
    if field.value:
        return RowBadge(text=field.value, tone="accent")
    return (
        RowBadge(text="required", tone="warning") if field.is_required else RowBadge(text="empty", tone="dim")
    )


def _field_rows(fields: Sequence[FilledFormField]) -> list[ListRow]:
    return [
        ListRow(
            id=field.id,
            title=field.title,
            badges=(_value_badge(field),),
            right=field.error and "invalid",
            right_tone="error",
        )
        for field in fields
    ]
