"""Projects the path from the root to the leaf to the messages that the model reads. Pure; reads no file.

The last compaction on the path replaces everything before it but the entries it kept; context edits
drop an entry or replace its content; system messages are merged in order. Results of one assistant
message are in the order of its calls, however they were recorded."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, assert_never

import msgspec

from app.values.content import AssistantContent, Text, UserContent
from app.values.entries import (
    BranchSummaryEntry,
    CompactionEntry,
    ContextEditEntry,
    CustomMessageEntry,
    Entry,
    MessageEntry,
    ModelChangeEntry,
    ThinkingLevelChangeEntry,
)
from app.values.messages import (
    AssistantMessage,
    BashExecutionMessage,
    BranchSummaryMessage,
    CompactionSummaryMessage,
    CustomMessage,
    Message,
    SystemMessage,
    ToolDeclaration,
    ToolResultMessage,
    UnknownMessage,
    UserMessage,
)
from app.values.wire import from_wire

UserParts = tuple[UserContent, ...]
AssistantParts = tuple[AssistantContent, ...]


class SystemPromptState(msgspec.Struct, frozen=True, kw_only=True):
    """The prompt sections and tools that result from all system messages in the context."""

    sections: dict[str, str] = {}
    tools: tuple[ToolDeclaration, ...] = ()


class ProjectedContext(msgspec.Struct, frozen=True, kw_only=True):
    messages: tuple[Message, ...] = ()
    """The messages that the model reads, with the ids of their entries; a system message that a compaction makes
    has `<entry id>:system`."""
    model: tuple[str, str] | None = None
    """The provider and the id of the model that the path selects; None if no entry names one."""
    thinking_level: str = "off"
    has_thinking_level: bool = False
    """Whether an entry on the path sets the thinking level."""
    system: SystemPromptState = SystemPromptState()


def project_context(path: Sequence[Entry]) -> ProjectedContext:
    """Projects a path of session entries (root first) to messages, model, thinking level and system state."""
    messages = sort_results_in_call_order(_context_messages(path))
    return msgspec.structs.replace(
        model_and_level_of_path(path), messages=tuple(messages), system=merge_system_messages(messages)
    )


def model_and_level_of_path(path: Sequence[Entry]) -> ProjectedContext:
    """Returns the model and the thinking level of a path of session entries without its messages, which is
    cheaper."""
    return model_and_level_above(reversed(path), reversed(path))


def model_and_level_above(upwards: Iterable[Entry], states: Iterable[Entry]) -> ProjectedContext:
    """Returns the model and the thinking level at a leaf, searching upwards no further than needed. `states` may
    omit messages, which are many."""
    model = next((named for entry in upwards if (named := _model_named(entry)) is not None), None)
    levels = (entry.thinking_level for entry in states if isinstance(entry, ThinkingLevelChangeEntry))
    level = next(levels, None)
    return ProjectedContext(
        messages=(), model=model, thinking_level=level or "off", has_thinking_level=level is not None
    )


def _model_named(entry: Entry) -> tuple[str, str] | None:
    """Returns the model that a session entry selected or that answered in it; None if the entry names none."""
    if isinstance(entry, ModelChangeEntry):
        return entry.provider, entry.model_id
    if isinstance(entry, MessageEntry) and isinstance(answer := entry.message, AssistantMessage):
        return (answer.provider, answer.model) if answer.provider and answer.model else None
    return None


def context_entries(path: Sequence[Entry]) -> Sequence[Entry]:
    """Returns the session entries that the context is made of: all, or the last compaction, the entries it kept,
    and those after it."""
    start = next((i for i in range(len(path) - 1, -1, -1) if isinstance(path[i], CompactionEntry)), None)
    if start is None:
        return path
    compaction = path[start]
    assert isinstance(compaction, CompactionEntry)
    first = next((i for i in range(start) if path[i].id == compaction.first_kept_entry_id), start)
    kept = [entry for entry in path[first:start] if not _is_system_message(entry)]
    return [compaction, *kept, *path[start + 1 :]]


def _is_system_message(entry: Entry) -> bool:
    return isinstance(entry, MessageEntry) and isinstance(entry.message, SystemMessage)


def _context_messages(path: Sequence[Entry]) -> list[Message]:
    entries = context_entries(path)
    boundary = entries[0] if entries and isinstance(entries[0], CompactionEntry) else None
    edits = {entry.target_id: entry for entry in entries if isinstance(entry, ContextEditEntry)}
    found: list[Message] = []
    for entry in entries:
        if isinstance(entry, MessageEntry):
            message = entry.message
            if message.id != entry.id:
                message = msgspec.structs.replace(message, id=entry.id)
            if edits and entry.id in edits:
                changed = apply_edit_to_context_message(message, edits[entry.id])
                if changed is None:
                    continue
                message = changed
            if not isinstance(message, UnknownMessage):
                found.append(message)
        else:
            found.extend(_messages_of_other_entry(entry, boundary, edits.get(entry.id)))
    return found


def _messages_of_other_entry(
    entry: Entry, boundary: CompactionEntry | None, edit: ContextEditEntry | None
) -> Iterable[Message]:
    if edit is not None and edit.replacement is None:
        return
    if isinstance(entry, CompactionEntry):
        if entry is not boundary:
            return
        if entry.system_message is not None:
            yield msgspec.structs.replace(entry.system_message, id=f"{entry.id}:system")
    message = message_from_entry(entry)
    if message is not None and edit is not None:
        message = apply_edit_to_context_message(message, edit)
    if message is not None:
        yield message


def message_from_entry(entry: Entry) -> Message | None:
    """Returns the message for a session entry that is not a message but has text for the model, such as a summary."""
    if isinstance(entry, CompactionEntry):
        return CompactionSummaryMessage(
            id=entry.id,
            summary=entry.summary,
            tokens_before=entry.tokens_before,
            timestamp=unix_milliseconds(entry.timestamp),
        )
    if isinstance(entry, BranchSummaryEntry):
        return BranchSummaryMessage(
            id=entry.id,
            summary=entry.summary,
            from_id=entry.from_id,
            timestamp=unix_milliseconds(entry.timestamp),
        )
    if isinstance(entry, CustomMessageEntry):
        return CustomMessage(
            id=entry.id,
            custom_type=entry.custom_type,
            content=entry.content,
            display=entry.display,
            details=entry.details,
            timestamp=unix_milliseconds(entry.timestamp),
        )
    return None


def apply_edit_to_context_message(message: Message, edit: ContextEditEntry) -> Message | None:
    """Applies a context edit to a message; None: the message is left out. An invalid replacement changes
    nothing."""
    if edit.replacement is None:
        return None
    content: Any = edit.replacement.get("content")
    if content is None:
        return message
    try:
        match message:
            case AssistantMessage() | ToolResultMessage() if isinstance(content, str):
                return msgspec.structs.replace(message, content=(Text(text=content),))
            case AssistantMessage():
                kind = AssistantParts
            case ToolResultMessage():
                kind = UserParts
            case SystemMessage() | UserMessage() | CustomMessage():
                kind = str | UserParts
            case (
                BashExecutionMessage()
                | BranchSummaryMessage()
                | CompactionSummaryMessage()
                | UnknownMessage()
            ):
                return message
            case _:
                assert_never(message)
        return msgspec.structs.replace(message, content=from_wire(content, kind))
    except msgspec.ValidationError:
        return message


def sort_results_in_call_order(messages: list[Message]) -> list[Message]:
    """Sorts the tool results directly behind an assistant message in the order of its calls."""
    index = 0
    while index < len(messages):
        caller = messages[index]
        index += 1
        if not isinstance(caller, AssistantMessage):
            continue
        end = index
        while end < len(messages) and isinstance(messages[end], ToolResultMessage):
            end += 1
        if end - index > 1:
            order = {call.id: place for place, call in reversed(list(enumerate(caller.tool_calls)))}
            messages[index:end] = sorted(
                messages[index:end], key=lambda message: _call_position(message, order)
            )
        index = end
    return messages


def _call_position(message: Message, order: dict[str, int]) -> int:
    return (
        order.get(message.tool_call_id, len(order)) if isinstance(message, ToolResultMessage) else len(order)
    )


def merge_system_messages(messages: Iterable[Message]) -> SystemPromptState:
    """Returns the prompt sections and tools that are in force after all system messages."""
    sections: dict[str, str] = {}
    tools: dict[str, ToolDeclaration] = {}
    for message in messages:
        if not isinstance(message, SystemMessage):
            continue
        for name, text in (message.sections or {}).items():
            if text is None:
                sections.pop(name, None)
            else:
                sections[name] = text
        for removed in message.tools_removed or ():
            tools.pop(removed.name, None)
        for tool in message.tools_added or ():
            tools[tool.name] = tool
    return SystemPromptState(sections=sections, tools=tuple(tools.values()))


def unix_milliseconds(timestamp: str) -> int:
    """Converts an entry's timestamp to Unix milliseconds; 0 when it is invalid."""
    try:
        return round(datetime.fromisoformat(timestamp).timestamp() * 1000)
    except ValueError:
        return 0
