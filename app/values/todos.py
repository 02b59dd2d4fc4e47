"""What is still to be done, as a list in phases: the wire form that programs read and set."""

from typing import Literal

from app.values.wire import Wire

TodoStatus = Literal["pending", "in_progress", "completed", "abandoned"]
OPEN: tuple[TodoStatus, ...] = ("pending", "in_progress")


class TodoItem(Wire, frozen=True, kw_only=True):
    content: str
    """What the item is called, too."""
    status: TodoStatus = "pending"
    id: str = ""
    blocked: str | None = None
    """What it waits for."""

    @property
    def is_open(self) -> bool:
        return self.status in OPEN


class TodoPhase(Wire, frozen=True, kw_only=True):
    name: str
    tasks: tuple[TodoItem, ...] = ()
    id: str = ""


Phases = tuple[TodoPhase, ...]


def items_of(phases: Phases) -> list[TodoItem]:
    return [item for phase in phases for item in phase.tasks]


def open_items(phases: Phases) -> list[TodoItem]:
    return [item for item in items_of(phases) if item.is_open]


def closed_of(phases: Phases) -> tuple[int, int]:
    """How many items are closed, and of how many."""
    total = len(items_of(phases))
    return total - len(open_items(phases)), total


def current_of(phases: Phases) -> TodoItem | None:
    """What is being done."""
    return next((item for item in items_of(phases) if item.status == "in_progress"), None)
