"""The list of todos, to be changed: states, texts, items. Nothing counts before Enter."""

from collections.abc import Sequence
from typing import ClassVar

import msgspec
from textual.binding import BindingType

from widgets.lists.rows import ListRow, Tone
from widgets.screens.parts import KeyHint
from widgets.screens.picker import PickerAction, PickerScreen, bindings_of
from widgets.status.todos import GLYPHS, TodoState

_TONES: dict[TodoState, Tone] = {
    "pending": "text",
    "current": "accent",
    "done": "dim",
    "dropped": "dim",
    "blocked": "warning",
}


class TodoEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A phase, when it has no state, or an item."""

    id: str
    text: str
    state: TodoState | None = None
    waits_for: str = ""


class TodosScreen(PickerScreen):
    """Each key asks the application, which answers with `show_entries`."""

    IS_SEARCHED: ClassVar[bool] = False  # keys are letters
    IS_COUNTED: ClassVar[bool] = False
    ACTIONS = (
        PickerAction(id="app.todos.cycle", keys="space", label="state", closes=False, importance=8),
        PickerAction(id="app.todos.edit", keys="e", label="edit", closes=False, importance=6),
        PickerAction(id="app.todos.add", keys="a", label="add", closes=False, needs_row=False, importance=7),
        PickerAction(id="app.todos.drop", keys="d", label="drop", closes=False, importance=5),
    )
    BINDINGS: ClassVar[list[BindingType]] = bindings_of(ACTIONS)

    def __init__(self, entries: Sequence[TodoEntry], note: str = "") -> None:
        super().__init__(
            "Todos",
            _rows(entries),
            order="given",
            choose="keep",
            note=note,
            empty="nothing to do; a adds an item",
        )

    def hints(self) -> list[KeyHint]:
        own = [KeyHint(action.keys, action.label, action.importance, action.id) for action in self.ACTIONS]
        return [
            KeyHint("enter", "keep", 9, "tui.select.confirm"),
            *own,
            KeyHint("escape", "leave as it was", 9, "tui.select.cancel"),
        ]

    def show_entries(self, entries: Sequence[TodoEntry], *, current: str = "", note: str = "") -> None:
        self.show_rows(_rows(entries), current=current, note=note)


def _rows(entries: Sequence[TodoEntry]) -> list[ListRow]:
    return [
        ListRow(id=entry.id, title=entry.text, is_heading=True)
        if entry.state is None
        else ListRow(
            id=entry.id,
            title=entry.text,
            prefix=f"{GLYPHS[entry.state]} ",
            tone=_TONES[entry.state],
            detail=f"waits for: {entry.waits_for}" if entry.waits_for else "",
        )
        for entry in entries
    ]
