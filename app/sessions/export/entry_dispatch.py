"""Dispatches each session entry to the writer method for its kind; shared by the exports that produce text. HTML
writes all entries, as rows of the tree and as articles; Markdown writes the active branch. JSONL needs no
writer: its lines are the entries themselves."""

from collections.abc import Callable
from typing import Protocol, assert_never

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

TransformEntry = Callable[[Entry], Entry]
"""A function that changes an entry before it is written, such as by masking secrets."""
StateEntry = CustomEntry | UsageEntry | ContextEditEntry | LabelEntry | SessionInfoEntry | UnknownEntry
"""The kinds of entries that hold state beside the conversation."""
AnyCustomMessage = CustomMessage | CustomMessageEntry
SummaryEntry = CompactionEntry | BranchSummaryEntry
SettingEntry = ModelChangeEntry | ThinkingLevelChangeEntry
UnsupportedMessage = CompactionSummaryMessage | BranchSummaryMessage | UnknownMessage
"""The kinds of messages that bayou never writes to a session file but other programs may have written."""


class SessionEntryWriter(Protocol):
    """Writes session entries in one export format; a method returns an empty string for what the format leaves
    out."""

    def prompt(self, message: UserMessage) -> str: ...
    def answer(self, message: AssistantMessage) -> str: ...
    def result(self, message: ToolResultMessage) -> str: ...
    def command(self, message: BashExecutionMessage) -> str: ...
    def custom(self, message: AnyCustomMessage) -> str: ...
    def system(self, message: SystemMessage) -> str: ...
    def summary(self, entry: SummaryEntry) -> str: ...
    def setting(self, entry: SettingEntry) -> str: ...
    def state(self, entry: StateEntry | UnsupportedMessage) -> str: ...


def keep_entry_unchanged(entry: Entry) -> Entry:
    return entry


def write_exported_entry(entry: Entry, writer: SessionEntryWriter) -> str:
    match entry:
        case MessageEntry():
            return _write_message(entry.message, writer)
        case CustomMessageEntry():
            return writer.custom(entry)
        case CompactionEntry() | BranchSummaryEntry():
            return writer.summary(entry)
        case ModelChangeEntry() | ThinkingLevelChangeEntry():
            return writer.setting(entry)
        case (
            CustomEntry()
            | UsageEntry()
            | ContextEditEntry()
            | LabelEntry()
            | SessionInfoEntry()
            | UnknownEntry()
        ):
            return writer.state(entry)
        case _:
            assert_never(entry)


def _write_message(message: Message, writer: SessionEntryWriter) -> str:
    match message:
        case UserMessage():
            return writer.prompt(message)
        case AssistantMessage():
            return writer.answer(message)
        case ToolResultMessage():
            return writer.result(message)
        case BashExecutionMessage():
            return writer.command(message)
        case CustomMessage():
            return writer.custom(message)
        case SystemMessage():
            return writer.system(message)
        case BranchSummaryMessage() | CompactionSummaryMessage() | UnknownMessage():
            return writer.state(message)
        case _:
            assert_never(message)


def summary_entry_heading(entry: SummaryEntry) -> str:
    of_branch = isinstance(entry, BranchSummaryEntry)
    return "Summary of another branch" if of_branch else "Summary of what was before"
