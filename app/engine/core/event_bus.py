"""Delivers a session's events to its listeners: to all of them, in order, without one delaying or harming another.

A plain listener is called at once. An async listener has a queue: when it lags, deltas of the same block are
joined and all other events are kept. A plain listener may come with `WaitForListenerRoom`: the session waits for it
between events, so that a program which reads slowly does not fill the memory.

A failing listener is reported once and gets the next events. It is removed, with a report, after several failures
in succession or when its queue is full."""

import asyncio
import inspect
from collections import deque
from collections.abc import Awaitable, Callable, Container, Iterable
from typing import Any, Final, Literal

import msgspec

from app.engine.core.conversation import Conversation
from app.engine.core.delivery import MessageDeliveries
from app.engine.core.usage_totals import UsageTotals
from app.values.entries import ContextEditEntry
from app.values.events import EntryAppended, Event, MessageEnd, MessageUpdate, Notice, ToolExecutionEnd
from app.values.messages import ToolResultMessage
from app.values.stream import Delta

EventListener = Callable[[Event], Awaitable[None] | None]
WaitForListenerRoom = Callable[[], Awaitable[None]]
"""A function that waits until the listener has room for more events."""
ReportListenerFailure = Callable[[str], None]
"""A function that reports, in a sentence, which listener failed or was removed."""

MAX_QUEUED_EVENTS: Final = 10_000
"""The maximum number of events that may wait for one async listener."""
_MAX_LISTENER_FAILURES: Final = 3
"""The number of failures in succession after which a listener is removed."""


class EventBus:
    def __init__(
        self, conversation: Conversation, usage_totals: UsageTotals, deliveries: MessageDeliveries
    ) -> None:
        self._conversation = conversation
        self._usage_totals = usage_totals
        self._deliveries = deliveries
        self._publisher = EventPublisher(self._report_listener_failure)

    def subscribe(
        self,
        listener: EventListener,
        *,
        pace: WaitForListenerRoom | None = None,
        hears: Container[str] | None = None,
    ) -> Callable[[], None]:
        return self._publisher.subscribe(listener, pace=pace, hears=hears)

    async def publish(self, event: Event) -> None:
        self._update_usage_totals(event)
        await self._publisher.publish(event)
        if self._conversation.log.problems:
            self.publish_log_problems()

    def publish_now(self, event: Event) -> None:
        self._update_usage_totals(event)
        self._publisher.publish_now(event)

    def notify(self, text: str, level: Literal["info", "warning", "error"] = "info") -> None:
        self.publish_now(Notice(level=level, text=text))

    def warn(self, text: str) -> None:
        self.notify(text, "warning")

    def warn_of_each(self, problems: Iterable[object]) -> None:
        """Publishes a warning for each problem, in the problem's own words."""
        for problem in problems:
            self.warn(str(problem))

    async def wait_until_delivered(self) -> None:
        await self._publisher.wait_until_delivered()

    def close(self) -> None:
        self._publisher.close()

    def recount_context(self) -> None:
        """Recounts the context's tokens after it lost or changed messages, and marks the lost messages as dropped."""
        self._usage_totals.recount_context()
        self.drop_undeliverable_messages()

    def drop_undeliverable_messages(self) -> None:
        """Drops the pending deliveries of messages that left the context."""
        self._deliveries.drop_messages_not_in(
            self._conversation.context_message_ids, self._conversation.log.__contains__
        )

    def _update_usage_totals(self, event: Event) -> None:
        """Updates the usage totals from an event; a tool result counts when its call ends."""
        if isinstance(event, MessageEnd):
            if not isinstance(event.message, ToolResultMessage):
                self._usage_totals.count_message(event.message)
        elif isinstance(event, ToolExecutionEnd):
            if event.message is not None:
                self._usage_totals.count_message(event.message)
        elif isinstance(event, EntryAppended) and isinstance(event.entry, ContextEditEntry):
            self.recount_context()

    def publish_log_problems(self) -> None:
        """Publishes what the user should know of the session file; at the start the face shows it."""
        log = self._conversation.log
        for text in log.take_problems():
            self.notify(text, "error" if log.unwritten_error is not None else "warning")

    def _report_listener_failure(self, text: str) -> None:
        self.notify(text, "error")


class EventPublisher:
    """Delivers the events of one session to its listeners."""

    def __init__(self, on_trouble: ReportListenerFailure) -> None:
        self._sync_listeners: list[_SyncListener] = []
        self._async_listeners: list[_AsyncListener] = []
        self._backpressures: list[WaitForListenerRoom] = []
        self._undelivered: deque[Event] = deque()
        self._is_delivering = False
        self._on_failure = on_trouble

    def subscribe(
        self,
        listener: EventListener,
        *,
        pace: WaitForListenerRoom | None = None,
        hears: Container[str] | None = None,
    ) -> Callable[[], None]:
        """Adds an event listener; returns a function that removes it. `pace` is for plain listeners, and lets the
        session wait for them. `hears` is for async ones: the event types to deliver, looked up when an event is due
        (None: all)."""
        if inspect.iscoroutinefunction(listener):
            line = _AsyncListener(listener, hears, self._on_failure, self._async_listeners.remove)
            self._async_listeners.append(line)
            return line.close
        plain = _SyncListener(listener, self._on_failure)
        self._sync_listeners.append(plain)
        if pace is not None:
            self._backpressures.append(pace)

        def leave() -> None:
            if plain in self._sync_listeners:
                self._sync_listeners.remove(plain)
            if pace is not None and pace in self._backpressures:
                self._backpressures.remove(pace)

        plain.unsubscribe = leave
        return leave

    async def publish(self, event: Event) -> None:
        self.publish_now(event)
        for pace in tuple(self._backpressures):
            await pace()

    def publish_now(self, event: Event) -> None:
        """Publishes an event without waiting; slow listeners catch up later. An event published by a listener is
        delivered after the current one, so that all listeners see the same order."""
        self._undelivered.append(event)
        if self._is_delivering:
            return
        self._is_delivering = True
        try:
            while self._undelivered:
                self._deliver_event(self._undelivered.popleft())
        finally:
            self._is_delivering = False

    def _deliver_event(self, event: Event) -> None:
        for plain in tuple(self._sync_listeners):
            plain.handle_event(event)
        kind: Any = event.__struct_config__.tag
        for line in tuple(self._async_listeners):
            if line.accepts_type(kind):
                line.enqueue_event(event)

    async def wait_until_delivered(self) -> None:
        """Waits until all listeners have received all events."""
        for line in tuple(self._async_listeners):
            await line.wait_until_handled()

    def close(self) -> None:
        for line in tuple(self._async_listeners):
            line.close()
        self._sync_listeners.clear()
        self._backpressures.clear()


