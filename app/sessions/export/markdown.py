"""Exports the active branch as Markdown, for reading and for pasting into an issue."""

import re
from typing import assert_never

from app.sessions.export.entry_dispatch import (
    AnyCustomMessage,
    SettingEntry,
    StateEntry,
    SummaryEntry,
    TransformEntry,
    UnsupportedMessage,
    keep_entry_unchanged,
    summary_entry_heading,
    write_exported_entry,
)
from app.sessions.export.export_texts import indented_json, remove_control_characters, tool_call_summary_line
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

_CODE_FENCE_START_PATTERN = re.compile(r"^ {0,3}(`{3,})", re.MULTILINE)


def export_markdown(log: SessionLog, *, change: TransformEntry = keep_entry_unchanged) -> str:
    """Returns prompts, answers, tool calls and results of the active branch as Markdown, in order."""
    writer = _MarkdownWriter()
    parts = (write_exported_entry(change(entry), writer) for entry in log.path_to())
    head = f"# {remove_control_characters(log.name or 'Session ' + log.session_id)}"
    return "\n\n".join((head, _session_facts(log), *filter(None, parts))) + "\n"


def _session_facts(log: SessionLog) -> str:
    facts = (
        ("Session", f"`{log.session_id}`"),
        ("Folder", f"`{remove_control_characters(log.header.cwd)}`"),
        ("Started", remove_control_characters(log.header.timestamp)),
    )
    return "\n".join(f"- {name}: {value}" for name, value in facts)


class _MarkdownWriter:
    """Writes entries as Markdown."""

    def prompt(self, message: UserMessage) -> str:
        return f"## You\n\n{_content_text(message.content)}"

    def answer(self, message: AssistantMessage) -> str:
        parts = [f"## {remove_control_characters(message.model) or 'Assistant'}"]
        for block in message.content:
            match block:
                case Text() if block.text.strip():
                    parts.append(remove_control_characters(block.text))
                case ToolCall():
                    parts.append(
                        f"**{tool_call_summary_line(block)}**\n\n{fenced_block(indented_json(block.arguments), 'json')}"
                    )
                case Text() | Thinking() | UnknownContent():
                    pass
                case _:
                    assert_never(block)
        if message.error_message:
            parts.append(f"*{message.stop_reason}: {remove_control_characters(message.error_message)}*")
        return "\n\n".join(parts) if len(parts) > 1 else ""

    def result(self, message: ToolResultMessage) -> str:
        word = "Error" if message.is_error else "Result"
        name = remove_control_characters(message.tool_name)
        return f"{word} of `{name}`:\n\n{fenced_block(_content_text(message.content))}"

    def command(self, message: BashExecutionMessage) -> str:
        return f"## You ran\n\n{fenced_block('$ ' + message.command, 'sh')}\n\n{fenced_block(message.output)}"

    def custom(self, message: AnyCustomMessage) -> str:
        return (
            f"## {remove_control_characters(message.custom_type)}\n\n{_content_text(message.content)}"
            if message.display
            else ""
        )

    def system(self, message: SystemMessage) -> str:
        return ""

    def summary(self, entry: SummaryEntry) -> str:
        return f"## {summary_entry_heading(entry)}\n\n{remove_control_characters(entry.summary)}"

    def setting(self, entry: SettingEntry) -> str:
        is_model = isinstance(entry, ModelChangeEntry)
        return (
            f"*Model: {remove_control_characters(entry.provider)}/{remove_control_characters(entry.model_id)}*"
            if is_model
            else ""
        )

    def state(self, entry: StateEntry | UnsupportedMessage) -> str:
        return ""


def _content_text(content: object) -> str:
    if isinstance(content, str):
        return remove_control_characters(content)
    if not isinstance(content, tuple):
        return ""
    images = sum(isinstance(block, Image) for block in content)
    text = remove_control_characters(text_of(content))
    note = f"\n\n*({images} image{'s' if images > 1 else ''})*" if images else ""
    return text + note


def fenced_block(text: str, language: str = "") -> str:
    """Returns a Markdown code block whose fence is longer than any fence in the text."""
    longest = max((len(found) for found in _CODE_FENCE_START_PATTERN.findall(text)), default=2)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{remove_control_characters(text)}\n{fence}"
