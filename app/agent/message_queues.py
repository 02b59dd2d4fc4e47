"""Queues of a session: steering and follow-up messages, asides, and messages for the next prompt.

This is the only copy: the loop takes messages from here, and user interfaces show, edit and remove them
here."""

from collections.abc import Callable
from typing import Literal

import msgspec

from app.values.content import text_of
from app.values.messages import CustomMessage, UserMessage

QueuedMessage = UserMessage | CustomMessage
QueueMode = Literal["one-at-a-time", "all"]
QueueName = Literal["steering", "follow_up"]


class AsideMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A message that is delivered directly behind the results of a tool batch."""

    message: CustomMessage
    call_id: str | None = None
    """The id of the call that the aside belongs to; asides are delivered in call order. None: it belongs to no call."""


def deliver_one_at_a_time(queue: QueueName) -> QueueMode:
    return "one-at-a-time"


class MessageQueues:
    """All queued messages of one session."""

    def __init__(
        self,
        *,
        mode: Callable[[QueueName], QueueMode] = deliver_one_at_a_time,
        on_change: Callable[[], None] = lambda: None,
        on_removed: Callable[[QueuedMessage], None] = lambda message: None,
    ) -> None:
        self._mode = mode
        self._waiting: dict[QueueName, list[QueuedMessage]] = {"steering": [], "follow_up": []}
        self._asides: list[AsideMessage] = []
        self._next_turn: list[CustomMessage] = []
        self._on_change = on_change
        self._on_removed = on_removed
        self._on_steering: list[Callable[[], None]] = []

    def queued_messages(self, queue: QueueName) -> tuple[QueuedMessage, ...]:
        return tuple(self._waiting[queue])

    def queued_texts(self, queue: QueueName) -> tuple[str, ...]:
        return tuple(text_of(message.content) for message in self._waiting[queue])

    def __len__(self) -> int:
        return sum(len(messages) for messages in self._waiting.values())

    def add_message(self, queue: QueueName, message: QueuedMessage) -> None:
        self._waiting[queue].append(message)
        self._on_change()
        if queue == "steering":
            for callback in tuple(self._on_steering):
                callback()

    def watch_steering(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Calls `callback` whenever a steering message is queued; returns a function that ends this."""
        self._on_steering.append(callback)
        return lambda: self._on_steering.remove(callback)

    def take_next(self, queue: QueueName) -> list[QueuedMessage]:
        """Removes and returns the queued messages to deliver now: one or all, as the queue's mode says."""
        waiting = self._waiting[queue]
        count = len(waiting) if self._mode(queue) == "all" else min(1, len(waiting))
        if not count:
            return []
        taken, self._waiting[queue] = waiting[:count], waiting[count:]
        self._on_change()
        return taken

    def take_all_user_messages(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Empties the steering and follow-up queues; returns the texts of their messages."""
        removed = self.queued_texts("steering"), self.queued_texts("follow_up")
        messages = [message for waiting in self._waiting.values() for message in waiting]
        if messages:
            self._waiting = {"steering": [], "follow_up": []}
            self._on_change()
        for message in messages:
            self._on_removed(message)
        return removed

    def replace_messages(self, queue: QueueName, messages: tuple[QueuedMessage, ...]) -> None:
        """Replaces a queue's messages after the user edited, reordered or removed some."""
        before, self._waiting[queue] = self._waiting[queue], list(messages)
        self._on_change()
        kept = {message.id for message in messages}
        for message in before:
            if message.id not in kept:
                self._on_removed(message)

    def remove_message(self, message_id: str) -> QueuedMessage | None:
        for waiting in self._waiting.values():
            for index, message in enumerate(waiting):
                if message.id == message_id:
                    del waiting[index]
                    self._on_change()
                    self._on_removed(message)
                    return message
        return None

    def move_to_other_queue(self, message_id: str) -> None:
        """Moves a queued message from steering to follow-up, or back."""
        for name, waiting in self._waiting.items():
            for index, message in enumerate(waiting):
                if message.id == message_id:
                    del waiting[index]
                    self.add_message("follow_up" if name == "steering" else "steering", message)
                    return

    def add_aside(self, aside: AsideMessage) -> None:
        self._asides.append(aside)

    def take_asides(self, call_ids: tuple[str, ...] = ()) -> list[CustomMessage]:
        """Removes and returns all asides, first those that belong to the tool calls `call_ids`, in their order."""
        order = {call_id: index for index, call_id in enumerate(call_ids)}
        taken, self._asides = self._asides, []
        taken.sort(key=lambda aside: order.get(aside.call_id or "", len(order)))
        return [aside.message for aside in taken]

    def hold_for_next_prompt(self, message: CustomMessage) -> None:
        self._next_turn.append(message)

    def take_for_next_prompt(self) -> list[CustomMessage]:
        taken, self._next_turn = self._next_turn, []
        return taken

    def remove_generated_messages(self) -> None:
        """Removes queued messages that the user did not write, when the user leaves the conversation. The user's
        messages stay queued."""
        forgotten = [*self.take_asides(), *self.take_for_next_prompt()]
        for message in forgotten:
            self._on_removed(message)
