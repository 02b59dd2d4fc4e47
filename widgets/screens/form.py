"""A form on one sheet: each field a row with what is in it; Enter fills in the current one."""

import time
from collections.abc import Callable, Sequence
from typing import ClassVar

import msgspec
from textual import events
from textual.binding import BindingType

from widgets.lists.rows import ListRow
from widgets.screens.picker import PickerAction, PickerScreen, bindings_of
from widgets.screens.preview import PreviewPart, PreviewText


class FilledField(msgspec.Struct, frozen=True, kw_only=True):
    """A field as it stands."""

    id: str
    title: str
    value: str = ""
    about: str = ""
    """What belongs there."""
    wrong: str = ""
    """Why it cannot be sent like that."""
    is_required: bool = False


class FormScreen(PickerScreen):
    """Ends with a field to be filled in, or with `app.form.send` or `app.form.decline`."""

    ACTIONS = (
        PickerAction(id="app.form.send", keys="s", label="send", importance=8),
        PickerAction(id="app.form.clear", keys="x", label="empty it"),
        PickerAction(id="app.form.decline", keys="d", label="decline", importance=7),
    )
    BINDINGS: ClassVar[list[BindingType]] = bindings_of(ACTIONS)
    IS_SEARCHED: ClassVar[bool] = False  # keys are letters
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
        """`grace`: for so long nothing may have been typed before keys are meant for the form: it comes by itself, and
        whoever was typing something else has not seen it."""
        self._grace = grace
        self._clock = clock
        self._armed_at = 0.0
        self._fields = {field.id: field for field in fields}
        self._message = message
        super().__init__(
            title,
            _rows(fields),
            order="given",
            choose="fill in",
            current=current,
            empty="nothing is to be filled in",
            preview=self._about,
        )
        self.add_class("below")

    def on_mount(self) -> None:
        super().on_mount()
        self._armed_at = self._clock() + self._grace

    def action_act(self, action_id: str) -> None:
        if self._is_meant():
            super().action_act(action_id)

    def action_choose(self) -> None:
        if self._is_meant():
            super().action_choose()

    def on_key(self, event: events.Key) -> None:
        self._is_meant()

    def _is_meant(self) -> bool:
        now = self._clock()
        if now >= self._armed_at:
            return True
        self._armed_at = now + self._grace
        return False

    def _fit(self) -> None:
        super()._fit()
        self.set_class(not self.has_class("beside"), "below")
        most = max(3, self.app.size.height * 3 // 5)
        self.query_one("#body").styles.height = min(most, len(self._fields) + 8)

    def _about(self, row: ListRow) -> PreviewText:
        field = self._fields.get(row.id)
        if field is None:
            return PreviewText(parts=(PreviewPart(text=self._message),))
        parts = [PreviewPart(text=self._message)]
        if field.about:
            parts.append(PreviewPart(text=f"{field.title}: {field.about}", tone="muted"))
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
