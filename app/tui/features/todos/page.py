"""`/todos`: the list to be changed by hand. What was changed counts at Enter, as a whole, and the agent is told."""

from collections.abc import Sequence
from typing import ClassVar

import msgspec
from textual.binding import BindingType

from app.engine.session import Session
from app.todos.changes import TodoChange, TodoRefused, changed, normalised
from app.tui.features.todos.todo_list import state_of
from app.tui.handed import AskPerson, TellPerson
from app.values.todos import Phases, TodoItem, TodoStatus, closed_of, items_of
from widgets.lists.rows import ListRow
from widgets.screens.dialogs import InputScreen
from widgets.screens.parts import KeyHint
from widgets.screens.picker import PickerAction, PickerScreen, bindings_of
from widgets.status.todos import GLYPHS, TONES
from widgets.transcript.blocks import NoteKind


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


_NEXT: dict[TodoStatus, TodoStatus] = {
    "pending": "in_progress",
    "in_progress": "completed",
    "completed": "abandoned",
    "abandoned": "pending",
}


class TodosPage:
    """The list of one session."""

    def __init__(self, session: Session, ask: AskPerson, say: TellPerson) -> None:
        self._session = session
        self._ask = ask
        self._say = say
        self._draft: Phases = ()

    async def open(self) -> None:
        before = self._draft = self._session.todos.phases
        screen = TodosScreen(_rows(before), _counted(before))
        picked = await self._ask(screen, on_request=self._requested)
        if picked is None or self._draft == before:
            return
        if self._session.todos.phases != before:
            self._say(
                "The agent changed the list meanwhile, so it is left as it is now. /todos shows it.",
                NoteKind.WARNING,
            )
            return
        await self._session.todos.set(self._draft)

    async def _requested(self, request: TodosScreen.ActionRequested) -> None:
        screen, row = request.screen, request.row
        if not isinstance(screen, TodosScreen):
            return
        item = next((one for one in items_of(self._draft) if row is not None and one.id == row.id), None)
        note = ""
        try:
            match request.action:
                case "app.todos.add":
                    await self._add(item)
                case "app.todos.edit" if item is not None:
                    await self._edit(item)
                case "app.todos.cycle" if item is not None:
                    self._put(item, _NEXT[item.status])
                case "app.todos.drop" if item is not None:
                    self._put(item, "pending" if item.status == "abandoned" else "abandoned")
                case _:
                    return
        except TodoRefused as problem:
            note = str(problem)
        current = row.id if row is not None else ""
        screen.show_rows(_rows(self._draft), current=current, note=note or _counted(self._draft))

    async def _add(self, item: TodoItem | None) -> None:
        """Into the phase of the row that is current."""
        text: str | None = await self._ask(InputScreen("Add an item", placeholder="what is to be done"))
        if text and text.strip():
            phase = next((one.name for one in self._draft if item in one.tasks), None)
            self._draft = changed(self._draft, TodoChange(op="add", tasks=(text,), phase=phase))

    async def _edit(self, item: TodoItem) -> None:
        text: str | None = await self._ask(InputScreen("Edit the item", prefill=item.content))
        if text and text.strip():
            self._replace(item, msgspec.structs.replace(item, content=text))

    def _put(self, item: TodoItem, status: TodoStatus) -> None:
        if status == "in_progress":
            self._draft = changed(self._draft, TodoChange(op="start", tasks=(item.content,)))
        else:
            self._replace(item, msgspec.structs.replace(item, status=status, blocked=None))

    def _replace(self, item: TodoItem, other: TodoItem) -> None:
        self._draft = normalised(
            [
                msgspec.structs.replace(
                    phase, tasks=tuple(other if one.id == item.id else one for one in phase.tasks)
                )
                for phase in self._draft
            ]
        )


def _rows(phases: Phases) -> list[ListRow]:
    rows: list[ListRow] = []
    for phase in phases:
        rows.append(ListRow(id=f"phase {phase.id}", title=phase.name, is_heading=True))
        rows += map(_row, phase.tasks)
    return rows


def _row(item: TodoItem) -> ListRow:
    state = state_of(item)
    return ListRow(
        id=item.id,
        title=item.content,
        prefix=f"{GLYPHS[state]} ",
        tone=TONES[state],
        detail=f"waits for: {item.blocked}" if item.blocked else "",
    )


def _counted(phases: Phases) -> str:
    closed, total = closed_of(phases)
    return f"{closed} of {total} closed" if total else ""
