"""Selects the messages of a branch for its summary: the newest that fit into the window. Pure."""

from collections.abc import Sequence

import msgspec

from app.compaction.compaction_plan import apply_context_edits, conversation_message_of_entry
from app.compaction.context_meter import estimate_message_tokens
from app.sessions.context_projection import message_from_entry
from app.values.entries import CompactionEntry, Entry
from app.values.messages import BranchSummaryMessage, CompactionSummaryMessage, Message, ToolResultMessage


class BranchMessagesToSummarise(msgspec.Struct, frozen=True, kw_only=True):
    """The messages of a session branch that are summarised."""

    messages: tuple[Message, ...]
    """The messages, oldest first."""
    omitted_count: int = 0
    """The number of older messages that did not fit."""


def branch_content(entries: Sequence[Entry], budget_tokens: int) -> BranchMessagesToSummarise:
    """Selects the messages of a branch for its summary from `entries`, which reach from below the common ancestor
    to the old leaf.

    Tool results are omitted, their calls are not. An earlier summary may exceed the budget if at least a tenth of
    the budget is left, because it stands for many messages.
    """
    messages = [
        message
        for entry in apply_context_edits(entries)
        if (message := _summarised_message(entry)) is not None
    ]
    kept: list[Message] = []
    total = 0
    for message in reversed(messages):
        size = estimate_message_tokens(message)
        is_summary = isinstance(message, CompactionSummaryMessage | BranchSummaryMessage)
        if total + size > budget_tokens and not (is_summary and total < 0.9 * budget_tokens):
            break
        kept.append(message)
        total += size
    kept.reverse()
    return BranchMessagesToSummarise(messages=tuple(kept), omitted_count=len(messages) - len(kept))


def _summarised_message(entry: Entry) -> Message | None:
    message = (
        message_from_entry(entry)
        if isinstance(entry, CompactionEntry)
        else conversation_message_of_entry(entry)
    )
    return None if isinstance(message, ToolResultMessage) else message
