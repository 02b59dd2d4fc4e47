"""Applies operations to a todo list, and makes a todo list of a plan. Pure: returns a new list or raises. Items
are named by their text, never by number. An open item stays in the list until it is completed or dropped by
name. One item is in progress at a time."""

from collections.abc import Callable, Sequence
from typing import Literal, assert_never

import msgspec

from app.values.todos import (
    Phases,
    TodoItem,
    TodoPhase,
    TodoStatus,
    current_todo_item,
    open_todo_items,
    todo_items_of_phases,
)
from app.values.user_errors import UserError
from tools.lazy_patterns import lazy_regex
from tools.text_sanitizing import escape_controls

TodoOperation = Literal["set", "start", "done", "drop", "block", "add", "view"]
MAX_TODO_ITEMS = 200
MAX_TODO_ITEM_CHARS = 400
_MAX_QUOTED_TODO_NAMES = 40
_DEFAULT_TODO_PHASE_NAME = "Todos"
_PLAN_HEADING_PATTERN = lazy_regex(r"#{1,6}\s+(.+?)\s*#*$")
_PLAN_LIST_ITEM_PATTERN = lazy_regex(r"(?:\d{1,3}[.)]|[-*+])\s+(?:\[[ xX]\]\s+)?(.+)")
_MARKDOWN_EMPHASIS_PATTERN = lazy_regex(r"(\*\*|__|`)")


class TodoRefused(UserError):
    """Raised if an operation on the todo list is not possible; the text says why."""


class TodoChange(msgspec.Struct, frozen=True, kw_only=True):
    """One requested operation on the todo list."""

    op: TodoOperation
    phases: Sequence[tuple[str, Sequence[str]]] = ()
    """The phases for the operation `set`: their names with the texts of their items."""
    tasks: Sequence[str] = ()
    """The texts of the items to change or to add."""
    phase: str | None = None
    note: str | None = None


def apply_todo_change(phases: Phases, change: TodoChange) -> Phases:
    """Applies an operation to a todo list and returns the new list. Raises `TodoRefused`."""
    match change.op:
        case "view":
            return phases
        case "set":
            return _set_phases(phases, change.phases)
        case "add":
            return _add_items(phases, change)
        case "start":
            name = _find_item_of_operation(phases, change)
            paused = _set_item_status(phases, lambda item: item.status == "in_progress", "pending")
            return _set_item_status(paused, lambda item: item.content == name, "in_progress")
        case "done":
            return _close_items(phases, change, "completed")
        case "drop":
            return _close_items(phases, change, "abandoned")
        case "block":
            name = _find_item_of_operation(phases, change)
            why = _one_line_text(change.note or "") or "blocked"
            return _start_next_item(
                _set_item_status(phases, lambda item: item.content == name, "pending", why)
            )
        case _:
            assert_never(change.op)


def normalise_todo_phases(phases: Sequence[TodoPhase]) -> Phases:
    """Normalises a todo list from a program or a file: adds ids, makes texts single lines, and leaves one item
    in progress."""
    made: list[TodoPhase] = []
    seen: set[str] = set()
    ids: set[str] = set()
    has_current = False
    for number, phase in enumerate(phases, 1):
        tasks: list[TodoItem] = []
        for item in phase.tasks:
            content = _checked_item_text(item.content, seen)
            status: TodoStatus = item.status
            if status == "in_progress":
                status, has_current = ("pending" if has_current else status), True
            item_id = _unique_id(item.id, "task", len(seen), ids)
            tasks.append(msgspec.structs.replace(item, id=item_id, content=content, status=status))
        phase_id = _unique_id(phase.id, "phase", number, ids)
        name = _one_line_text(phase.name) or _DEFAULT_TODO_PHASE_NAME
        made.append(msgspec.structs.replace(phase, id=phase_id, name=name, tasks=tuple(tasks)))
    _require_item_limit(max(len(seen), len(made)))
    return tuple(made)


def _set_phases(phases: Phases, wanted: Sequence[tuple[str, Sequence[str]]]) -> Phases:
    if not wanted:
        raise TodoRefused("set needs phases: [{name, tasks: [text, …]}].")
    known = {item.content: item for item in todo_items_of_phases(phases)}
    seen: set[str] = set()
    made: list[TodoPhase] = []
    for name, texts in wanted:
        tasks = [
            known.get(content) or TodoItem(content=content)
            for content in (_checked_item_text(text, seen) for text in texts)
        ]
        made.append(TodoPhase(name=_one_line_text(name) or _DEFAULT_TODO_PHASE_NAME, tasks=tuple(tasks)))
    gone = [item.content for item in open_todo_items(phases) if item.content not in seen]
    if gone:
        raise TodoRefused(
            f"These open items are not in the new list: {_quote_names(gone)}. Nothing was changed. "
            "Keep them word for word, "
            "or close each first with done or drop."
        )
    return _start_next_item(normalise_todo_phases(made))


def _add_items(phases: Phases, change: TodoChange) -> Phases:
    if not change.tasks:
        raise TodoRefused("add needs task: the text of the new item.")
    seen = {item.content for item in todo_items_of_phases(phases)}
    new = tuple(TodoItem(content=_checked_item_text(text, seen)) for text in change.tasks)
    name = _one_line_text(change.phase or "")
    at = _find_phase_index(phases, name)
    if at is None:
        return _start_next_item(
            normalise_todo_phases((*phases, TodoPhase(name=name or _DEFAULT_TODO_PHASE_NAME, tasks=new)))
        )
    grown = msgspec.structs.replace(phases[at], tasks=(*phases[at].tasks, *new))
    return _start_next_item(normalise_todo_phases((*phases[:at], grown, *phases[at + 1 :])))


