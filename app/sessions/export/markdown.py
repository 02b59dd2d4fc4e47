"""The active branch as Markdown, for reading and for pasting into an issue."""

import re
from typing import assert_never

from app.sessions.export.text import ChangeEntry, as_it_is, calls_line, clean, pretty
from app.sessions.log import SessionLog
from app.values.content import Image, Text, Thinking, ToolCall, UnknownContent, text_of
from app.values.entries import (
    BranchSummaryEntry,
    CompactionEntry,
    ContextEditEntry,
    CustomEntry,
    CustomMessageEntry,
    Entry,
    LabelEntry,
    MessageEntry,
    ModelChangeEntry,
    SessionInfoEntry,
    ThinkingLevelChangeEntry,
    UnknownEntry,
    UsageEntry,
)
from app.values.messages import (
    AssistantMessage,
    BashExecutionMessage,
    CustomMessage,
    ToolResultMessage,
    UserMessage,
)

_FENCE = re.compile(r"^ {0,3}(`{3,})", re.MULTILINE)


def export_markdown(log: SessionLog, *, change: ChangeEntry = as_it_is) -> str:
    """Prompts, answers, tool calls and their results, in order."""
    parts = [f"# {clean(log.name or 'Session ' + log.session_id)}", _facts(log)]
    for entry in log.path_to():
        part = _entry(change(entry))
        if part:
            parts.append(part)
    return "\n\n".join(parts) + "\n"


def _facts(log: SessionLog) -> str:
    facts = (
        ("Session", f"`{log.session_id}`"),
        ("Folder", f"`{clean(log.header.cwd)}`"),
        ("Started", clean(log.header.timestamp)),
    )
    return "\n".join(f"- {name}: {value}" for name, value in facts)


def _entry(entry: Entry) -> str:
    match entry:
        case MessageEntry(message=UserMessage(content=content)):
            return f"## You\n\n{_content(content)}"
        case MessageEntry(message=AssistantMessage() as message):
            return _answer(message)
        case MessageEntry(message=ToolResultMessage() as message):
            word = "Error" if message.is_error else "Result"
            return f"{word} of `{clean(message.tool_name)}`:\n\n{fenced(_content(message.content))}"
        case MessageEntry(message=BashExecutionMessage() as message):
            return f"## You ran\n\n{fenced('$ ' + message.command, 'sh')}\n\n{fenced(message.output)}"
        case MessageEntry(message=CustomMessage(display=True, content=content, custom_type=name)):
            return f"## {clean(name)}\n\n{_content(content)}"
        case CustomMessageEntry(display=True):
            return f"## {clean(entry.custom_type)}\n\n{_content(entry.content)}"
        case CompactionEntry():
            return f"## Summary of what was before\n\n{clean(entry.summary)}"
        case BranchSummaryEntry():
            return f"## Summary of another branch\n\n{clean(entry.summary)}"
        case ModelChangeEntry():
            return f"*Model: {clean(entry.provider)}/{clean(entry.model_id)}*"
        case (
            MessageEntry()
            | ThinkingLevelChangeEntry()
            | UsageEntry()
            | CustomEntry()
            | CustomMessageEntry()
            | ContextEditEntry()
            | LabelEntry()
            | SessionInfoEntry()
            | UnknownEntry()
        ):
            return ""
        case _:
            assert_never(entry)


def _answer(message: AssistantMessage) -> str:
    parts = [f"## {clean(message.model) or 'Assistant'}"]
    for block in message.content:
        match block:
            case Text() if block.text.strip():
                parts.append(clean(block.text))
            case ToolCall():
                parts.append(f"**{calls_line(block)}**\n\n{fenced(pretty(block.arguments), 'json')}")
            case Text() | Thinking() | UnknownContent():
                pass
            case _:
                assert_never(block)
    if message.error_message:
        parts.append(f"*{message.stop_reason}: {clean(message.error_message)}*")
    return "\n\n".join(parts) if len(parts) > 1 else ""


def _content(content: object) -> str:
    if isinstance(content, str):
        return clean(content)
    if not isinstance(content, tuple):
        return ""
    images = sum(isinstance(block, Image) for block in content)
    text = clean(text_of(content))
    note = f"\n\n*({images} image{'s' if images > 1 else ''})*" if images else ""
    return text + note


def fenced(text: str, language: str = "") -> str:
    """A code block whose fence is longer than any in the text."""
    longest = max((len(found) for found in _FENCE.findall(text)), default=2)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{clean(text)}\n{fence}"
