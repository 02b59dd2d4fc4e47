"""The todo list in phases with its text for the model, and the goal with its checks and its proof."""

from datetime import datetime
from typing import Literal

from app.values.wire import Wire

TodoStatus = Literal["pending", "in_progress", "completed", "abandoned"]
OPEN_STATUSES: tuple[TodoStatus, ...] = ("pending", "in_progress")
_BEGIN, _END = "\n\n<todo-list>\n", "\n</todo-list>"
_TODO_MARK_BY_STATUS = {"pending": " ", "in_progress": ">", "completed": "x", "abandoned": "-"}


class TodoItem(Wire, frozen=True, kw_only=True):
    """One item of the todo list."""

    content: str
    """The text of the item, which also identifies it."""
    status: TodoStatus = "pending"
    id: str = ""
    blocked: str | None = None
    """The reason why the item cannot be worked on; None if it can."""

    @property
    def is_open(self) -> bool:
        return self.status in OPEN_STATUSES


class TodoPhase(Wire, frozen=True, kw_only=True):
    """A named group of todo items."""

    name: str
    tasks: tuple[TodoItem, ...] = ()
    id: str = ""


Phases = tuple[TodoPhase, ...]


def todo_items_of_phases(phases: Phases) -> list[TodoItem]:
    return [item for phase in phases for item in phase.tasks]


def open_todo_items(phases: Phases) -> list[TodoItem]:
    return [item for item in todo_items_of_phases(phases) if item.is_open]


def count_closed_todos(phases: Phases) -> tuple[int, int]:
    """Returns the number of closed todo items and of all items."""
    total = len(todo_items_of_phases(phases))
    return total - len(open_todo_items(phases)), total


def current_todo_item(phases: Phases) -> TodoItem | None:
    """Returns the todo item that is in progress."""
    return next((item for item in todo_items_of_phases(phases) if item.status == "in_progress"), None)


def todos_text(phases: Phases) -> str:
    """Returns the whole todo list as text for the model."""
    if not phases:
        return "The list is empty."
    lines: list[str] = []
    for phase in phases:
        lines.append(f"{phase.name}:")
        lines += [_item_line(item) for item in phase.tasks]
    return "\n".join(lines)


def todo_progress_text(phases: Phases) -> str:
    """Returns the todo list's state after an operation as text: the progress, and all items of the current phase."""
    if not phases:
        return "The list is empty."
    closed, total = count_closed_todos(phases)
    if closed == total:
        return f"All {total} items are closed."
    current = current_todo_item(phases)
    at = next((phase for phase in phases if current in phase.tasks), None) or next(
        phase for phase in phases if any(item.is_open for item in phase.tasks)
    )
    elsewhere = total - closed - sum(item.is_open for item in at.tasks)
    lines = [f"{closed} of {total} closed. {at.name}:", *(_item_line(item) for item in at.tasks)]
    if elsewhere:
        lines.append(f"{elsewhere} more open in other phases.")
    return "\n".join(lines)


def _item_line(item: TodoItem) -> str:
    waits = f" (blocked: {item.blocked})" if item.blocked else ""
    return f"- [{_TODO_MARK_BY_STATUS[item.status]}] {item.content}{waits}"


def append_todo_list_to_summary(summary: str, phases: Phases) -> str:
    """Appends the todo list to a summary verbatim, replacing a list that an earlier summary had."""
    bare = remove_todo_list_from_summary(summary)
    return bare if not phases else f"{bare}{_BEGIN}{todos_text(phases)}{_END}"


def remove_todo_list_from_summary(summary: str) -> str:
    head, begin, rest = summary.rpartition(_BEGIN)
    if not begin or _END not in rest:
        return summary
    return head + rest.partition(_END)[2]


def todo_reminder_text(phases: Phases) -> str:
    left = open_todo_items(phases)
    return (
        f"{len(left)} {'items are' if len(left) > 1 else 'item is'} still open:\n"
        + "\n".join(_item_line(item) for item in left)
        + "\n\nGo on with them. If one is done, say so with the todo tool; if it cannot or need not be done, "
        "block or drop it with the reason. The user has read your answer: do not repeat it."
    )


# Goals

GOAL_ENTRY_TYPE = "bayou.goal"
GOAL_CHECK_MESSAGE_TYPE = "goal-check"
GOAL_CONTINUE_MESSAGE_TYPE = "goal-continue"
GOAL_SET_FIELD = "isSet"
"""The field that marks an entry as setting a goal; entries that only change the goal lack it."""
_GOAL_CHECK_CALL_ID_PREFIX = "goal-"

GoalStatus = Literal["active", "done", "blocked", "limit", "refused", "paused"]


def goal_check_call_id(name: str) -> str:
    """Returns the call id for the events of a goal's check; models never use such ids."""
    return f"{_GOAL_CHECK_CALL_ID_PREFIX}{name}"


def is_goal_check_call(call_id: str) -> bool:
    return call_id.startswith(_GOAL_CHECK_CALL_ID_PREFIX)


class GoalCheck(Wire, frozen=True, kw_only=True):
    """A command whose exit code 0 means that the goal, or one of its items, is done."""

    command: str
    name: str = ""
    """The text of the todo item that the command checks; empty for the whole goal."""


class CheckResult(Wire, frozen=True, kw_only=True):
    """The result of one command of a goal's check."""

    command: str
    name: str = ""
    exit_code: int | None = None
    """The exit code of the check's command; None: it was not run or did not end by itself, and `problem` says why."""
    seconds: float = 0.0
    problem: str = ""
    output: str = ""
    """The end of the command's output."""

    @property
    def has_passed(self) -> bool:
        return self.exit_code == 0 and not self.problem


class GoalProof(Wire, frozen=True, kw_only=True):
    """The last check of a goal: its results, and the state of the files."""

    at: str
    """The time at which the check ended."""
    results: tuple[CheckResult, ...]
    digest: str = ""
    """A digest of the contents of the workspace's files after the check; empty: they are not watched."""
    written: tuple[str, ...] = ()
    """Files of the workspace that changed while the check ran."""
    tampered: tuple[str, ...] = ()
    """Files that the check reads or names, and that changed since the goal was set."""
    is_unchanged: bool = False
    """Whether no file changed since the goal was set."""

    @property
    def at_clock(self) -> str:
        """The local time of day at which the check ended."""
        try:
            return datetime.fromisoformat(self.at).astimezone().strftime("%H:%M")
        except ValueError:
            return self.at

    @property
    def has_passed(self) -> bool:
        return bool(self.results) and all(one.has_passed for one in self.results)


class Goal(Wire, frozen=True, kw_only=True):
    """The user's goal, with its checks and their last result."""

    text: str
    checks: tuple[GoalCheck, ...]
    status: GoalStatus = "active"
    reason: str = ""
    """The reason why the goal is not being worked on; empty while it is."""
    failed: int = 0
    """The number of checks that failed since the goal was set or continued."""
    proof: GoalProof | None = None
    digest: str = ""
    """A digest of the contents of the workspace's files when the goal was set."""


class GoalView(Wire, frozen=True, kw_only=True):
    """A goal, and whether its proof still holds."""

    goal: Goal
    is_stale: bool = False
    """Whether a file of the workspace changed since the goal was found done."""
    changed: tuple[str, ...] = ()
    """The files that changed since the goal was found done, as far as they are known."""
    is_checking: bool = False
