"""Applies operations to a todo list, and makes a list of a plan. Pure: returns a new list or raises.

Items are named by their text, never by number. An open item stays in the list until it is completed or
dropped by name. One item is in progress at a time."""

from collections.abc import Callable, Sequence
from typing import Literal, assert_never

import msgspec

from app.values.todos import Phases, TodoItem, TodoPhase, TodoStatus, current_item, items_of, open_items
from app.values.user_errors import UserError
from tools.patterns import late
from tools.text import escape_controls

TodoOperation = Literal["set", "start", "done", "drop", "block", "add", "view"]
MAX_ITEMS = 200
MAX_ITEM_CHARS = 400
_MAX_NAMED_CHARS = 40
_DEFAULT_PHASE = "Todos"
_HEADING = late(r"#{1,6}\s+(.+?)\s*#*$")
_STEP = late(r"(?:\d{1,3}[.)]|[-*+])\s+(?:\[[ xX]\]\s+)?(.+)")
_EMPHASIS = late(r"(\*\*|__|`)")


class TodoRefused(UserError):
    """The operation is not possible; the text says why."""


class TodoChange(msgspec.Struct, frozen=True, kw_only=True):
    """One requested operation on the todo list."""

    op: TodoOperation
    phases: Sequence[tuple[str, Sequence[str]]] = ()
    """For `set`: phase names with the texts of their items."""
    tasks: Sequence[str] = ()
    """The texts of the items to change or to add."""
    phase: str | None = None
    note: str | None = None


def apply_todo_change(phases: Phases, change: TodoChange) -> Phases:
    """Applies the operation and returns the new list. Raises `TodoRefused`."""
    match change.op:
        case "view":
            return phases
        case "set":
            return _set(phases, change.phases)
        case "add":
            return _added(phases, change)
        case "start":
            name = _named_item(phases, change)
            paused = _marked(phases, lambda item: item.status == "in_progress", "pending")
            return _marked(paused, lambda item: item.content == name, "in_progress")
        case "done":
            return _closed(phases, change, "completed")
        case "drop":
            return _closed(phases, change, "abandoned")
        case "block":
            name = _named_item(phases, change)
            why = _text(change.note or "") or "blocked"
            return _going_on(_marked(phases, lambda item: item.content == name, "pending", why))
        case _:
            assert_never(change.op)


def normalise_phases(phases: Sequence[TodoPhase]) -> Phases:
    """Normalises a list from a program or a file: adds ids, makes texts single lines, and keeps one item in
    progress."""
    made: list[TodoPhase] = []
    seen: set[str] = set()
    ids: set[str] = set()
    has_current = False
    for number, phase in enumerate(phases, 1):
        tasks: list[TodoItem] = []
        for item in phase.tasks:
            content = _checked(item.content, seen)
            status: TodoStatus = item.status
            if status == "in_progress":
                status, has_current = ("pending" if has_current else status), True
            item_id = _unique_id(item.id, "task", len(seen), ids)
            tasks.append(msgspec.structs.replace(item, id=item_id, content=content, status=status))
        phase_id = _unique_id(phase.id, "phase", number, ids)
        name = _text(phase.name) or _DEFAULT_PHASE
        made.append(msgspec.structs.replace(phase, id=phase_id, name=name, tasks=tuple(tasks)))
    _require_item_limit(max(len(seen), len(made)))
    return tuple(made)


def _set(phases: Phases, wanted: Sequence[tuple[str, Sequence[str]]]) -> Phases:
    if not wanted:
        raise TodoRefused("set needs phases: [{name, tasks: [text, …]}].")
    known = {item.content: item for item in items_of(phases)}
    seen: set[str] = set()
    made: list[TodoPhase] = []
    for name, texts in wanted:
        tasks = [
            known.get(content) or TodoItem(content=content)
            for content in (_checked(text, seen) for text in texts)
        ]
        made.append(TodoPhase(name=_text(name) or _DEFAULT_PHASE, tasks=tuple(tasks)))
    gone = [item.content for item in open_items(phases) if item.content not in seen]
    if gone:
        raise TodoRefused(
            f"These open items are not in the new list: {_quoted(gone)}. Nothing was changed. Keep them word for word, "
            "or close each first with done or drop."
        )
    return _going_on(normalise_phases(made))


