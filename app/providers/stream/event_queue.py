"""The queue between a response and its listener, which joins waiting deltas of the same block.

A delta is delivered at the earliest `interval` after the previous one, so that the listener's cost follows
time and not tokens; any other event, and the end, delivers the waiting text first. A slow listener
receives longer deltas instead of a longer queue."""

import asyncio
from collections import deque
from io import StringIO

from app.values.stream import Delta, StreamEvent, TextDelta, ThinkingDelta, ToolCallDelta

DELTA_INTERVAL_SECONDS = 0.033
MAX_WAITING_EVENTS = 1000
"""The number of undelivered events above which the producer should wait. Joined deltas never reach it."""

DeltaKind = type[TextDelta] | type[ThinkingDelta] | type[ToolCallDelta]


class _DeltaRun:
    """Consecutive deltas of one kind and block."""

    __slots__ = ("_text", "index", "kind", "write")

    def __init__(self, kind: DeltaKind, index: int) -> None:
        self.kind = kind
        self.index = index
        self._text = StringIO()
        self.write = self._text.write

    def event(self) -> Delta:
        return self.kind(content_index=self.index, delta=self._text.getvalue())


class EventQueue:
    """The queue of one producer and one listener."""

    def __init__(self, interval: float = DELTA_INTERVAL_SECONDS) -> None:
        self._interval = interval
        self._items: deque[StreamEvent | _DeltaRun] = deque()
        self._last_run: _DeltaRun | None = None
        """The last queued run of deltas, if more deltas can join it."""
        self._is_closed = False
        self._waiter: asyncio.Future[None] | None = None
        self._next_delta_at = 0.0
        self._room_waiter: asyncio.Future[None] | None = None

    def put(self, event: StreamEvent) -> None:
        if isinstance(event, TextDelta | ThinkingDelta | ToolCallDelta):
            self.put_delta(type(event), event.content_index, event.delta)
            return
        self._last_run = None
        self._items.append(event)
        self._notify_consumer()

    def put_delta(self, kind: DeltaKind, index: int, text: str) -> None:
        tail = self._last_run
        if tail is None or tail.index != index or tail.kind is not kind:
            tail = self._last_run = _DeltaRun(kind, index)
            self._items.append(tail)
            self._notify_consumer()
        tail.write(text)
        if self._interval <= 0:
            self._last_run = None

    def close(self) -> None:
        """Marks the end of the response's events."""
        self._is_closed = True
        self._notify_consumer()

    @property
    def has_room(self) -> bool:
        return len(self._items) < MAX_WAITING_EVENTS

    async def wait_for_space(self) -> None:
        """Waits, for the producer, until the listener has taken enough events."""
        while not self.has_room:
            self._room_waiter = asyncio.get_running_loop().create_future()
            await self._room_waiter

    async def get(self) -> StreamEvent | None:
        """Returns the next event, or None after the last."""
        if self._room_waiter is not None and self.has_room:
            if not self._room_waiter.done():
                self._room_waiter.set_result(None)
            self._room_waiter = None
        return await self._next_event()

    async def _next_event(self) -> StreamEvent | None:
        loop = asyncio.get_running_loop()
        while True:
            due: float | None = None
            if self._items:
                head = self._items[0]
                if not isinstance(head, _DeltaRun):
                    return self._items.popleft()  # pyright: ignore[reportReturnType]  (it is `head`)
                now = loop.time()
                if head is not self._last_run or self._is_closed or now >= self._next_delta_at:
                    return self._take_deltas(head, now)
                due = self._next_delta_at
            elif self._is_closed:
                return None
            await self._wait(loop, due)

    def _take_deltas(self, run: _DeltaRun, now: float) -> Delta:
        self._items.popleft()
        if run is self._last_run:
            self._last_run = None
        self._next_delta_at = now + self._interval
        return run.event()

    async def _wait(self, loop: asyncio.AbstractEventLoop, due: float | None) -> None:
        waiter = self._waiter = loop.create_future()
        timer = loop.call_at(due, self._notify_consumer) if due is not None else None
        try:
            await waiter
        finally:
            self._waiter = None
            if timer is not None:
                timer.cancel()

    def _notify_consumer(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
