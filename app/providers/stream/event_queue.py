"""The queue between a response and its listener, which joins waiting deltas of the same block.

A delta is delivered at the earliest `interval` after the previous one, so that the listener's cost follows
time and not tokens; any other event, and the end, delivers the waiting text first. A slow listener
receives longer deltas instead of a longer queue."""

import asyncio
from collections import deque
from io import StringIO

from app.values.stream import Delta, StreamEvent, TextDelta, ThinkingDelta, ToolCallDelta

MIN_DELTA_INTERVAL_SECONDS = 0.033
MAX_WAITING_STREAM_EVENTS = 1000
"""The number of undelivered events above which the producer should wait. Joined deltas count as one, so they never
reach it."""

DeltaKind = type[TextDelta] | type[ThinkingDelta] | type[ToolCallDelta]


class _JoinedDeltas:
    """Consecutive deltas of one kind and block."""

    __slots__ = ("_text", "index", "kind", "write")

    def __init__(self, kind: DeltaKind, index: int) -> None:
        self.kind = kind
        self.index = index
        self._text = StringIO()
        self.write = self._text.write

    def to_event(self) -> Delta:
        return self.kind(content_index=self.index, delta=self._text.getvalue())


class StreamEventQueue:
    """The queue of one producer and one listener."""

    def __init__(self, interval: float = MIN_DELTA_INTERVAL_SECONDS) -> None:
        self._delta_interval = interval
        self._items: deque[StreamEvent | _JoinedDeltas] = deque()
        self._last_deltas: _JoinedDeltas | None = None
        """The last queued run of deltas, while further deltas can join it; None otherwise."""
        self._is_closed = False
        self._listener_waiter: asyncio.Future[None] | None = None
        self._next_delta_at = 0.0
        self._producer_waiter: asyncio.Future[None] | None = None

    def put_event(self, event: StreamEvent) -> None:
        if isinstance(event, TextDelta | ThinkingDelta | ToolCallDelta):
            self.put_delta(type(event), event.content_index, event.delta)
            return
        self._last_deltas = None
        self._items.append(event)
        self._wake_listener()

    def put_delta(self, kind: DeltaKind, index: int, text: str) -> None:
        tail = self._last_deltas
        if tail is None or tail.index != index or tail.kind is not kind:
            tail = self._last_deltas = _JoinedDeltas(kind, index)
            self._items.append(tail)
            self._wake_listener()
        tail.write(text)
        if self._delta_interval <= 0:
            self._last_deltas = None

    def close(self) -> None:
        """Marks the end of the response's events."""
        self._is_closed = True
        self._wake_listener()

    @property
    def has_room(self) -> bool:
        return len(self._items) < MAX_WAITING_STREAM_EVENTS

    async def wait_for_space(self) -> None:
        """Makes the producer wait until the listener has taken enough events."""
        while not self.has_room:
            self._producer_waiter = asyncio.get_running_loop().create_future()
            await self._producer_waiter

    async def get_event(self) -> StreamEvent | None:
        """Returns the next event, or None after the last."""
        if self._producer_waiter is not None and self.has_room:
            if not self._producer_waiter.done():
                self._producer_waiter.set_result(None)
            self._producer_waiter = None
        return await self._next_event()

    async def _next_event(self) -> StreamEvent | None:
        loop = asyncio.get_running_loop()
        while True:
            due: float | None = None
            if self._items:
                head = self._items[0]
                if not isinstance(head, _JoinedDeltas):
                    return self._items.popleft()  # pyright: ignore[reportReturnType]  (it is `head`)
                now = loop.time()
                if head is not self._last_deltas or self._is_closed or now >= self._next_delta_at:
                    return self._take_deltas(head, now)
                due = self._next_delta_at
            elif self._is_closed:
                return None
            await self._wait_for_event(loop, due)

    def _take_deltas(self, run: _JoinedDeltas, now: float) -> Delta:
        self._items.popleft()
        if run is self._last_deltas:
            self._last_deltas = None
        self._next_delta_at = now + self._delta_interval
        return run.to_event()

    async def _wait_for_event(self, loop: asyncio.AbstractEventLoop, due: float | None) -> None:
        waiter = self._listener_waiter = loop.create_future()
        timer = loop.call_at(due, self._wake_listener) if due is not None else None
        try:
            await waiter
        finally:
            self._listener_waiter = None
            if timer is not None:
                timer.cancel()

    def _wake_listener(self) -> None:
        if self._listener_waiter is not None and not self._listener_waiter.done():
            self._listener_waiter.set_result(None)
