"""What a session has used so far: messages, calls, tokens, money, and how full the window is."""

from collections.abc import Iterable
from typing import assert_never

import msgspec

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
from app.values.usage import Usage
from app.values.wire import Wire


class ContextUsage(Wire, frozen=True, kw_only=True):
    tokens: int | None
    """None: not known until the next answer."""
    context_window: int
    percent: float | None


class Stats(msgspec.Struct, kw_only=True):
    """Counts over the whole file. Grows by one entry at a time."""

    user_messages: int = 0
    assistant_messages: int = 0
    tool_calls: int = 0
    tool_results: int = 0
    total_messages: int = 0
    usage: Usage = Usage()
    last_usage: Usage | None = None

    def add(self, entry: Entry) -> None:
        match entry:
            case MessageEntry(message=message):
                self._add_message(message)
            case CustomMessageEntry():
                self.total_messages += 1
            case CompactionEntry() | BranchSummaryEntry() | UsageEntry():
                self.usage += entry.usage or Usage()
            case (
                ModelChangeEntry()
                | ThinkingLevelChangeEntry()
                | CustomEntry()
                | ContextEditEntry()
                | LabelEntry()
                | SessionInfoEntry()
                | UnknownEntry()
            ):
                pass
            case _:
                assert_never(entry)

    def _add_message(self, message: Message) -> None:
        self.total_messages += 1
        match message:
            case UserMessage():
                self.user_messages += 1
            case AssistantMessage():
                self.assistant_messages += 1
                self.tool_calls += len(message.tool_calls)
                self.usage += message.usage
                if message.stop_reason not in ("error", "aborted"):
                    self.last_usage = message.usage
            case ToolResultMessage():
                self.tool_results += 1
                if message.usage is not None:
                    self.usage += message.usage
            case (
                SystemMessage()
                | BashExecutionMessage()
                | CustomMessage()
                | BranchSummaryMessage()
                | CompactionSummaryMessage()
                | UnknownMessage()
            ):
                pass
            case _:
                assert_never(message)


def stats_of(entries: Iterable[Entry]) -> Stats:
    stats = Stats()
    for entry in entries:
        stats.add(entry)
    return stats
