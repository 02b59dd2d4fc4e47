"""A cancellable operation that others can wait for."""

import asyncio
from collections.abc import Generator
from contextlib import contextmanager

from app.agent.abort_signal import AbortSignal


class CancellableTask:
    def __init__(self) -> None:
        self.is_running = False
        self._abort = AbortSignal()
        self._ended_event = asyncio.Event()

    @contextmanager
    def mark_running(self) -> Generator[AbortSignal]:
        """Marks the operation as running inside the `with` block, and yields the signal that cancels it."""
        abort = self._abort = AbortSignal()
        self.is_running = True
        self._ended_event.clear()
        try:
            yield abort
        finally:
            self.is_running = False
            self._ended_event.set()

    def stop(self) -> None:
        if self.is_running:
            self._abort.set()

    async def wait_until_ended(self) -> None:
        """Waits until the cancellable operation is not running."""
        while self.is_running:
            await self._ended_event.wait()
