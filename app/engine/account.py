"""What a session used, and how full the context is. Constant work per message."""

from app.compaction.budget import ContextMeter
from app.engine.context_usage import ContextUsage
from app.engine.conversation import Conversation
from app.sessions.stats import Stats
from app.values.entries import CompactionEntry
from app.values.messages import CustomMessage, Message
from app.values.models import Model


class Account:
    """The counts of one conversation."""

    def __init__(self, conversation: Conversation) -> None:
        self.stats = Stats()
        self._meter = ContextMeter()
        self.start_over(conversation)

    def start_over(self, conversation: Conversation) -> None:
        """After the conversation became another one."""
        self.stats = conversation.log.counted.and_more(conversation.log.entries)
        self.recount(conversation)

    def compacted(self, conversation: Conversation, entry: CompactionEntry) -> None:
        """After the conversation was compacted by `entry`."""
        self.stats.add(entry)
        self.recount(conversation)

    def recount(self, conversation: Conversation) -> None:
        """After the context lost or changed something: only what was answered since then tells its size."""
        self._meter.reset(conversation.messages, trusted=conversation.ids_since_change())

    def add(self, message: Message) -> None:
        """One that the conversation has now, too."""
        self._meter.add(message)
        if isinstance(message, CustomMessage):
            self.stats.total_messages += 1
        else:
            self.stats.add_message(message)

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
