"""Telling what happens in a session: counted first, then told to listeners: everyone, in order, without anyone holding
up or harming the others.

A listener is a plain or an async function. A plain one is called at once. An async one has a line of its own, with
the events that it hears: when it lags, deltas of the same block are joined, nothing else is. A plain one may come with
a pace: the session waits for it between events (a program that reads our output slowly must not fill our memory).

A listener that fails is reported once and told the next event all the same. It is given up, and that is reported
too, when it fails time after time or falls so far behind that its line would fill the memory.
"""

import asyncio
import inspect
from collections import deque
from collections.abc import Awaitable, Callable, Container
from typing import Any, Final, Literal

import msgspec

from app.engine.core.conversation import Conversation
from app.engine.core.delivery import Deliveries
from app.engine.core.usage_totals import UsageTotals
from app.values.entries import ContextEditEntry
from app.values.events import EntryAppended, Event, MessageEnd, MessageUpdate, Notice, ToolExecutionEnd
from app.values.messages import ToolResultMessage
from app.values.stream import Delta

Listener = Callable[[Event], Awaitable[None] | None]
Backpressure = Callable[[], Awaitable[None]]
"""Returns when there is room for more."""
ReportFailure = Callable[[str], None]
"""Told, in a sentence, which listener failed or was given up."""

MAX_QUEUED_EVENTS: Final = 10_000
"""Events that may wait for one async listener."""
_MAX_FAILURES: Final = 3
"""Failures in succession after which a listener is given up."""


class EventBus:
    def __init__(self, conversation: Conversation, account: UsageTotals, deliveries: Deliveries) -> None:
        self._conversation = conversation
        self._account = account
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

    async def drain(self) -> None:
        await self._publisher.drain()

    def close(self) -> None:
        self._publisher.close()

    def context_changed(self) -> None:
        """It lost or changed something: it is counted anew, and who waits for what has left it is told."""
        self._account.recount()
        self.forget_undeliverable()

    def forget_undeliverable(self) -> None:
        """Messages that left the context will not reach the model any more."""
        self._deliveries.left_context(self._conversation.context_ids, self._conversation.log.__contains__)

    def _count(self, event: Event) -> None:
        """Keeps count as it passes by; a result counts when its call ends."""
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
    """All listeners of one session."""

    def __init__(self, on_trouble: ReportFailure) -> None:
        self._plain: list[_SyncListener] = []
        self._lines: list[_AsyncListener] = []
        self._paces: list[Backpressure] = []
        self._untold: deque[Event] = deque()
        self._is_telling = False
        self._on_trouble = on_trouble

    def subscribe(
        self, listener: Listener, *, pace: Backpressure | None = None, hears: Container[str] | None = None
    ) -> Callable[[], None]:
        """Adds a listener; returns how to take it away. `pace` goes with a plain one; `hears` with an async one: the
        types of events that it is told, as they are when an event's turn comes (None: all)."""
        if inspect.iscoroutinefunction(listener):
            line = _AsyncListener(listener, hears, self._on_trouble, self._lines.remove)
            self._lines.append(line)
            return line.close
        plain = _SyncListener(listener, self._on_trouble)
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
        """For places that cannot wait; slow listeners catch up later.

        What a listener brings about while it is told is told after: everybody hears the same order.
        """
        self._untold.append(event)
        if self._is_telling:
            return
        self._is_telling = True
        try:
            while self._untold:
                self._deliver(self._untold.popleft())
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
        """Waits until every listener has been told everything."""
        for line in tuple(self._lines):
            await line.drained()

    def close(self) -> None:
        for line in tuple(self._lines):
            line.close()
        self._plain.clear()
        self._paces.clear()


class _FailureCount:
    """How often a listener has failed in succession."""

    def __init__(self, listener: Listener, on_trouble: ReportFailure) -> None:
        self._name = getattr(listener, "__qualname__", repr(listener))
        self._on_trouble = on_trouble
        self._failures = 0

    def succeeded(self) -> None:
        self._failures = 0

    def failed(self, problem: BaseException) -> bool:
        """True: this was once too often."""
        self._failures += 1
        words = f"{type(problem).__name__}: {problem}"
        if self._failures == 1:
            self._on_trouble(f"A listener failed: {self._name}: {words}")
        elif self._failures == _MAX_FAILURES:
            self._on_trouble(
                f"{self._name} failed {_MAX_FAILURES} times in succession and gets no more events: {words}"
            )
        return self._failures >= _MAX_FAILURES

    def fell_behind(self) -> None:
        self._on_trouble(
            f"{self._name} is {MAX_QUEUED_EVENTS:,} events behind and gets no more events: it does not return, "
            "or it is too slow."
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
    """The events that one async listener has not been told yet."""

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
        """What it does not hear is not put into the line, unless it may begin to by what it is told before that."""
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
                raise  # it is the line that ends, not the listener
            if self._patience.failed(problem):
                self.close()
        else:
            self._patience.succeeded()


def join_deltas(earlier: Event, later: Event) -> Event | None:
    """The two updates as one, if both carry a delta of the same kind for the same block."""
    if not (isinstance(earlier, MessageUpdate) and isinstance(later, MessageUpdate)):
        return None
    first, second = earlier.assistant_message_event, later.assistant_message_event
    if first.content_index != second.content_index:
        return None
    if type(first) is not type(second) or not isinstance(first, Delta) or not isinstance(second, Delta):
        return None
    joined = msgspec.structs.replace(first, delta=first.delta + second.delta)
    return msgspec.structs.replace(later, assistant_message_event=joined)
