"""A cancellable operation that others can wait for."""

import asyncio
from collections.abc import Generator
from contextlib import contextmanager

from app.agent.abort import Abort


class CancellableTask:
    def __init__(self) -> None:
        self.is_running = False
        self._abort = Abort()
        self._ended = asyncio.Event()

    @contextmanager
    def begun(self) -> Generator[Abort]:
        """Marks the operation as running inside the `with` block, and yields the signal that cancels it."""
        abort = self._abort = Abort()
        self.is_running = True
        self._ended.clear()
        try:
            yield abort
        finally:
            self.is_running = False
            self._ended.set()

    def stop(self) -> None:
        if self.is_running:
            self._abort.set()

    async def wait(self) -> None:
        """Waits until no operation is running."""
        while self.is_running:
            await self._ended.wait()
