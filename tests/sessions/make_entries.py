"""Makes session entries for tests."""

from app.values.content import Text, ToolCall
from app.values.entries import MessageEntry
from app.values.messages import AssistantMessage, ToolResultMessage, user_message


def user_entry(text: str) -> MessageEntry:
    return MessageEntry(parent_id=None, message=user_message(text))


def assistant_entry(text: str, *calls: str) -> MessageEntry:
    content = (Text(text=text), *(ToolCall(id=call, name="bash", arguments={}) for call in calls))
    message = AssistantMessage(
        content=content, provider="p", model="m", api="a", stop_reason="toolUse" if calls else "stop"
    )
    return MessageEntry(parent_id=None, message=message)


def tool_result_entry(call: str, text: str = "ok") -> MessageEntry:
    message = ToolResultMessage(tool_call_id=call, tool_name="bash", content=(Text(text=text),))
    return MessageEntry(parent_id=None, message=message)
