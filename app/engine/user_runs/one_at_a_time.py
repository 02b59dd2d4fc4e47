"""What a person runs and waits for, one at a time: a command, a cell."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar

from app.engine.core.prompt_intake import Busy

R = TypeVar("R")


class SingleTask(Generic[R]):
    """In a task of its own, so that stopping it does not stop whoever waits."""

    def __init__(self, busy: str) -> None:
        """`busy`: what is said to who wants a second one."""
        self._busy = busy
        self._task: asyncio.Task[R] | None = None

    @property
    def is_running(self) -> bool:
        return self._task is not None and not self._task.done()

    def abort(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def run(self, begin: Callable[[], Coroutine[Any, Any, R]]) -> R | None:
        """None: it was stopped before it began. Raises `Busy`."""
        if self.is_running:
            raise Busy(self._busy)
        task = self._task = asyncio.create_task(begin())
        try:
            return await task
        except asyncio.CancelledError:
            current = asyncio.current_task()
            if not task.cancelled() or (current is not None and current.cancelling()):
                raise
            return None
