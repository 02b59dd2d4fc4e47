"""Reduces events for JSON mode: data that other lines contain is left empty, so that the output grows with
the text alone.

A message's content is in its deltas and, complete, in its `message_end`; the other events only identify the
message and its result. All fields stay, so that lines have the same shapes as in RPC.
"""

from typing import Any, TypeVar, assert_never

import msgspec

from app.values.events import AgentEnd, Event, MessageStart, MessageUpdate, TurnEnd
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
from app.values.stream import TextEnd, ThinkingEnd

M = TypeVar("M", bound=Message)


def without_repeated_event_data(event: Event) -> Event:
    if isinstance(event, MessageUpdate):
        end = event.assistant_message_event
        if not isinstance(end, TextEnd | ThinkingEnd):
            return event
        ended = msgspec.structs.replace(end, content="")
        return msgspec.structs.replace(event, assistant_message_event=ended)
    if isinstance(event, MessageStart):
        return msgspec.structs.replace(event, message=_without_content(event.message))
    if isinstance(event, TurnEnd):
        results = tuple(_without_content(result) for result in event.tool_results)
        return msgspec.structs.replace(event, message=_without_content(event.message), tool_results=results)
    if isinstance(event, AgentEnd):
        return msgspec.structs.replace(
            event, messages=tuple(_without_content(message) for message in event.messages)
        )
    return event


def _without_content(message: M) -> M:
    """Returns the message without its content; role, token usage and stop reason stay."""
    match message:
        case SystemMessage():
            empty: dict[str, Any] = {
                "content": "",
                "sections": None,
                "tools_added": None,
                "tools_removed": None,
            }
        case ToolResultMessage():
            empty = {"content": (), "details": None, "nested_calls": None}
        case CustomMessage():
            empty = {"content": (), "details": None}
        case UserMessage() | AssistantMessage():
            empty = {"content": ()}
        case BashExecutionMessage():
            empty = {"output": ""}
        case BranchSummaryMessage() | CompactionSummaryMessage() | UnknownMessage():
            return message  # a summary, which belongs to no run
        case _:
            assert_never(message)
    return msgspec.structs.replace(message, **empty)
