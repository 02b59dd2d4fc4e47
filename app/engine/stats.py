"""What a session has used so far: messages, calls, tokens, money, and how full the window is."""

from collections.abc import Iterable

import msgspec

from app.values.content import ToolCall
from app.values.entries import (
    BranchSummaryEntry,
    CompactionEntry,
    CustomMessageEntry,
    Entry,
    MessageEntry,
    UsageEntry,
)
from app.values.messages import (
    AssistantMessage,
    Message,
    ToolResultMessage,
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
        if isinstance(entry, MessageEntry):
            self.add_message(entry.message)
        elif isinstance(entry, CustomMessageEntry):
            self.total_messages += 1
        elif isinstance(entry, CompactionEntry | BranchSummaryEntry | UsageEntry) and entry.usage is not None:
            self.usage += entry.usage

    def add_message(self, message: Message) -> None:
        self.total_messages += 1
        if isinstance(message, AssistantMessage):
            self.assistant_messages += 1
            for block in message.content:
                if type(block) is ToolCall:
                    self.tool_calls += 1
            self.usage += message.usage
            if message.stop_reason not in ("error", "aborted"):
                self.last_usage = message.usage
        elif isinstance(message, ToolResultMessage):
            self.tool_results += 1
            if message.usage is not None:
                self.usage += message.usage
        elif isinstance(message, UserMessage):
            self.user_messages += 1


def stats_of(entries: Iterable[Entry]) -> Stats:
    stats = Stats()
    for entry in entries:
        stats.add(entry)
    return stats
