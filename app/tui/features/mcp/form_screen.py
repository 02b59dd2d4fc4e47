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
from widgets.screens.full_row_text import ROOMY
from widgets.screens.picker import Picked, PickerAction, PickerScreen, bindings_of
from widgets.screens.preview import Preview, PreviewPart, PreviewText, preview_of, row_count

OTHER_ANSWER = "Other answer…"
"""The row of an answer in the user's own words."""


class FilledField(msgspec.Struct, frozen=True, kw_only=True):
    """A field of the form with its current value."""

    id: str
    title: str
    value: str = ""
    about: str = ""
    """A description of the expected value."""
    wrong: str = ""
    """Why the value is invalid."""
    is_required: bool = False


class FormScreen(PickerScreen):
    """Shows the form; returns the field to edit, or `app.form.send` or `app.form.decline`."""

    ACTIONS = (
        PickerAction(id="app.form.send", keys="s", label="send", importance=8),
        PickerAction(id="app.form.clear", keys="x", label="empty it"),
        PickerAction(id="app.form.decline", keys="d", label="decline", importance=7),
    )
    BINDINGS: ClassVar[list[BindingType]] = bindings_of(ACTIONS)
    IS_SEARCHED: ClassVar[bool] = False  # single letters are keys here
    IS_COUNTED: ClassVar[bool] = False

    def __init__(
        self,
        title: str,
        message: str,
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
        self._message = preview_of("", message)
        self._about = Preview(id="about")
        super().__init__(
            title,
            _rows(fields),
            order="given",
            choose="fill in",
            current=current,
            empty="this form has no fields",
            below=(self._about,),
        )
        self.add_class("below")

    def compose_above(self) -> ComposeResult:
        yield Preview(id="message")

    def on_mount(self) -> None:
        super().on_mount()
        self.query_one("#message", Preview).show(self._message)
        self._armed_at = self._clock() + self._grace

    def action_act(self, action_id: str) -> None:
        if self._is_intended():
            super().action_act(action_id)

    def action_choose(self) -> None:
        if self._is_intended():
            super().action_choose()

    def on_key(self, event: events.Key) -> None:
        self._is_intended()

    def _is_intended(self) -> bool:
        now = self._clock()
        if now >= self._armed_at:
            return True
        self._armed_at = now + self._grace
        return False

    def _fit(self) -> None:
        """Sizes the description for the longest field description, so that the list does not move."""
        super()._fit()
        width, height = self.app.size
        blank = int(height >= ROOMY)
        message = self.query_one("#message", Preview)
        asked = max(1, min(row_count(self._message, width), height // 2))
        message.styles.height = asked
        message.styles.margin = (0, 0, blank, 0)
        told = max((row_count(_field_preview(field), width) for field in self._fields.values()), default=0)
        self._about.display = told > 0
        self._about.styles.height = max(1, min(told, height // 4))
        self._about.styles.margin = (blank, 0, 0, 0)
        below = min(told, height // 4) + blank if told else 0
        most = max(2, height - 3 - asked - below)
        self.query_one("#body").styles.height = min(most, max(1, len(self._fields))) + below

    def on_row_list_moved(self, event: RowList.Moved) -> None:
        field = self._fields.get(event.row.id) if event.row else None
        self._about.show(_field_preview(field) if field is not None else PreviewText())


class ChoicesScreen(PickerScreen):
    """Shows choices of which several may be marked; returns the row of another answer, or `app.form.keep`."""

    ACTIONS = (
        PickerAction(id="app.form.mark", keys="space", label="mark", closes=False, importance=9),
        PickerAction(id="app.form.keep", keys="ctrl+s", label="keep", importance=8),
    )
    BINDINGS: ClassVar[list[BindingType]] = bindings_of(ACTIONS)
    IS_SEARCHED: ClassVar[bool] = False  # the space bar is a key here
    IS_COUNTED: ClassVar[bool] = False

    def __init__(self, title: str, question: str, rows: Sequence[ListRow], marked: Sequence[str]) -> None:
        self.marked = list(marked)
        self._choices = list(rows)
        self._question = preview_of("", question)
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
        message.styles.height = max(1, min(row_count(self._question, width), height // 2))
        message.styles.margin = (0, 0, int(height >= ROOMY), 0)

    def action_choose(self) -> None:
        self._mark_row()

    def action_act(self, action_id: str) -> None:
        if action_id == "app.form.mark":
            self._mark_row()
        else:
            super().action_act(action_id)

    def _mark_row(self) -> None:
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
        self.show_rows(self._choices, note=f"{len(self.marked)} marked")


def _field_preview(field: FilledField) -> PreviewText:
    parts = [PreviewPart(text=f"{field.title}: {field.about}", tone="muted")] if field.about else []
    if field.wrong:
        parts.append(PreviewPart(text=field.wrong, tone="error"))
    return PreviewText(parts=tuple(parts))


def _rows(fields: Sequence[FilledField]) -> list[ListRow]:
    return [
        ListRow(
            id=field.id,
            title=field.title,
            detail=field.value or ("needed" if field.is_required else "empty"),
            right=field.wrong and "does not fit",
            right_tone="error",
        )
        for field in fields
    ]