class _ListenerFailureCount:
    """Counts an event listener's failures in succession."""

    def __init__(self, listener: EventListener, on_trouble: ReportListenerFailure) -> None:
        self._name = getattr(listener, "__qualname__", repr(listener))
        self._on_failure = on_trouble
        self._failures = 0

    def reset(self) -> None:
        self._failures = 0

    def count_failure(self, problem: BaseException) -> bool:
        """Counts a failure of the event listener; returns True if it has failed too often."""
        self._failures += 1
        words = f"{type(problem).__name__}: {problem}"
        if self._failures == 1:
            self._on_failure(f"An event listener failed: {self._name}: {words}")
        elif self._failures == _MAX_LISTENER_FAILURES:
            self._on_failure(
                f"{self._name} failed {_MAX_LISTENER_FAILURES} times in a row and receives no more events: {words}"
            )
        return self._failures >= _MAX_LISTENER_FAILURES

    def report_lag(self) -> None:
        self._on_failure(
            f"{self._name} has {MAX_QUEUED_EVENTS:,} unprocessed events and receives no more: it "
            "hangs or is too slow."
        )


class _SyncListener:
    """An event listener that is called at once."""

    def __init__(self, listener: EventListener, on_trouble: ReportListenerFailure) -> None:
        self._listener = listener
        self._failure_count = _ListenerFailureCount(listener, on_trouble)
        self.unsubscribe: Callable[[], None] = lambda: None

    def handle_event(self, event: Event) -> None:
        try:
            self._listener(event)
        except (Exception, asyncio.CancelledError) as problem:  # noqa: BLE001  (a listener's failure is its own)
            if self._failure_count.count_failure(problem):
                self.unsubscribe()
        else:
            self._failure_count.reset()


class _AsyncListener:
    """An async event listener with its queue of events."""

    def __init__(
        self,
        listener: EventListener,
        hears: Container[str] | None,
        on_trouble: ReportListenerFailure,
        on_close: Callable[["_AsyncListener"], None],
    ) -> None:
        self._accepted_types = hears
        self._listener = listener
        self._failure_count = _ListenerFailureCount(listener, on_trouble)
        self._on_close = on_close
        self._is_open = True
        self._waiting: deque[Event] = deque()
        self._change_event = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._task = asyncio.get_running_loop().create_task(self._deliver_queued_events())

    def accepts_type(self, kind: str) -> bool:
        """Whether to queue an event: the listener subscribes to its type, or may do so while it handles queued ones."""
        return self._is_subscribed(kind) or not self._idle.is_set()

    def _is_subscribed(self, kind: str) -> bool:
        return self._accepted_types is None or kind in self._accepted_types

    def enqueue_event(self, event: Event) -> None:
        joined = join_message_deltas(self._waiting[-1], event) if self._waiting else None
        if joined is not None:
            self._waiting[-1] = joined
        elif len(self._waiting) >= MAX_QUEUED_EVENTS:
            self.close()
            self._failure_count.report_lag()
            return
        else:
            self._waiting.append(event)
        self._idle.clear()
        self._change_event.set()

    async def wait_until_handled(self) -> None:
        await self._idle.wait()

    def close(self) -> None:
        if not self._is_open:
            return
        self._is_open = False
        self._on_close(self)
        self._waiting.clear()
        self._idle.set()
        self._task.cancel()

    async def _deliver_queued_events(self) -> None:
        while self._is_open:
            await self._change_event.wait()
            self._change_event.clear()
            while self._waiting:
                event = self._waiting.popleft()
                kind: Any = event.__struct_config__.tag
                if self._is_subscribed(kind):
                    await self._deliver_event(event)
            self._idle.set()

    async def _deliver_event(self, event: Event) -> None:
        try:
            told: Any = self._listener(event)
            await told
        except (Exception, asyncio.CancelledError) as problem:
            if self._task.cancelling():
                raise  # the queue is closing; the listener did not fail
            if self._failure_count.count_failure(problem):
                self.close()
        else:
            self._failure_count.reset()


def join_message_deltas(earlier: Event, later: Event) -> Event | None:
    """Joins two message updates if both carry a delta of the same kind for the same block."""
    if not (isinstance(earlier, MessageUpdate) and isinstance(later, MessageUpdate)):
        return None
    first, second = earlier.assistant_message_event, later.assistant_message_event
    if first.content_index != second.content_index:
        return None
    if type(first) is not type(second) or not isinstance(first, Delta) or not isinstance(second, Delta):
        return None
    joined = msgspec.structs.replace(first, delta=first.delta + second.delta)
    return msgspec.structs.replace(later, assistant_message_event=joined)
