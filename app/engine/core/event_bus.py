"""Delivers a session's events to its listeners: to all of them, in order, without one delaying or harming another.

A plain listener is called at once. An async listener has a queue: when it lags, deltas of the same block are
joined and all other events are kept. A plain listener may come with `Backpressure`: the session waits for it
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

Listener = Callable[[Event], Awaitable[None] | None]
Backpressure = Callable[[], Awaitable[None]]
"""Waits until the listener has room for more events."""
ReportFailure = Callable[[str], None]
"""Reports which listener failed or was removed, in a sentence."""

MAX_QUEUED_EVENTS: Final = 10_000
"""Events that may wait for one async listener."""
_MAX_FAILURES: Final = 3
"""Failures in succession after which a listener is removed."""


class EventBus:
    def __init__(
        self, conversation: Conversation, usage_totals: UsageTotals, deliveries: MessageDeliveries
    ) -> None:
        self._conversation = conversation
        self._account = usage_totals
        self._deliveries = deliveries
        self._publisher = Publisher(self._report_failure)

    def subscribe(
        self, listener: Listener, *, pace: Backpressure | None = None, hears: Container[str] | None = None
    ) -> Callable[[], None]:
        return self._publisher.subscribe(listener, pace=pace, hears=hears)

    async def publish(self, event: Event) -> None:
        self._count(event)
        await self._publisher.publish(event)
        if self._conversation.log.problems:
            self._publish_log_problems()

    def publish_now(self, event: Event) -> None:
        self._count(event)
        self._publisher.publish_now(event)

    def notify(self, text: str, level: Literal["info", "warning", "error"] = "info") -> None:
        self.publish_now(Notice(level=level, text=text))

    def warn(self, text: str) -> None:
        self.notify(text, "warning")

    def warn_of(self, problems: Iterable[object]) -> None:
        """Publishes a warning for each problem, in the problem's own words."""
        for problem in problems:
            self.warn(str(problem))

    async def drain(self) -> None:
        await self._publisher.drain()

    def close(self) -> None:
        self._publisher.close()

    def context_changed(self) -> None:
        """Recounts the context after it lost or changed messages, and drops the messages that left it."""
        self._account.recount()
        self.forget_undeliverable()

    def forget_undeliverable(self) -> None:
        """Drops the deliveries of messages that left the context."""
        self._deliveries.left_context(self._conversation.context_ids, self._conversation.log.__contains__)

    def _count(self, event: Event) -> None:
        """Updates the usage totals; a tool result counts when its call ends."""
        if isinstance(event, MessageEnd):
            if not isinstance(event.message, ToolResultMessage):
                self._account.add(event.message)
        elif isinstance(event, ToolExecutionEnd):
            if event.message is not None:
                self._account.add(event.message)
        elif isinstance(event, EntryAppended) and isinstance(event.entry, ContextEditEntry):
            self.context_changed()

    def _publish_log_problems(self) -> None:
        log = self._conversation.log
        for text in log.take_problems():
            self.notify(text, "error" if log.unwritten is not None else "warning")

    def _report_failure(self, text: str) -> None:
        self.notify(text, "error")


class Publisher:
    """The listeners of one session."""

    def __init__(self, on_trouble: ReportFailure) -> None:
        self._plain: list[_SyncListener] = []
        self._lines: list[_AsyncListener] = []
        self._paces: list[Backpressure] = []
        self._undelivered: deque[Event] = deque()
        self._is_telling = False
        self._on_failure = on_trouble

    def subscribe(
        self, listener: Listener, *, pace: Backpressure | None = None, hears: Container[str] | None = None
    ) -> Callable[[], None]:
        """Adds a listener; returns a function that removes it. `pace` is for plain listeners. `hears` is for
        async ones: the event types to deliver, looked up when an event is due (None: all)."""
        if inspect.iscoroutinefunction(listener):
            line = _AsyncListener(listener, hears, self._on_failure, self._lines.remove)
            self._lines.append(line)
            return line.close
        plain = _SyncListener(listener, self._on_failure)
        self._plain.append(plain)
        if pace is not None:
            self._paces.append(pace)

        def leave() -> None:
            if plain in self._plain:
                self._plain.remove(plain)
            if pace is not None and pace in self._paces:
                self._paces.remove(pace)

        plain.leave = leave
        return leave

    async def publish(self, event: Event) -> None:
        self.publish_now(event)
        for pace in tuple(self._paces):
            await pace()

    def publish_now(self, event: Event) -> None:
        """Publishes without waiting; slow listeners catch up later.

        An event published by a listener is delivered after the current one, so that all listeners see the same
        order."""
        self._undelivered.append(event)
        if self._is_telling:
            return
        self._is_telling = True
        try:
            while self._undelivered:
                self._deliver(self._undelivered.popleft())
        finally:
            self._is_telling = False

    def _deliver(self, event: Event) -> None:
        for plain in tuple(self._plain):
            plain.tell(event)
        kind: Any = event.__struct_config__.tag
        for line in tuple(self._lines):
            if line.takes(kind):
                line.put(event)

    async def drain(self) -> None:
        """Waits until all listeners have received all events."""
        for line in tuple(self._lines):
            await line.drained()

    def close(self) -> None:
        for line in tuple(self._lines):
            line.close()
        self._plain.clear()
        self._paces.clear()