def _find_phase_index(phases: Phases, name: str) -> int | None:
    if name:
        return next((at for at, phase in enumerate(phases) if phase.name.casefold() == name.casefold()), None)
    current = current_todo_item(phases)
    at = next((at for at, phase in enumerate(phases) if current in phase.tasks), None)
    return at if at is not None or not phases else len(phases) - 1


def _close_items(phases: Phases, change: TodoChange, status: TodoStatus) -> Phases:
    names = {_find_item(phases, text) for text in change.tasks} or {_find_item_of_operation(phases, change)}
    return _start_next_item(_set_item_status(phases, lambda item: item.content in names, status))


def _find_item_of_operation(phases: Phases, change: TodoChange) -> str:
    """Returns the text of the todo item that the operation names; without a name, of the item in progress."""
    if len(change.tasks) > 1:
        raise TodoRefused(f"{change.op} takes one task; these are {len(change.tasks)}.")
    if change.tasks:
        return _find_item(phases, change.tasks[0])
    current = current_todo_item(phases)
    if current is None:
        raise TodoRefused(f"{change.op} needs task: nothing is in progress. {_open_items_text(phases)}")
    return current.content


def _find_item(phases: Phases, text: str) -> str:
    """Returns the text of the todo item that equals `text` or begins with it."""
    wanted = _one_line_text(text).casefold()
    names = [item.content for item in todo_items_of_phases(phases)]
    exact = [name for name in names if name.casefold() == wanted]
    begun = [name for name in names if wanted and name.casefold().startswith(wanted)]
    if exact or len(begun) == 1:
        return (exact or begun)[0]
    if begun:
        raise TodoRefused(
            f"“{_one_line_text(text)}” matches the beginning of several items: {_quote_names(begun)}. Give more of "
            f"the text."
        )
    raise TodoRefused(
        f"There is no item “{_one_line_text(text)}”. Nothing was changed. {_open_items_text(phases)}"
    )


def _start_next_item(phases: Phases) -> Phases:
    """Sets the next open todo item that is not blocked in progress, unless an item is."""
    if current_todo_item(phases) is not None:
        return phases
    ready = next((item for item in open_todo_items(phases) if item.blocked is None), None)
    if ready is None:
        return phases
    return _set_item_status(phases, lambda item: item is ready, "in_progress")


def _set_item_status(
    phases: Phases, is_meant: Callable[[TodoItem], bool], status: TodoStatus, blocked: str | None = None
) -> Phases:
    """Returns the todo list with another status for the items that `is_meant` selects."""

    def marked(item: TodoItem) -> TodoItem:
        return msgspec.structs.replace(item, status=status, blocked=blocked) if is_meant(item) else item

    return tuple(msgspec.structs.replace(phase, tasks=tuple(map(marked, phase.tasks))) for phase in phases)


def _checked_item_text(text: str, seen: set[str]) -> str:
    content = _one_line_text(text)
    if not content:
        raise TodoRefused("An item has no text. Nothing was changed.")
    if content in seen:
        raise TodoRefused(
            f"“{content}” would be in the list twice. Nothing was changed. Give each item its own text."
        )
    seen.add(content)
    _require_item_limit(len(seen))
    return content


def _require_item_limit(count: int) -> None:
    if count > MAX_TODO_ITEMS:
        raise TodoRefused(
            f"A list has at most {MAX_TODO_ITEMS} items and phases. Nothing was changed. Combine items that "
            f"belong together."
        )


def _unique_id(given: str, kind: str, number: int, taken: set[str]) -> str:
    wanted = given or f"{kind}-{number}"
    while wanted in taken:
        number += 1
        wanted = f"{kind}-{number}"
    taken.add(wanted)
    return wanted


def _one_line_text(text: str) -> str:
    return " ".join(escape_controls(text).split())[:MAX_TODO_ITEM_CHARS]


def _quote_names(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MAX_QUOTED_TODO_NAMES} more" if len(names) > _MAX_QUOTED_TODO_NAMES else ""
    return ", ".join(f"“{name}”" for name in names[:_MAX_QUOTED_TODO_NAMES]) + more


def _open_items_text(phases: Phases) -> str:
    names = [item.content for item in open_todo_items(phases)]
    return f"Open items: {_quote_names(names)}." if names else "There are no open items."


def todo_phases_from_plan(title: str, plan: str) -> Phases:
    """Makes a todo list of a plan's top-level items, grouped by heading; empty if the plan has none."""
    phases: list[TodoPhase] = []
    name, texts = title, list[str]()
    seen: set[str] = set()
    is_code = False

    def close() -> None:
        if texts:
            phases.append(TodoPhase(name=name, tasks=tuple(TodoItem(content=text) for text in texts)))
            texts.clear()

    for line in plan.splitlines():
        if line.startswith(("```", "~~~")):
            is_code = not is_code
        elif is_code:
            continue
        elif heading := _PLAN_HEADING_PATTERN.fullmatch(line):
            close()
            name = _remove_emphasis(heading[1])
        elif step := _PLAN_LIST_ITEM_PATTERN.match(line):
            text = _remove_emphasis(step[1])
            if text and text not in seen and len(seen) < MAX_TODO_ITEMS:
                seen.add(text)
                texts.append(text)
    close()
    try:
        return normalise_todo_phases(phases)
    except TodoRefused:
        return ()


def _remove_emphasis(text: str) -> str:
    return " ".join(_MARKDOWN_EMPHASIS_PATTERN.sub("", text).split())[:MAX_TODO_ITEM_CHARS]
