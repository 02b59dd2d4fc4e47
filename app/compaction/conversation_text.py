"""Writes a conversation as text for a model that summarises it. Pure."""

from collections.abc import Iterable
from typing import assert_never

from app.values.codec import encode_json
from app.values.content import text_of
from app.values.messages import (
    AssistantMessage,
    BashExecutionMessage,
    BranchSummaryMessage,
    CompactionSummaryMessage,
    CustomMessage,
    Message,
    SystemMessage,
    ToolResultMessage,
    UnknownMessage,
    UserMessage,
)

_MAX_SUMMARISED_RESULT_CHARS = 2_000


def conversation_text(messages: Iterable[Message]) -> str:
    """Writes messages as text for a summary, without thinking and system messages; long tool results are cut,
    with their length stated."""
    parts = [part for message in messages for part in _message_texts(message) if part]
    return "\n\n".join(parts)


def _message_texts(message: Message) -> list[str]:
    match message:
        case UserMessage() | CustomMessage():
            return [f"[User]: {text_of(message.content)}"]
        case AssistantMessage():
            text = f"[Assistant]: {message.text}" if message.text else ""
            calls = "; ".join(_call_text(call.name, call.arguments) for call in message.tool_calls)
            return [text, f"[Assistant tool calls]: {calls}" if calls else ""]
        case ToolResultMessage():
            return [f"[Tool result]: {_truncate_result(text_of(message.content))}"]
        case BashExecutionMessage():
            if message.exclude_from_context:
                return []
            return [f"[User]: Ran `{message.command}`\n{_truncate_result(message.output)}"]
        case BranchSummaryMessage() | CompactionSummaryMessage():
            return [f"[User]: {message.summary}"]
        case SystemMessage() | UnknownMessage():
            return []
        case _:
            assert_never(message)


def _call_text(name: str, arguments: dict[str, object]) -> str:
    fields = ", ".join(
        f"{key}={encode_json(value).decode('utf-8', 'replace')}" for key, value in arguments.items()
    )
    return f"{name}({_truncate_result(fields)})"


def _truncate_result(text: str) -> str:
    if len(text) <= _MAX_SUMMARISED_RESULT_CHARS:
        return text
    left_out = len(text) - _MAX_SUMMARISED_RESULT_CHARS
    return f"{text[:_MAX_SUMMARISED_RESULT_CHARS]}\n[... {left_out} more characters truncated]"
