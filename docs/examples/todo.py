"""A todo list that the model keeps with a tool and the person sees above the editor and with `/todos`.

The list lives in the session's entries, so it follows resume, fork and going back in the tree. When a compaction takes
it out of the conversation, it goes into the system prompt, so that the agent never loses its plan.
"""

from typing import Literal

import msgspec

from bayou import (
    Card,
    CommandContext,
    CompactionEntry,
    Context,
    CustomEntry,
    ExtensionApi,
    ListBlock,
    ToolCallContext,
    ToolResult,
    View,
    text_result,
)

ENTRY = "todo-list"
MARKS = {"open": "☐", "doing": "▶", "done": "☑"}


class Item(msgspec.Struct, frozen=True, kw_only=True):
    text: str
    state: Literal["open", "doing", "done"] = "open"


class Arguments(msgspec.Struct, frozen=True, kw_only=True):
    items: tuple[Item, ...]
    """The whole list, in order."""


def extension(api: ExtensionApi) -> None:
    def current(context: Context) -> tuple[Item, ...]:
        lists = [
            entry.data
            for entry in context.session.branch()
            if isinstance(entry, CustomEntry) and entry.custom_type == ENTRY
        ]
        return msgspec.convert(lists[-1], tuple[Item, ...]) if lists else ()

    def keep_in_force(context: Context, is_compacting: bool = False) -> None:
        is_summarised = is_compacting
        for entry in context.session.branch():
            if isinstance(entry, CustomEntry) and entry.custom_type == ENTRY:
                is_summarised = is_compacting
            elif isinstance(entry, CompactionEntry):
                is_summarised = True
        items = current(context)
        if is_summarised and items:
            context.prompt_sections[ENTRY] = "\n".join(lines(items))
        else:
            context.prompt_sections.pop(ENTRY, None)

    def show(context: Context) -> None:
        items = current(context)
        is_over = all(item.state == "done" for item in items)
        context.ui.set_widget("todo", None if is_over else view(items))

    @api.tool(
        "todo",
        "Keep a list of what is to do. Give the whole list each time.",
        arguments=Arguments,
        snippet="Keep a list of what is to do",
        guidelines=("For work of more than three steps, keep a todo list and mark what is done.",),
        show=lambda arguments, result: Card(title="todo", summary=str(len(arguments.get("items", ())))),
    )
    async def todo(arguments: Arguments, context: ToolCallContext) -> ToolResult:
        await api.append_entry(ENTRY, msgspec.to_builtins(arguments.items))
        show(context)
        keep_in_force(context)
        left = sum(item.state != "done" for item in arguments.items)
        return text_result(f"Noted: {len(arguments.items)} items, {left} left.")

    @api.command("todos", description="Shows the todo list")
    def todos(arguments: str, context: CommandContext) -> None:
        items = current(context)
        context.ui.notify("\n".join(lines(items)) if items else "The todo list is empty.")

    def here_anew(payload: object, context: Context) -> None:
        show(context)
        keep_in_force(context)

    for event in ("session_start", "session_tree", "session_replaced"):
        api.on(event, here_anew)
    api.on("session_before_compact", lambda payload, context: keep_in_force(context, is_compacting=True))
    for event in ("session_compact_failed", "before_agent_start"):
        api.on(event, lambda payload, context: keep_in_force(context))


def lines(items: tuple[Item, ...]) -> tuple[str, ...]:
    return tuple(f"{MARKS[item.state]} {item.text}" for item in items)


def view(items: tuple[Item, ...]) -> View:
    done = sum(item.state == "done" for item in items)
    return View(
        title="todo", summary=f"{done}/{len(items)}", body=(ListBlock(items=lines(items)),), collapsed_lines=5
    )
