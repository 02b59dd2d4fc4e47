"""What a session used, and how full the context is. Constant work per message."""

from app.compaction.budget import ContextMeter
from app.engine.core.context_usage import ContextUsage
from app.engine.core.conversation import Conversation
from app.sessions.stats import Stats
from app.values.messages import Message
from app.values.models import Model


class UsageTotals:
    """The counts of one conversation."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self._meter = ContextMeter()
        self.start_over()

    def start_over(self) -> None:
        """After the conversation became another one."""
        log = self._conversation.log
        self._stats, self._counted = log.counted.and_more(log.entries), len(log.entries)
        self.recount()

    @property
    def stats(self) -> Stats:
        """What the record adds up to; those entries are counted that are new since somebody asked last."""
        new = self._conversation.log.entries[self._counted :]
        if new:
            self._stats.add_all(new)
            self._counted += len(new)
        return self._stats

    def recount(self) -> None:
        """After the context lost or changed something: only what was answered since then tells its size."""
        conversation = self._conversation
        self._meter.reset(conversation.messages, trusted=conversation.ids_since_change())

    def add(self, message: Message) -> None:
        """One that the conversation has now, too."""
        self._meter.add(message)

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
    def is_exact(self) -> bool:
        """Whether the last answer's own count is in it, and not only estimates."""
        return self._meter.is_exact
