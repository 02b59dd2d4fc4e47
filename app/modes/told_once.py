"""Events as JSON mode tells them: what other lines tell is left empty, so that output grows with what is said.

A message's content is in its deltas and, whole, in its `message_end`; the events before and after that say which
message it is and how it went. The fields stay, so that lines keep the shapes of RPC's.
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


def without_repeats(event: Event) -> Event:
    if isinstance(event, MessageUpdate):
        end = event.assistant_message_event
        if not isinstance(end, TextEnd | ThinkingEnd):
            return event
        ended = msgspec.structs.replace(end, content="")
        return msgspec.structs.replace(event, assistant_message_event=ended)
    if isinstance(event, MessageStart):
        return msgspec.structs.replace(event, message=_bare(event.message))
    if isinstance(event, TurnEnd):
        results = tuple(_bare(result) for result in event.tool_results)
        return msgspec.structs.replace(event, message=_bare(event.message), tool_results=results)
    if isinstance(event, AgentEnd):
        return msgspec.structs.replace(event, messages=tuple(_bare(message) for message in event.messages))
    return event


def _bare(message: M) -> M:
    """Without what it says; its role, its use of tokens and how it ended stay."""
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
            return message  # summaries, which no run brings about
        case _:
            assert_never(message)
    return msgspec.structs.replace(message, **empty)
