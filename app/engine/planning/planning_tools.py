"""The tools `todo`, with which the model updates its list, and `propose_plan`, which ends plan mode if the user
agrees."""

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any, cast

import msgspec

from app.engine.planning.plan_mode import PLAN_TOOL_NAME, ProposedPlanOutcome
from app.engine.planning.todo_changes import TodoChange, TodoOperation, TodoRefused
from app.values.todos import Phases, open_todo_items, todo_items_of_phases, todo_progress_text, todos_text
from tools.argument_schema import make_arguments_schema
from tools.text_sanitizing import one_line
from tools.tool_definition import Tool, ToolContext, ToolError, declare_no_effects
from tools.tool_result_values import Card, MarkdownBlock, TextBlock, ToolResult, text_result

_TODO_OPERATION_ALIASES = {"init": "set", "append": "add", "rm": "drop", "unblock": "start", "list": "view"}
"""Names of todo operations in other agents, with bayou's name of each."""


class TodoPhaseArguments(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    tasks: tuple[str, ...]


class TodoArguments(msgspec.Struct, frozen=True, kw_only=True):
    op: TodoOperation
    phases: Annotated[tuple[TodoPhaseArguments, ...] | None, msgspec.Meta(description="For set")] = None
    task: Annotated[
        str | None,
        msgspec.Meta(description="The item's text, or its beginning; default: the one in progress"),
    ] = None
    tasks: Annotated[tuple[str, ...] | None, msgspec.Meta(description="Several, for add, done and drop")] = (
        None
    )
    phase: Annotated[str | None, msgspec.Meta(description="For add")] = None
    note: Annotated[str | None, msgspec.Meta(description="For block: what it waits for")] = None


def make_todo_tool(list_now: Callable[[], Phases], change: Callable[[TodoChange], Awaitable[Phases]]) -> Tool:
    async def run(arguments: TodoArguments, context: ToolContext) -> ToolResult:
        asked = TodoChange(
            op=arguments.op,
            phases=[(phase.name, phase.tasks) for phase in arguments.phases or ()],
            tasks=(*((arguments.task,) if arguments.task else ()), *(arguments.tasks or ())),
            phase=arguments.phase,
            note=arguments.note,
        )
        before = list_now()
        try:
            phases = await change(asked)
        except TodoRefused as problem:
            raise ToolError(str(problem)) from None
        text = todos_text(phases) if arguments.op in ("set", "view") else todo_progress_text(phases)
        return text_result(text, details={"changed": _changed_items(before, phases)})

    return Tool(
        name="todo",
        description=(
            "Keep a list for work of three or more steps; the person sees it. set: the whole list once, in phases. "
            "Then single operations: done closes an item and starts the next; start, drop, add; block with what it "
            "waits for. Close items as soon as they are done. No list for what takes one step."
        ),
        schema=make_arguments_schema(TodoArguments),
        arguments=TodoArguments,
        effects=declare_no_effects,
        kind="think",
        is_for_helpers=False,
        prepare=_repair_arguments,
        run=run,
        show=_todo_card,
        snippet="Keep a list of what is to be done",
        mode="sequential",
        is_read_only=True,
    )


def _changed_items(before: Phases, after: Phases) -> list[str]:
    """Returns the todo items that a change closed, or else the new and newly blocked ones, for the user."""
    was_open = {item.content for item in open_todo_items(before)}
    closed = [
        item.content for item in todo_items_of_phases(after) if not item.is_open and item.content in was_open
    ]
    known = {item.content: item.blocked for item in todo_items_of_phases(before)}
    came = [item.content for item in todo_items_of_phases(after) if item.content not in known]
    return (
        closed
        or came
        or [item.content for item in todo_items_of_phases(after) if item.blocked and not known[item.content]]
    )


def _repair_arguments(arguments: dict[str, Any]) -> dict[str, Any]:
    """Accepts other names of todo operations, lists as JSON text, and items as objects."""
    mended = dict(arguments)
    op = mended.get("op") or mended.pop("operation", None) or mended.pop("action", None)
    if op is not None:
        mended["op"] = _TODO_OPERATION_ALIASES.get(op, op) if isinstance(op, str) else op
    phases, tasks = _parse_list(mended.get("phases")), _parse_list(mended.get("tasks"))
    if phases is not None:
        mended["phases"] = [_repair_phase(phase) for phase in phases]
    if tasks is not None and mended.get("op") == "set" and not phases:
        name = mended.pop("phase", None) or "Todos"
        mended["phases"] = [{"name": name, "tasks": [_repair_item(item) for item in tasks]}]
        del mended["tasks"]
    elif tasks is not None:
        mended["tasks"] = [_repair_item(item) for item in tasks]
    return mended


def _parse_list(value: Any) -> list[Any] | None:
    """Returns the value as a list, also if it is JSON text; None if it is no list, so that it will be refused."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return None
    return cast(list[Any], value) if isinstance(value, list) else None


def _repair_phase(phase: Any) -> Any:
    if not isinstance(phase, dict):
        return phase
    given = cast(dict[str, Any], phase)
    tasks = given.get("tasks", given.get("items"))
    items = _parse_list(tasks)
    return {
        "name": given.get("name", "Todos"),
        "tasks": tasks if items is None else [_repair_item(item) for item in items],
    }


def _repair_item(item: Any) -> Any:
    if not isinstance(item, dict):
        return item
    given = cast(dict[str, Any], item)
    return next((given[key] for key in ("content", "text", "task", "title") if key in given), given)


def _todo_card(arguments: Mapping[str, Any], result: ToolResult | None) -> Card:
    op = arguments.get("op")
    names: list[Any] = (result.details or {}).get("changed", []) if result is not None else []
    if op == "set" and names:
        named = f"{len(names)} item{'s' if len(names) > 1 else ''}"
    else:
        named = ", ".join(map(str, names)) or arguments.get("task")
    subject = " ".join(str(word) for word in (op, named) if word)
    blocks = (TextBlock(text=result.text),) if result and result.text else ()
    return Card(title="todo", subject=" ".join(subject.split()), blocks=blocks)


class ProposePlanArguments(msgspec.Struct, frozen=True, kw_only=True):
    title: Annotated[str, msgspec.Meta(description="A few words")]
    plan: Annotated[str, msgspec.Meta(description="Markdown: numbered steps, files, how it is checked")]


def make_propose_plan_tool(propose: Callable[[str, str], Awaitable[ProposedPlanOutcome]]) -> Tool:
    async def run(arguments: ProposePlanArguments, context: ToolContext) -> ToolResult:
        if not arguments.plan.strip():
            raise ToolError("The plan is empty. Write its steps.")
        outcome = await propose(one_line(arguments.title.strip()) or "Plan", arguments.plan)
        return msgspec.structs.replace(text_result(outcome.text), terminate=outcome.should_end_run)

    return Tool(
        name=PLAN_TOOL_NAME,
        description="Propose the whole plan to the user, who accepts it, changes it, or says what is wrong with it.",
        schema=make_arguments_schema(ProposePlanArguments),
        arguments=ProposePlanArguments,
        effects=declare_no_effects,
        kind="think",
        is_for_helpers=False,
        run=run,
        show=_plan_card,
        mode="sequential",
        is_read_only=True,
    )


def _plan_card(arguments: Mapping[str, Any], result: ToolResult | None) -> Card:
    plan = arguments.get("plan")
    blocks = (MarkdownBlock(text=plan),) if isinstance(plan, str) and plan else ()
    return Card(title="plan", subject=one_line(str(arguments.get("title", ""))), blocks=blocks)
