"""Describes session entries as text: in one line, in full, and prompts as list rows. Pure."""

from typing import assert_never

from app.compaction.summary_requests import BRANCH_SUMMARY_PREAMBLE
from app.sessions.session_log import SessionLog
from app.values.content import text_of
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
    BranchSummaryMessage,
    CompactionSummaryMessage,
    CustomMessage,
    Message,
    SystemMessage,
    ToolResultMessage,
    UnknownMessage,
    UserMessage,
)
from tools.number_formatting import format_token_count
from widgets.lists.list_rows import ListRow
from widgets.lists.tree_rows import format_time_of_day
from widgets.screens.preview_pane import PreviewParagraph

MAX_ENTRY_PREVIEW_CHARS = 600
"""The maximum number of characters of a message in a preview of several."""


def session_prompt_rows(log: SessionLog) -> list[ListRow]:
    """Returns a list row for each prompt of the session, newest first."""
    return [
        ListRow(
            id=entry.id,
            title=one_line(text_of(entry.message.content)),
            right=format_time_of_day(entry.timestamp),
        )
        for entry in reversed(log.entries)
        if isinstance(entry, MessageEntry) and isinstance(entry.message, UserMessage)
    ]


def session_entry_title(entry: Entry) -> str | None:
    """Returns a session entry's one-line title; None if the session tree does not show such entries."""
    match entry:
        case MessageEntry(message=message):
            return _message_title(message)
        case CompactionEntry():
            return f"[compaction: {format_token_count(entry.tokens_before)} tokens]"
        case BranchSummaryEntry():
            return f"[branch summary]: {one_line(session_entry_text(entry))}"
        case CustomMessageEntry():
            return f"[{entry.custom_type}]: {one_line(text_of(entry.content))}"
        case (
            ModelChangeEntry()
            | ThinkingLevelChangeEntry()
            | UsageEntry()
            | CustomEntry()
            | ContextEditEntry()
            | LabelEntry()
            | SessionInfoEntry()
            | UnknownEntry()
        ):
            return None
        case _:
            assert_never(entry)


def _message_title(message: Message) -> str | None:
    match message:
        case UserMessage():
            return f"you: {one_line(text_of(message.content))}"
        case AssistantMessage():
            if message.text:
                return f"answer: {one_line(message.text)}"
            if message.stop_reason == "error":
                return f"answer failed: {one_line(message.error_message or 'no reason was given')}"
            return "answer: stopped" if message.stop_reason == "aborted" else None
        case ToolResultMessage():
            return f"{message.tool_name}: {one_line(text_of(message.content))}"
        case BashExecutionMessage():
            return f"! {one_line(message.command)}"
        case (
            SystemMessage()
            | CustomMessage()
            | BranchSummaryMessage()
            | CompactionSummaryMessage()
            | UnknownMessage()
        ):
            return None
        case _:
            assert_never(message)


def one_line(text: str, limit: int = 160) -> str:
    head = text[: 4 * limit]  # limits the work: a result may be a megabyte, and a tree has thousands of them
    line = " ".join(head.split())
    if len(line) <= limit and len(head) < len(text):
        line = " ".join(text.split())  # the beginning was mostly blanks
    return line if len(line) <= limit else line[: limit - 1] + "…"


def session_entry_text(entry: Entry) -> str:
    """Returns the full text of a session entry."""
    said = entry.message if isinstance(entry, MessageEntry) else entry
    if isinstance(said, UserMessage | AssistantMessage | ToolResultMessage | CustomMessageEntry):
        return text_of(said.content)
    if isinstance(said, BashExecutionMessage):
        return f"$ {said.command}\n{said.output}"
    if isinstance(said, CompactionEntry):
        return said.summary
    return said.summary.removeprefix(BRANCH_SUMMARY_PREAMBLE) if isinstance(said, BranchSummaryEntry) else ""


def session_entry_preview_parts(entry: Entry) -> list[PreviewParagraph]:
    """Returns the paragraphs of a session entry in a preview of several: messages as Markdown, anything else as one
    line."""
    message = entry.message if isinstance(entry, MessageEntry) else None
    text = session_entry_text(entry).strip()
    if not isinstance(message, UserMessage | AssistantMessage) or not text:
        return [PreviewParagraph(text=session_entry_title(entry) or "", tone="muted")]
    shown = text if len(text) <= MAX_ENTRY_PREVIEW_CHARS else f"{text[:MAX_ENTRY_PREVIEW_CHARS]} …"
    is_prompt = isinstance(message, UserMessage)
    return [
        PreviewParagraph(text=""),
        PreviewParagraph(text="You" if is_prompt else "Answer", tone="muted"),
        PreviewParagraph(text=shown, is_markdown=not is_prompt),
    ]
