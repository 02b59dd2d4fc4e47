"""The todo list above the editor: the current phase in a few rows, or one line when folded.

It never takes the focus; `/todos` edits the list."""

from collections.abc import Callable, Sequence
from typing import ClassVar, Literal

import msgspec
from textual.strip import Strip
from textual.widget import Widget

from app.engine.session import Session
from app.values.todos import Phases, TodoItem, TodoPhase, count_closed_todos, current_todo_item
from widgets.key_labels import split_key_hints
from widgets.row_builder import RIGHT_MARGIN_CELLS, RowBuilder, cells, clean_single_line

TodoState = Literal["pending", "current", "done", "dropped", "blocked"]
MAX_TODO_ROWS = 5
"""The maximum number of rows, including the heading."""
TODO_STATE_GLYPHS: dict[TodoState, str] = {
    "pending": "○",
    "current": "◐",
    "done": "✓",
    "dropped": "–",
    "blocked": "‖",
}
TODO_STATE_TONES: dict[TodoState, Literal["text", "accent", "dim", "warning"]] = {
    "pending": "text",
    "current": "accent",
    "done": "dim",
    "dropped": "dim",
    "blocked": "warning",
}
"""The colour of an item by its state."""


class TodoRow(msgspec.Struct, frozen=True, kw_only=True):
    """An item of the todo list above the editor."""

    text: str
    state: TodoState = "pending"


class TodoListHeading(msgspec.Struct, frozen=True, kw_only=True):
    """The heading of the todo list above the editor: the current phase and the progress of the whole list."""

    phase: str = ""
    closed_items: int = 0
    total: int = 0


class TodoView(Widget):
    """The widget that draws the todo list above the editor."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "todos--head",
        "todos--count",
        "todos--current",
        "todos--text",
        "todos--closed",
        "todos--hint",
        "todos--key",
        "todos--blocked",
    }
    DEFAULT_CSS = "TodoView { height: 0; }"

    def __init__(self, hint: Callable[[], str]) -> None:
        """Creates an empty list. `hint`: returns the key that folds the list."""
        super().__init__(id="todos")
        self.hint = hint
        self.heading = TodoListHeading()
        self.rows: tuple[TodoRow, ...] = ()
        self.is_folded = self.is_hidden = False
        self.display = False

    def show(self, head: TodoListHeading, rows: Sequence[TodoRow]) -> None:
        """Shows a phase of the todo list above the editor; without items the widget is hidden."""
        if (head, tuple(rows)) != (self.heading, self.rows):
            self.heading, self.rows = head, tuple(rows)
            self._fit()

    def toggle_todo_list_fold(self) -> None:
        """Folds the list to one line, or unfolds it."""
        self.is_folded = not self.is_folded
        self._fit()

    def set_hidden(self, *, is_hidden: bool) -> None:
        self.is_hidden = is_hidden
        self._fit()

    def _fit(self) -> None:
        height = 0 if not self.rows else 1 if self.is_folded else min(len(self.rows) + 1, MAX_TODO_ROWS)
        if self.styles.height is None or self.styles.height.value != height:
            self.styles.height = height
        self.display = bool(self.rows) and not self.is_hidden
        self.refresh()

    def render_line(self, y: int) -> Strip:
        line = RowBuilder(self.size.width, self.rich_style, edge=RIGHT_MARGIN_CELLS)
        if y == 0:
            return self._head_line(line.pad(2))
        shown = self._visible_items()
        row = shown[y - 1] if y <= len(shown) else None
        if row is None:
            return line.strip()
        name = {"current": "current", "done": "closed", "dropped": "closed", "blocked": "blocked"}.get(
            row.state, "text"
        )
        style = self.get_component_rich_style(f"todos--{name}")
        return (
            line.add(f"{TODO_STATE_GLYPHS[row.state]} ", style)
            .add(clean_single_line(row.text), style)
            .strip()
        )

    def _head_line(self, line: RowBuilder) -> Strip:
        head, count = (
            self.get_component_rich_style("todos--head"),
            self.get_component_rich_style("todos--count"),
        )
        line.add(clean_single_line(self.heading.phase), head).add(
            f"  {self.heading.closed_items}/{self.heading.total}", count
        )
        now = next((row for row in self.rows if row.state == "current"), None)
        if self.is_folded and now is not None:
            line.add(
                f"  {TODO_STATE_GLYPHS['current']} {clean_single_line(now.text)}",
                self.get_component_rich_style("todos--current"),
            )
        elif (told := self.hint()) and cells(self.heading.phase) + cells(told) + 14 < self.size.width:
            hint, key = map(self.get_component_rich_style, ("todos--hint", "todos--key"))
            line.add("  ")
            for piece, is_key in split_key_hints(told):
                line.add(piece, key if is_key else hint)
        return line.strip()

    def _visible_items(self) -> Sequence[TodoRow]:
        """Returns the items of the phase that have room: the item before the current one, the current one, and those
        after it."""
        room = MAX_TODO_ROWS - 1
        if len(self.rows) <= room:
            return self.rows
        open_at = next((at for at, row in enumerate(self.rows) if row.state not in ("done", "dropped")), 0)
        at = next((at for at, row in enumerate(self.rows) if row.state == "current"), open_at)
        first = max(0, min(at - 1, len(self.rows) - room))
        return self.rows[first : first + room]


class TodoListUpdater:
    """Updates the todo list above the editor from one session."""

    def __init__(self, session: Session, hint: Callable[[], str]) -> None:
        self._session = session
        self.view = TodoView(hint)
        self._shown: Phases | None = None

    def show(self) -> None:
        """Updates the todo list above the editor; does nothing if the list is unchanged."""
        phases = self._session.todos.phases
        if phases is self._shown:
            return
        self._shown = phases
        at = current_todo_phase(phases)
        closed, total = count_closed_todos(phases)
        head = TodoListHeading(phase=at.name if at else "", closed_items=closed, total=total)
        self.view.show(
            head, [TodoRow(text=item.content, state=todo_state(item)) for item in at.tasks] if at else []
        )

    def fold(self) -> None:
        self.view.toggle_todo_list_fold()

    def hide_while_in_side_panel(self, is_elsewhere: bool) -> None:
        """Hides the list above the editor while the side panel shows it."""
        self.view.set_hidden(is_hidden=is_elsewhere)


def current_todo_phase(phases: Phases) -> TodoPhase | None:
    """Returns the todo list's phase with the current item, else the first with an open item, else the last with items;
    None if there is none."""
    current = current_todo_item(phases)
    holding = (phase for phase in phases if current is not None and current in phase.tasks)
    open_ones = (phase for phase in phases if any(item.is_open for item in phase.tasks))
    return (
        next(holding, None)
        or next(open_ones, None)
        or next((phase for phase in reversed(phases) if phase.tasks), None)
    )


def todo_state(item: TodoItem) -> TodoState:
    if item.status == "in_progress":
        return "current"
    if item.status == "pending":
        return "blocked" if item.blocked else "pending"
    return "done" if item.status == "completed" else "dropped"
