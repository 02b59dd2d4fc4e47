"""Converts results of tool calls to what the model reads, and makes the results of calls that never ran."""

from typing import Any

import msgspec

from app.values.codec import encode_json
from app.values.content import Image, Text, ToolCall, UserContent, text_of
from app.values.events import ToolOutcome
from app.values.messages import ToolResultMessage
from tools.tool_result_values import ImagePart, Json, TextPart, ToolResult, text_result

ABORTED_TOOL_RESULT_TEXT = "Operation aborted"
SKIPPED_TOOL_RESULT_TEXT = "Skipped due to queued user message."
DENIAL_REASON_DETAILS_KEY = "denied"
"""The key in a result's details that has the reason that the user gave for denying the call, which may be empty."""


def failed_tool_result(text: str, details: dict[str, Any] | None = None) -> ToolResult:
    return text_result(text, details={} if details is None else details, is_error=True)


def unknown_tool_result(name: str, known: tuple[str, ...], why: str = "") -> ToolResult:
    """Makes the result of a call whose tool does not exist or cannot be called now; `why` is the reason for the
    latter."""
    if why:
        return failed_tool_result(f"{name} was not run: {why}")
    hint = f". Available tools: {', '.join(known)}" if known else ""
    return failed_tool_result(f"Tool {name} not found{hint}")


def is_result_of_stopped_call(message: ToolResultMessage) -> bool:
    """Returns whether the user stopped the call, before it ran or while it ran."""
    details: Json = message.details
    if isinstance(details, dict) and details.get("aborted") is True:
        return True
    return message.is_error and text_of(message.content) == ABORTED_TOOL_RESULT_TEXT


def denial_reason_of_result(message: ToolResultMessage) -> str | None:
    """Returns the reason that the user gave for denying the call, which may be empty; None if no user denied it."""
    details: Json = message.details
    said = details.get(DENIAL_REASON_DETAILS_KEY) if isinstance(details, dict) else None
    return said if isinstance(said, str) else None


def truncated_call_result(name: str) -> ToolResult:
    return failed_tool_result(
        f'Tool call "{name}" was not executed: the response hit the output token limit, so its arguments '
        "may be truncated. Re-issue the tool call with complete arguments."
    )


def validated_tool_result(name: str, result: object) -> ToolResult:
    """Returns a tool's result if it is valid and can be recorded; otherwise a failure result."""
    if not isinstance(result, ToolResult):
        return failed_tool_result(f"Tool {name} returned {type(result).__name__} instead of a result")
    parts: tuple[object, ...] = result.content
    for part in parts:
        said: object = part.text if isinstance(part, TextPart) else None
        if isinstance(part, ImagePart):
            said = part.data
        if not isinstance(said, str):
            return failed_tool_result(f"Tool {name} returned content that is neither text nor image")
    if result.details is None and result.structured_content is None:
        return result
    try:
        encode_json((result.details, result.structured_content))
    except (TypeError, ValueError, RecursionError) as problem:
        told = {
            "detailsError": f"The details of {name} cannot be kept: {describe_error_in_one_line(problem)}"
        }
        return msgspec.structs.replace(result, details=told, structured_content=None)
    return result


def describe_error_in_one_line(problem: BaseException) -> str:
    """Describes an exception in one line, even if its `str()` fails."""
    try:
        text = str(problem)
    except Exception:  # noqa: BLE001  (foreign code: an exception with a broken text)
        text = "(its text could not be made)"
    if isinstance(problem, MemoryError):
        return "there is not enough memory on this machine"
    return f"{type(problem).__name__}: {text}"


def to_wire_tool_outcome(result: ToolResult) -> ToolOutcome:
    return ToolOutcome(
        content=wire_content_of_result(result),
        details=result.details,
        structured_content=result.structured_content,
        terminate=result.terminate or None,
    )


def to_tool_result_message(call: ToolCall, result: ToolResult, duration_ms: int | None) -> ToolResultMessage:
    return ToolResultMessage(
        tool_call_id=call.id,
        tool_name=call.name,
        content=wire_content_of_result(result),
        details=result.details,
        is_error=result.is_error,
        duration_ms=duration_ms,
    )


def tool_result_from_message(message: ToolResultMessage) -> ToolResult:
    """Converts a stored result message back to the tool's result, for drawing."""
    return tool_result_from_outcome(message, is_error=message.is_error)


def tool_result_from_outcome(
    outcome: ToolOutcome | ToolResultMessage, *, is_error: bool = False
) -> ToolResult:
    """Converts a tool result in wire form back to the tool's result, for drawing."""
    details: Json = outcome.details
    return ToolResult(
        content=tuple(
            TextPart(text=block.text)
            if isinstance(block, Text)
            else ImagePart(data=block.data, mime_type=block.mime_type)
            for block in outcome.content
            if isinstance(block, Text | Image)
        ),
        details=details if isinstance(details, dict) else None,
        is_error=is_error,
    )


def wire_content_of_result(result: ToolResult) -> tuple[UserContent, ...]:
    return tuple(
        Text(text=part.text)
        if isinstance(part, TextPart)
        else Image(data=part.data, mime_type=part.mime_type)
        for part in result.content
    )