def _added(phases: Phases, change: TodoChange) -> Phases:
    if not change.tasks:
        raise TodoRefused("add needs task: what is to be done.")
    seen = {item.content for item in items_of(phases)}
    new = tuple(TodoItem(content=_checked(text, seen)) for text in change.tasks)
    name = _text(change.phase or "")
    at = _phase_for(phases, name)
    if at is None:
        return _going_on(normalise_phases((*phases, TodoPhase(name=name or _DEFAULT_PHASE, tasks=new))))
    grown = msgspec.structs.replace(phases[at], tasks=(*phases[at].tasks, *new))
    return _going_on(normalise_phases((*phases[:at], grown, *phases[at + 1 :])))


def _phase_for(phases: Phases, name: str) -> int | None:
    if name:
        return next((at for at, phase in enumerate(phases) if phase.name.casefold() == name.casefold()), None)
    current = current_item(phases)
    at = next((at for at, phase in enumerate(phases) if current in phase.tasks), None)
    return at if at is not None or not phases else len(phases) - 1


def _closed(phases: Phases, change: TodoChange, status: TodoStatus) -> Phases:
    names = {_found(phases, text) for text in change.tasks} or {_named_item(phases, change)}
    return _going_on(_marked(phases, lambda item: item.content in names, status))


def _named_item(phases: Phases, change: TodoChange) -> str:
    """Returns the text of the item that the operation names; without a name, of the item in progress."""
    if len(change.tasks) > 1:
        raise TodoRefused(f"{change.op} takes one task; these are {len(change.tasks)}.")
    if change.tasks:
        return _found(phases, change.tasks[0])
    current = current_item(phases)
    if current is None:
        raise TodoRefused(f"{change.op} needs task: nothing is in progress. {_listed(phases)}")
    return current.content


def _found(phases: Phases, text: str) -> str:
    """Returns the text of an item that equals `text` or begins with it."""
    wanted = _text(text).casefold()
    names = [item.content for item in items_of(phases)]
    exact = [name for name in names if name.casefold() == wanted]
    begun = [name for name in names if wanted and name.casefold().startswith(wanted)]
    if exact or len(begun) == 1:
        return (exact or begun)[0]
    if begun:
        raise TodoRefused(
            f"“{_text(text)}” is the beginning of several items: {_quoted(begun)}. Give more of the text."
        )
    raise TodoRefused(f"There is no item “{_text(text)}”. Nothing was changed. {_listed(phases)}")


def _going_on(phases: Phases) -> Phases:
    """Sets the next open item that is not blocked in progress, unless an item is."""
    if current_item(phases) is not None:
        return phases
    ready = next((item for item in open_items(phases) if item.blocked is None), None)
    if ready is None:
        return phases
    return _marked(phases, lambda item: item is ready, "in_progress")


def _marked(
    phases: Phases, is_meant: Callable[[TodoItem], bool], status: TodoStatus, blocked: str | None = None
) -> Phases:
    """Returns the list with another status for the items that `is_meant` selects."""

    def marked(item: TodoItem) -> TodoItem:
        return msgspec.structs.replace(item, status=status, blocked=blocked) if is_meant(item) else item

    return tuple(msgspec.structs.replace(phase, tasks=tuple(map(marked, phase.tasks))) for phase in phases)


def _checked(text: str, seen: set[str]) -> str:
    content = _text(text)
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
    if count > MAX_ITEMS:
        raise TodoRefused(
            f"A list has {MAX_ITEMS} items and phases at most. Nothing was changed. Make one of what belongs together."
        )


def _unique_id(given: str, kind: str, number: int, taken: set[str]) -> str:
    wanted = given or f"{kind}-{number}"
    while wanted in taken:
        number += 1
        wanted = f"{kind}-{number}"
    taken.add(wanted)
    return wanted


def _text(text: str) -> str:
    return " ".join(escape_controls(text).split())[:MAX_ITEM_CHARS]


def _quoted(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MAX_NAMED_CHARS} more" if len(names) > _MAX_NAMED_CHARS else ""
    return ", ".join(f"“{name}”" for name in names[:_MAX_NAMED_CHARS]) + more


def _listed(phases: Phases) -> str:
    names = [item.content for item in open_items(phases)]
    return f"Open items: {_quoted(names)}." if names else "There are no open items."


def phases_from_plan(title: str, plan: str) -> Phases:
    """Returns a list of the plan's top-level items, grouped by heading; empty if the plan has none."""
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
        elif heading := _HEADING.fullmatch(line):
            close()
            name = _plain(heading[1])
        elif step := _STEP.match(line):
            text = _plain(step[1])
            if text and text not in seen and len(seen) < MAX_ITEMS:
                seen.add(text)
                texts.append(text)
    close()
    try:
        return normalise_phases(phases)
    except TodoRefused:
        return ()


def _plain(text: str) -> str:
    return " ".join(_EMPHASIS.sub("", text).split())[:MAX_ITEM_CHARS]
