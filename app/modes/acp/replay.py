"""Shows the current branch of a stored conversation to a client, from its beginning."""

from collections.abc import Iterator

from app.engine.session import Session
from app.modes.acp.content_blocks import acp_content_blocks
from app.modes.acp.tool_call_updates import make_stored_tool_call_update, make_tool_call_update
from app.modes.acp.update_messages import Update
from app.modes.acp.updates import (
    is_shown_to_user,
    make_agent_message_chunk,
    make_agent_thought_chunk,
    make_user_message_chunk,
    plan_from_todos,
)
from app.undo.change_records import RecordedFileChange, file_changes_data_of_entry
from app.values.content import Text, Thinking, ToolCall
from app.values.entries import CustomMessageEntry, Entry, MessageEntry
from app.values.messages import AssistantMessage, CustomMessage, ToolResultMessage, UserMessage


def replay_updates(session: Session) -> Iterator[Update]:
    """Yields the updates that rebuild the conversation; each call once, in its final state."""
    path = session.log.path_to()
    results: dict[str, ToolResultMessage] = {}
    changes: dict[str, tuple[RecordedFileChange, ...]] = {}
    for entry in path:
        if isinstance(entry, MessageEntry) and isinstance(entry.message, ToolResultMessage):
            results[entry.message.tool_call_id] = entry.message
        elif (files := file_changes_data_of_entry(entry)) is not None:
            changes[files.call_id] = files.changes
    for entry in path:
        yield from _entry_updates(session, entry, results, changes)
    if session.todos.phases:
        yield plan_from_todos(session.todos.phases)


def _entry_updates(
    session: Session,
    entry: Entry,
    results: dict[str, ToolResultMessage],
    changes: dict[str, tuple[RecordedFileChange, ...]],
) -> Iterator[Update]:
    if isinstance(entry, CustomMessageEntry):
        message = CustomMessage(
            custom_type=entry.custom_type, content=entry.content, display=entry.display, details=entry.details
        )
        if is_shown_to_user(message) and (text := session.text_of_custom_message(message)):
            yield make_agent_message_chunk(text, entry.id)
    elif isinstance(entry, MessageEntry) and isinstance(entry.message, UserMessage):
        for block in acp_content_blocks(entry.message.content):
            yield make_user_message_chunk(block, entry.id)
    elif isinstance(entry, MessageEntry) and isinstance(entry.message, AssistantMessage):
        answer = entry.message
        for part in answer.content:
            if isinstance(part, Text) and part.text:
                yield make_agent_message_chunk(part.text, entry.id)
            elif isinstance(part, Thinking) and part.thinking:
                yield make_agent_thought_chunk(part.thinking, entry.id)
            elif isinstance(part, ToolCall):
                result = results.get(part.id)
                if result is None:
                    yield make_tool_call_update(session, part, "failed")
                else:
                    yield make_stored_tool_call_update(session, part, result, changes.get(part.id, ()))
        if answer.stop_reason == "error" and answer.error_message:
            yield make_agent_thought_chunk(f"{answer.error_message}\n\n", entry.id)
