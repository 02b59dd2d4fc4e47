"""A command or cell that the user runs, one at a time."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar

from app.engine.core.prompt_intake import SessionBusy

TaskResult = TypeVar("TaskResult")


class ExclusiveTask(Generic[TaskResult]):
    """Runs one operation at a time in a separate task, so that stopping it does not cancel the caller."""

    def __init__(self, busy: str) -> None:
        """Creates it idle. `busy` is the error text for a second operation."""
        self._busy_text = busy
        self._task: asyncio.Task[TaskResult] | None = None

    @property
    def is_running(self) -> bool:
        return self._task is not None and not self._task.done()

    def abort(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def run(self, begin: Callable[[], Coroutine[Any, Any, TaskResult]]) -> TaskResult | None:
        """Runs the operation in a task; returns None if it was stopped before it began. Raises `SessionBusy` while
        another runs."""
        if self.is_running:
            raise SessionBusy(self._busy_text)
        task = self._task = asyncio.create_task(begin())
        try:
            return await task
        except asyncio.CancelledError:
            current = asyncio.current_task()
            if not task.cancelled() or (current is not None and current.cancelling()):
                raise
            return None