class _FailureCount:
    """Counts a listener's failures in succession."""

    def __init__(self, listener: Listener, on_trouble: ReportFailure) -> None:
        self._name = getattr(listener, "__qualname__", repr(listener))
        self._on_failure = on_trouble
        self._failures = 0

    def succeeded(self) -> None:
        self._failures = 0

    def failed(self, problem: BaseException) -> bool:
        """Returns True if the listener has failed too often."""
        self._failures += 1
        words = f"{type(problem).__name__}: {problem}"
        if self._failures == 1:
            self._on_failure(f"An event listener failed: {self._name}: {words}")
        elif self._failures == _MAX_FAILURES:
            self._on_failure(
                f"{self._name} failed {_MAX_FAILURES} times in a row and receives no more events: {words}"
            )
        return self._failures >= _MAX_FAILURES

    def fell_behind(self) -> None:
        self._on_failure(
            f"{self._name} has {MAX_QUEUED_EVENTS:,} unprocessed events and receives no more: it "
            "hangs or is too slow."
        )


class _SyncListener:
    """A listener that is called at once."""

    def __init__(self, listener: Listener, on_trouble: ReportFailure) -> None:
        self._listener = listener
        self._patience = _FailureCount(listener, on_trouble)
        self.leave: Callable[[], None] = lambda: None

    def tell(self, event: Event) -> None:
        try:
            self._listener(event)
        except (Exception, asyncio.CancelledError) as problem:  # noqa: BLE001  (a listener's failure is its own)
            if self._patience.failed(problem):
                self.leave()
        else:
            self._patience.succeeded()


class _AsyncListener:
    """An async listener and its queue of events."""

    def __init__(
        self,
        listener: Listener,
        hears: Container[str] | None,
        on_trouble: ReportFailure,
        on_close: Callable[["_AsyncListener"], None],
    ) -> None:
        self._hears = hears
        self._listener = listener
        self._patience = _FailureCount(listener, on_trouble)
        self._on_close = on_close
        self._is_open = True
        self._waiting: deque[Event] = deque()
        self._changed = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._task = asyncio.get_running_loop().create_task(self._deliver_queued())

    def takes(self, kind: str) -> bool:
        """Whether to queue an event: the listener subscribes to its type, or may do so while it handles queued ones."""
        return self._is_subscribed(kind) or not self._idle.is_set()

    def _is_subscribed(self, kind: str) -> bool:
        return self._hears is None or kind in self._hears

    def put(self, event: Event) -> None:
        joined = join_deltas(self._waiting[-1], event) if self._waiting else None
        if joined is not None:
            self._waiting[-1] = joined
        elif len(self._waiting) >= MAX_QUEUED_EVENTS:
            self.close()
            self._patience.fell_behind()
            return
        else:
            self._waiting.append(event)
        self._idle.clear()
        self._changed.set()

    async def drained(self) -> None:
        await self._idle.wait()

    def close(self) -> None:
        if not self._is_open:
            return
        self._is_open = False
        self._on_close(self)
        self._waiting.clear()
        self._idle.set()
        self._task.cancel()

    async def _deliver_queued(self) -> None:
        while self._is_open:
            await self._changed.wait()
            self._changed.clear()
            while self._waiting:
                event = self._waiting.popleft()
                kind: Any = event.__struct_config__.tag
                if self._is_subscribed(kind):
                    await self._deliver(event)
            self._idle.set()

    async def _deliver(self, event: Event) -> None:
        try:
            told: Any = self._listener(event)
            await told
        except (Exception, asyncio.CancelledError) as problem:
            if self._task.cancelling():
                raise  # the queue is closing; the listener did not fail
            if self._patience.failed(problem):
                self.close()
        else:
            self._patience.succeeded()


def join_deltas(earlier: Event, later: Event) -> Event | None:
    """Joins two updates if both carry a delta of the same kind for the same block."""
    if not (isinstance(earlier, MessageUpdate) and isinstance(later, MessageUpdate)):
        return None
    first, second = earlier.assistant_message_event, later.assistant_message_event
    if first.content_index != second.content_index:
        return None
    if type(first) is not type(second) or not isinstance(first, Delta) or not isinstance(second, Delta):
        return None
    joined = msgspec.structs.replace(first, delta=first.delta + second.delta)
    return msgspec.structs.replace(later, assistant_message_event=joined)
