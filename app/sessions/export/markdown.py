"""The active branch as Markdown, for reading and for pasting into an issue."""

import re
from typing import assert_never

from app.sessions.export.text import calls_line, clean, pretty
from app.sessions.export.walk import (
    ChangeEntry,
    CustomItem,
    SettingEntry,
    StateEntry,
    SummaryEntry,
    UnsupportedMessage,
    summary_heading,
    unchanged,
    write,
)
from app.sessions.session_log import SessionLog
from app.values.content import Image, Text, Thinking, ToolCall, UnknownContent, text_of
from app.values.entries import ModelChangeEntry
from app.values.messages import (
    AssistantMessage,
    BashExecutionMessage,
    SystemMessage,
    ToolResultMessage,
    UserMessage,
)

_FENCE = re.compile(r"^ {0,3}(`{3,})", re.MULTILINE)


def export_markdown(log: SessionLog, *, change: ChangeEntry = unchanged) -> str:
    """Returns prompts, answers, tool calls and results of the active branch, in order."""
    writer = _Markdown()
    parts = (write(change(entry), writer) for entry in log.path_to())
    head = f"# {clean(log.name or 'Session ' + log.session_id)}"
    return "\n\n".join((head, _facts(log), *filter(None, parts))) + "\n"


def _facts(log: SessionLog) -> str:
    facts = (
        ("Session", f"`{log.session_id}`"),
        ("Folder", f"`{clean(log.header.cwd)}`"),
        ("Started", clean(log.header.timestamp)),
    )
    return "\n".join(f"- {name}: {value}" for name, value in facts)


class _Markdown:
    """Writes entries as Markdown."""

    def prompt(self, message: UserMessage) -> str:
        return f"## You\n\n{_content(message.content)}"

    def answer(self, message: AssistantMessage) -> str:
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

    def result(self, message: ToolResultMessage) -> str:
        word = "Error" if message.is_error else "Result"
        return f"{word} of `{clean(message.tool_name)}`:\n\n{fenced(_content(message.content))}"

    def command(self, message: BashExecutionMessage) -> str:
        return f"## You ran\n\n{fenced('$ ' + message.command, 'sh')}\n\n{fenced(message.output)}"

    def custom(self, message: CustomItem) -> str:
        return f"## {clean(message.custom_type)}\n\n{_content(message.content)}" if message.display else ""

    def system(self, message: SystemMessage) -> str:
        return ""

    def summary(self, entry: SummaryEntry) -> str:
        return f"## {summary_heading(entry)}\n\n{clean(entry.summary)}"

    def setting(self, entry: SettingEntry) -> str:
        is_model = isinstance(entry, ModelChangeEntry)
        return f"*Model: {clean(entry.provider)}/{clean(entry.model_id)}*" if is_model else ""

    def state(self, entry: StateEntry | UnsupportedMessage) -> str:
        return ""


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
    """Returns a code block whose fence is longer than any fence in the text."""
    longest = max((len(found) for found in _FENCE.findall(text)), default=2)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{clean(text)}\n{fence}"
