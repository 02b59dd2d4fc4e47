"""Tokens and costs of a session, and the size of its context. Constant work per message."""

from app.compaction.context_meter import ContextTokenMeter
from app.engine.core.context_usage import ContextUsage
from app.engine.core.conversation import Conversation
from app.sessions.session_stats import SessionCounts
from app.values.messages import Message
from app.values.models import Model


class UsageTotals:
    """The token counts and costs of one conversation."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self._meter = ContextTokenMeter()
        self.reset()

    def reset(self) -> None:
        """Resets the token counts for another conversation."""
        log = self._conversation.log
        self._stats, self._counted_entries = log.counted.with_entries(log.entries), len(log.entries)
        self.recount_context()

    @property
    def session_counts(self) -> SessionCounts:
        """Returns the totals of the session, counting only entries that are new since the last call."""
        new = self._conversation.log.entries[self._counted_entries :]
        if new:
            self._stats.add_all(new)
            self._counted_entries += len(new)
        return self._stats

    def recount_context(self) -> None:
        """Recounts the context's tokens after it lost or changed messages; only later answers tell its exact size."""
        conversation = self._conversation
        self._meter.reset(conversation.messages, trusted=conversation.entry_ids_since_context_edit())

    def count_message(self, message: Message) -> None:
        """Counts a message that was added to the conversation."""
        self._meter.count_message(message)

    def context_usage(self, model: Model) -> ContextUsage:
        tokens = self._meter.tokens
        return ContextUsage(
            tokens=tokens,
            context_window=model.context_window,
            percent=100 * tokens / model.context_window if model.context_window else None,
        )

    @property
    def context_tokens(self) -> int:
        return self._meter.tokens

    @property
    def is_context_size_exact(self) -> bool:
        """Whether the context size includes the provider's count of the last answer, and not only estimates."""
        return self._meter.is_exact
