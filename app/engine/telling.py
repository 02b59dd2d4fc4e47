"""Telling what happens in a session: counted first, then published to everybody who listens."""

from collections.abc import Callable
from typing import Literal

from app.engine.account import Account
from app.engine.conversation import Conversation
from app.engine.delivery import Deliveries
from app.engine.publisher import Listener, Pace, Publisher
from app.values.entries import ContextEditEntry
from app.values.events import EntryAppended, Event, MessageEnd, Notice, ToolExecutionEnd
from app.values.messages import ToolResultMessage


class Telling:
    def __init__(self, conversation: Conversation, account: Account, deliveries: Deliveries) -> None:
        self._conversation = conversation
        self._account = account
        self._deliveries = deliveries
        self._publisher = Publisher(self._has_trouble)

    def subscribe(self, listener: Listener, *, pace: Pace | None = None) -> Callable[[], None]:
        return self._publisher.subscribe(listener, pace=pace)

    async def publish(self, event: Event) -> None:
        self._note(event)
        await self._publisher.publish(event)
        if self._conversation.log.problems:
            self._tell_problems()

    def publish_now(self, event: Event) -> None:
        self._note(event)
        self._publisher.publish_now(event)

    def notify(self, text: str, level: Literal["info", "warning", "error"] = "info") -> None:
        self.publish_now(Notice(level=level, text=text))

    def warn(self, text: str) -> None:
        self.notify(text, "warning")

    async def drain(self) -> None:
        await self._publisher.drain()

    def close(self) -> None:
        self._publisher.close()

    def context_changed(self) -> None:
        """It lost or changed something: it is counted anew, and who waits for what has left it is told."""
        self._account.recount(self._conversation)
        self.forget_undeliverable()

    def forget_undeliverable(self) -> None:
        """Messages that left the context will not reach the model any more."""
        self._deliveries.left_context(self._conversation.context_ids, self._conversation.log.__contains__)

    def _note(self, event: Event) -> None:
        """Keeps count as it passes by; a result counts when its call ends."""
        if isinstance(event, MessageEnd):
            if not isinstance(event.message, ToolResultMessage):
                self._account.add(event.message)
        elif isinstance(event, ToolExecutionEnd):
            if event.message is not None:
                self._account.add(event.message)
        elif isinstance(event, EntryAppended) and isinstance(event.entry, ContextEditEntry):
            self.context_changed()

    def _tell_problems(self) -> None:
        log = self._conversation.log
        for text in log.take_problems():
            self.notify(text, "error" if log.unwritten is not None else "warning")

    def _has_trouble(self, text: str) -> None:
        self.notify(text, "error")
