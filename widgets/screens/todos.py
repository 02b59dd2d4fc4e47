"""The list of todos, to be changed: states, texts, items. Nothing counts before Enter."""

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import BindingType

from widgets.lists.rows import ListRow
from widgets.screens.parts import KeyHint
from widgets.screens.picker import PickerAction, PickerScreen, bindings_of


class TodosScreen(PickerScreen):
    """Each key asks the application, which answers with `show_rows`."""

    IS_SEARCHED: ClassVar[bool] = False  # keys are letters
    IS_COUNTED: ClassVar[bool] = False
    ACTIONS = (
        PickerAction(id="app.todos.cycle", keys="space", label="state", closes=False, importance=8),
        PickerAction(id="app.todos.edit", keys="e", label="edit", closes=False, importance=6),
        PickerAction(id="app.todos.add", keys="a", label="add", closes=False, needs_row=False, importance=7),
        PickerAction(id="app.todos.drop", keys="d", label="drop", closes=False, importance=5),
    )
    BINDINGS: ClassVar[list[BindingType]] = bindings_of(ACTIONS)

    def __init__(self, rows: Sequence[ListRow], note: str = "") -> None:
        super().__init__(
            "Todos",
            rows,
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
