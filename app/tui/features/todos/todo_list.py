"""The list of todos above the editor: the phase that is being worked on, as the session has it."""

from app.engine.session import Session
from app.values.todos import Phases, TodoItem, TodoPhase, closed_of, current_of
from widgets.status.todos import TodoHead, TodoRow, TodoState, TodoView


class TodoList:
    """Shows the list of one session in one view."""

    def __init__(self, session: Session, view: TodoView) -> None:
        self._session = session
        self._view = view
        self._shown: Phases | None = None

    def show(self) -> None:
        """Costs nothing while the list is the same."""
        phases = self._session.todos.phases
        if phases is self._shown:
            return
        self._shown = phases
        at = phase_at_hand(phases)
        closed, total = closed_of(phases)
        head = TodoHead(phase=at.name if at else "", closed=closed, total=total)
        self._view.show(
            head, [TodoRow(text=item.content, state=state_of(item)) for item in at.tasks] if at else []
        )

    def fold(self) -> None:
        self._view.fold()

    def stand_elsewhere(self, is_elsewhere: bool) -> None:
        """While all of the list stands beside the transcript, none of it stands above the editor."""
        self._view.hide(is_hidden=is_elsewhere)


def phase_at_hand(phases: Phases) -> TodoPhase | None:
    """Where the work is: that of the current item, else the first with something open, else the last."""
    current = current_of(phases)
    holding = (phase for phase in phases if current is not None and current in phase.tasks)
    open_ones = (phase for phase in phases if any(item.is_open for item in phase.tasks))
    return (
        next(holding, None)
        or next(open_ones, None)
        or next((phase for phase in reversed(phases) if phase.tasks), None)
    )


def state_of(item: TodoItem) -> TodoState:
    if item.status == "in_progress":
        return "current"
    if item.status == "pending":
        return "blocked" if item.blocked else "pending"
    return "done" if item.status == "completed" else "dropped"
