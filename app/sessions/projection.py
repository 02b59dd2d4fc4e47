"""What the model reads: the path from the root to the leaf, turned into messages. Pure; knows no file.

The last compaction on the path stands for everything before it but what it kept; edits of the context leave an
entry out or give it other content; system messages are merged in order. Results of one assistant message are in
the order of its calls, in whatever order they were recorded.
"""

from collections.abc import Callable, Iterable, Sequence
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


class SystemState(msgspec.Struct, frozen=True, kw_only=True):
    """All system messages of the context taken together."""

    sections: dict[str, str] = {}
    tools: tuple[ToolDeclaration, ...] = ()


class Projection(msgspec.Struct, frozen=True, kw_only=True):
    messages: tuple[Message, ...] = ()
    """Each with the id of its entry; a system message that a compaction carries has `<entry id>:system`."""
    model: tuple[str, str] | None = None
    """Provider and id."""
    thinking_level: str = "off"
    has_thinking_level: bool = False
    """Whether the path names one at all."""
    system: SystemState = SystemState()


def project(path: Sequence[Entry], *, is_virtual: Callable[[str, str], bool] | None = None) -> Projection:
    """`path`: root first. `is_virtual`: tells of a provider and model whether it only routes to others."""
    messages = in_call_order(_messages(path))
    return msgspec.structs.replace(
        settings_of(path, is_virtual=is_virtual), messages=tuple(messages), system=merged_system(messages)
    )


def settings_of(path: Sequence[Entry], *, is_virtual: Callable[[str, str], bool] | None = None) -> Projection:
    """Model and thinking level only, which costs less: without the messages."""
    model, level = _settings(path, is_virtual)
    return Projection(
        messages=(), model=model, thinking_level=level or "off", has_thinking_level=level is not None
    )


def _settings(
    path: Sequence[Entry], is_virtual: Callable[[str, str], bool] | None
) -> tuple[tuple[str, str] | None, str | None]:
    model: tuple[str, str] | None = None
    level: str | None = None
    for entry in reversed(path):
        if type(entry) is MessageEntry:  # first, for there may be very many
            if model is None:
                answer = entry.message
                if isinstance(answer, AssistantMessage) and answer.provider and answer.model:
                    model = (answer.provider, answer.model)
        elif isinstance(entry, ThinkingLevelChangeEntry):
            level = entry.thinking_level if level is None else level
        elif model is None and isinstance(entry, ModelChangeEntry):
            model = (entry.provider, entry.model_id)
        if model is not None and level is not None:
            break
    if is_virtual is not None:
        chosen = next((entry for entry in reversed(path) if isinstance(entry, ModelChangeEntry)), None)
        if chosen is not None and is_virtual(chosen.provider, chosen.model_id):
            model = (chosen.provider, chosen.model_id)
    return model, level


def context_entries(path: Sequence[Entry]) -> Sequence[Entry]:
    """The entries that count: all, or the last compaction, what it kept, and what follows."""
    start = next((i for i in range(len(path) - 1, -1, -1) if isinstance(path[i], CompactionEntry)), None)
    if start is None:
        return path
    compaction = path[start]
    assert isinstance(compaction, CompactionEntry)
    first = next((i for i in range(start) if path[i].id == compaction.first_kept_entry_id), start)
    kept = [entry for entry in path[first:start] if not _is_system(entry)]
    return [compaction, *kept, *path[start + 1 :]]


def _is_system(entry: Entry) -> bool:
    return isinstance(entry, MessageEntry) and isinstance(entry.message, SystemMessage)


def _messages(path: Sequence[Entry]) -> list[Message]:
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
                changed = edited(message, edits[entry.id])
                if changed is None:
                    continue
                message = changed
            if not isinstance(message, UnknownMessage):
                found.append(message)
        else:
            found.extend(_other_messages(entry, boundary, edits.get(entry.id)))
    return found


def _other_messages(
    entry: Entry, boundary: CompactionEntry | None, edit: ContextEditEntry | None
) -> Iterable[Message]:
    if edit is not None and edit.replacement is None:
        return
    if isinstance(entry, CompactionEntry) and entry is boundary:
        if entry.system_message is not None:
            yield msgspec.structs.replace(entry.system_message, id=f"{entry.id}:system")
        yield CompactionSummaryMessage(
            id=entry.id,
            summary=entry.summary,
            tokens_before=entry.tokens_before,
            timestamp=milliseconds(entry.timestamp),
        )
    elif isinstance(entry, BranchSummaryEntry):
        yield BranchSummaryMessage(
            id=entry.id,
            summary=entry.summary,
            from_id=entry.from_id,
            timestamp=milliseconds(entry.timestamp),
        )
    elif isinstance(entry, CustomMessageEntry):
        message: Message | None = CustomMessage(
            id=entry.id,
            custom_type=entry.custom_type,
            content=entry.content,
            display=entry.display,
            details=entry.details,
            timestamp=milliseconds(entry.timestamp),
        )
        if edit is not None:
            message = edited(message, edit)
        if message is not None:
            yield message


def edited(message: Message, edit: ContextEditEntry) -> Message | None:
    """None: left out. A replacement that cannot be the message's content changes nothing."""
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


def in_call_order(messages: list[Message]) -> list[Message]:
    """Results that follow their assistant message directly, sorted as it asked for them."""
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
            messages[index:end] = sorted(messages[index:end], key=lambda message: _place(message, order))
        index = end
    return messages


def _place(message: Message, order: dict[str, int]) -> int:
    return (
        order.get(message.tool_call_id, len(order)) if isinstance(message, ToolResultMessage) else len(order)
    )


def merged_system(messages: Iterable[Message]) -> SystemState:
    """The sections and tools that hold after all system messages."""
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
    return SystemState(sections=sections, tools=tuple(tools.values()))


def milliseconds(timestamp: str) -> int:
    """An entry's timestamp as a message has it; 0 when it is none."""
    try:
        return round(datetime.fromisoformat(timestamp).timestamp() * 1000)
    except ValueError:
        return 0
