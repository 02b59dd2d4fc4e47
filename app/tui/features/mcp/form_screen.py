"""A form on one sheet: the message, a row per field with its value, and a description of the current field."""

import time
from collections.abc import Callable, Sequence
from typing import ClassVar

import msgspec
from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType

from widgets.lists.row_list import RowList
from widgets.lists.rows import ListRow
from widgets.screens.full_row_text import ROOMY_MIN_ROWS
from widgets.screens.picker import Picked, PickerAction, PickerScreen, picker_bindings
from widgets.screens.preview import Preview, PreviewPart, PreviewText, count_rows, make_preview
from widgets.status.input_guard import TYPING_PAUSE_SECONDS

OTHER_ANSWER = "Other answer…"
"""The row of an answer in the user's own words."""


class FilledField(msgspec.Struct, frozen=True, kw_only=True):
    """A field of the form with its current value."""

    id: str
    title: str
    value: str = ""
    description: str = ""
    """A description of the expected value."""
    error: str = ""
    """Why the value is invalid."""
    is_required: bool = False


class FormScreen(PickerScreen):
    """Shows the form; returns the field to edit, or `app.form.send` or `app.form.decline`."""

    ACTIONS = (
        PickerAction(id="app.form.send", keys="s", label="send", importance=8),
        PickerAction(id="app.form.clear", keys="x", label="clear"),
        PickerAction(id="app.form.decline", keys="d", label="decline", importance=7),
    )
    BINDINGS: ClassVar[list[BindingType]] = picker_bindings(ACTIONS)
    IS_SEARCHED: ClassVar[bool] = False  # single letters are keys here
    IS_COUNTED: ClassVar[bool] = False

    def __init__(
        self,
        title: str,
        message: str | PreviewText,
        fields: Sequence[FilledField],
        *,
        current: str = "",
        grace: float = 0.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`grace`: seconds without typing before keys reach the form. The form opens by itself, and
        the user may be typing something else."""
        self._grace = grace
        self._clock = clock
        self._armed_at = 0.0
        self._fields = {field.id: field for field in fields}
        self._message = message if isinstance(message, PreviewText) else make_preview("", message)
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

    def compose_above(self) -> ComposeResult:
        yield Preview(id="message")

    def on_mount(self) -> None:
        super().on_mount()
        self.query_one("#message", Preview).show(self._message)
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
        """Sizes the description for the longest field description, so that the list does not move."""
        super()._fit()
        width, height = self.app.size
        blank = int(height >= ROOMY_MIN_ROWS)
        message = self.query_one("#message", Preview)
        asked = max(1, min(count_rows(self._message, width), height // 2))
        message.styles.height = asked
        message.styles.margin = (0, 0, blank, 0)
        told = max((count_rows(_field_preview(field), width) for field in self._fields.values()), default=0)
        self._description_pane.display = told > 0
        self._description_pane.styles.height = max(1, min(told, height // 4))
        self._description_pane.styles.margin = (blank, 0, 0, 0)
        below = min(told, height // 4) + blank if told else 0
        most = max(2, height - 3 - asked - below)
        self.query_one("#body").styles.height = min(most, max(1, len(self._fields))) + below

    def on_row_list_moved(self, event: RowList.Moved) -> None:
        field = self._fields.get(event.row.id) if event.row else None
        self._description_pane.show(_field_preview(field) if field is not None else PreviewText())


class ChoicesScreen(PickerScreen):
    """Shows choices of which several may be marked; returns the row of another answer, or `app.form.keep`."""

    ACTIONS = (
        PickerAction(id="app.form.mark", keys="space", label="select", closes=False, importance=9),
        PickerAction(id="app.form.keep", keys="ctrl+s", label="save", importance=8),
    )
    BINDINGS: ClassVar[list[BindingType]] = picker_bindings(ACTIONS)
    IS_SEARCHED: ClassVar[bool] = False  # the space bar is a key here
    IS_COUNTED: ClassVar[bool] = False

    def __init__(
        self, title: str, question: PreviewText, rows: Sequence[ListRow], marked: Sequence[str]
    ) -> None:
        self.marked = list(marked)
        self._choices = list(rows)
        self._question = question
        super().__init__(title, self._choices, order="given", choose="")

    def compose_above(self) -> ComposeResult:
        yield Preview(id="message")

    def on_mount(self) -> None:
        super().on_mount()
        self.query_one("#message", Preview).show(self._question)

    def _fit(self) -> None:
        super()._fit()
        width, height = self.app.size
        message = self.query_one("#message", Preview)
        message.styles.height = max(1, min(count_rows(self._question, width), height // 2))
        message.styles.margin = (0, 0, int(height >= ROOMY_MIN_ROWS), 0)

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
        if self.row.id == OTHER_ANSWER:
            self.dismiss(Picked(row=self.row))
            return
        self.marked = [
            row.id
            for row in self._choices
            if row.id != OTHER_ANSWER and (row.id in self.marked) != (row.id == self.row.id)
        ]
        self._choices = [
            row if row.id == OTHER_ANSWER else msgspec.structs.replace(row, is_checked=row.id in self.marked)
            for row in self._choices
        ]
        self.show_rows(self._choices, note=f"{len(self.marked)} selected")


def _field_preview(field: FilledField) -> PreviewText:
    parts = (
        [PreviewPart(text=f"{field.title}: {field.description}", tone="muted")] if field.description else []
    )
    if field.error:
        parts.append(PreviewPart(text=field.error, tone="error"))
    return PreviewText(parts=tuple(parts))


def _field_rows(fields: Sequence[FilledField]) -> list[ListRow]:
    return [
        ListRow(
            id=field.id,
            title=field.title,
            detail=field.value or ("required" if field.is_required else "empty"),
            right=field.error and "invalid",
            right_tone="error",
        )
        for field in fields
    ]
