"""Telling listeners what happened: everyone, in order, without anyone holding up or harming the others.

A listener is a plain or an async function. A plain one is called at once. An async one has a line of its own:
when it lags, deltas of the same block are joined, nothing else is. A plain one may come with a pace: the session
waits for it between events (a program that reads our output slowly must not fill our memory).
"""

import asyncio
import inspect
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from app.values.events import Event, MessageUpdate
from app.values.stream import TextDelta, ThinkingDelta, ToolCallDelta

Listener = Callable[[Event], Awaitable[None] | None]
Pace = Callable[[], Awaitable[None]]
"""Returns when there is room for more."""


class Publisher:
    """All listeners of one session."""

    def __init__(self, on_failure: Callable[[Listener, BaseException], None]) -> None:
        self._plain: list[Listener] = []
        self._lines: list[_Line] = []
        self._paces: list[Pace] = []
        self._on_failure = on_failure

    def subscribe(self, listener: Listener, *, pace: Pace | None = None) -> Callable[[], None]:
        """Adds a listener; returns how to take it away. `pace` goes with a plain one."""
        if not inspect.iscoroutinefunction(listener):
            self._plain.append(listener)
            if pace is not None:
                self._paces.append(pace)
            return lambda: self.remove(listener, pace)
        line = _Line(listener, on_failure=self._on_failure)
        self._lines.append(line)

        def leave() -> None:
            if line in self._lines:
                self._lines.remove(line)
                line.close()

        return leave

    def remove(self, listener: Listener, pace: Pace | None = None) -> None:
        """Takes a plain listener away; one that fails would fail again with every event."""
        if listener in self._plain:
            self._plain.remove(listener)
        if pace is not None and pace in self._paces:
            self._paces.remove(pace)

    async def publish(self, event: Event) -> None:
        self.publish_now(event)
        for pace in tuple(self._paces):
            await pace()

    def publish_now(self, event: Event) -> None:
        """For places that cannot wait; slow listeners catch up later."""
        for listener in tuple(self._plain):
            try:
                listener(event)
            except Exception as problem:  # noqa: BLE001  (a failing listener is its own problem)
                self._on_failure(listener, problem)
        for line in tuple(self._lines):
            line.put(event)

    async def drain(self) -> None:
        """Waits until every listener has been told everything."""
        for line in tuple(self._lines):
            await line.drained()

    def close(self) -> None:
        for line in self._lines:
            line.close()
        self._lines.clear()
        self._plain.clear()
        self._paces.clear()


class _Line:
    """The events that one async listener has not been told yet."""

    def __init__(self, listener: Listener, *, on_failure: Callable[[Listener, BaseException], None]) -> None:
        self._listener = listener
        self._on_failure = on_failure
        self._waiting: deque[Event] = deque()
        self._changed = asyncio.Event()
        self._is_busy = False
        self._idle = asyncio.Event()
        self._idle.set()
        self._task = asyncio.get_running_loop().create_task(self._serve())

    def put(self, event: Event) -> None:
        joined = joined_deltas(self._waiting[-1], event) if self._waiting else None
        if joined is not None:
            self._waiting[-1] = joined
        else:
            self._waiting.append(event)
        self._idle.clear()
        self._changed.set()

    async def drained(self) -> None:
        await self._idle.wait()

    def close(self) -> None:
        self._idle.set()
        self._task.cancel()

    async def _serve(self) -> None:
        while True:
            await self._changed.wait()
            self._changed.clear()
            while self._waiting:
                event = self._waiting.popleft()
                await self._tell(event)
            self._idle.set()

    async def _tell(self, event: Event) -> None:
        try:
            told: Any = self._listener(event)
            await told
        except asyncio.CancelledError:
            raise
        except Exception as problem:  # noqa: BLE001  (a failing listener is its own problem)
            self._on_failure(self._listener, problem)


def joined_deltas(earlier: Event, later: Event) -> Event | None:
    """The two updates as one, if both carry a delta of the same kind for the same block."""
    if not (isinstance(earlier, MessageUpdate) and isinstance(later, MessageUpdate)):
        return None
    first, second = earlier.assistant_message_event, later.assistant_message_event
    if first.content_index != second.content_index:
        return None
    match first, second:
        case (
            (TextDelta(), TextDelta())
            | (ThinkingDelta(), ThinkingDelta())
            | (ToolCallDelta(), ToolCallDelta())
        ):
            joined = msgspec.structs.replace(first, delta=first.delta + second.delta)
            return msgspec.structs.replace(later, assistant_message_event=joined)
    return None
