"""Counts of a session: messages, tool calls, tokens and cost."""

from collections.abc import Sequence

import msgspec

from app.values.content import ToolCall
from app.values.entries import CustomMessageEntry, Entry, MessageEntry, usage_of_entry
from app.values.messages import AssistantMessage, ToolResultMessage, UserMessage
from app.values.usage import Usage, total_usage

_FAILED_STOP_REASONS = ("error", "aborted")


class SessionCounts(msgspec.Struct, kw_only=True):
    """Counts of messages, calls, tokens and cost over the whole session, increased entry by entry."""

    user_messages: int = 0
    assistant_messages: int = 0
    tool_calls: int = 0
    tool_results: int = 0
    total_messages: int = 0
    usage: Usage = Usage()
    last_usage: Usage | None = None
    worked_ms: float = 0
    """The time in milliseconds that answers and tool calls took, without waiting for the user."""

    def add_all(self, entries: Sequence[Entry]) -> None:
        """Counts session entries, with little work for each, since long sessions have many thousands."""
        messages = [entry.message for entry in entries if type(entry) is MessageEntry]
        others = [entry for entry in entries if type(entry) is not MessageEntry]
        answers = [message for message in messages if type(message) is AssistantMessage]
        self.total_messages += len(messages) + sum([type(entry) is CustomMessageEntry for entry in others])
        self.user_messages += sum([type(message) is UserMessage for message in messages])
        self.assistant_messages += len(answers)
        self.tool_results += sum([type(message) is ToolResultMessage for message in messages])
        self.tool_calls += sum([type(block) is ToolCall for answer in answers for block in answer.content])
        spent = [
            message.usage
            for message in messages
            if type(message) is AssistantMessage or type(message) is ToolResultMessage
        ]
        self.usage = total_usage((self.usage, *filter(None, (*map(usage_of_entry, others), *spent))))
        self.worked_ms += sum(
            [
                message.duration_ms or 0
                for message in messages
                if type(message) is AssistantMessage or type(message) is ToolResultMessage
            ]
        )
        whole = (
            answer.usage for answer in reversed(answers) if answer.stop_reason not in _FAILED_STOP_REASONS
        )
        self.last_usage = next(whole, self.last_usage)


class CountsOfFirstEntries(msgspec.Struct, frozen=True, kw_only=True):
    """The counts of a session's first entries, made while the file was read."""

    stats: SessionCounts = msgspec.field(default_factory=SessionCounts)
    entries: int = 0

    def with_entries(self, entries: Sequence[Entry]) -> SessionCounts:
        """Returns the counts of the counted entries plus those of all entries behind them, as a new object that the
        caller may change."""
        stats = msgspec.structs.replace(self.stats)
        stats.add_all(entries[self.entries :])
        return stats
