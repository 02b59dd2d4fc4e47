"""What is done beside everything else, and what becomes of it when it fails."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from app.engine.intake import Busy
from app.tui.handed import KeyTold
from app.values.unable import Unable


def words_of(problem: Exception, key_told: KeyTold) -> str:
    """What is told of a failure; of what can be stopped, the key that does."""
    key = key_told("app.interrupt", "Escape") if isinstance(problem, Busy) else ""
    return f"{problem} {key} stops it." if key else str(problem)


class Tasks:
    """The work of one application."""

    def __init__(
        self,
        *,
        fault: Callable[[Exception], None],
        refused: Callable[[Exception], object],
        done: Callable[[], None],
    ) -> None:
        """`fault`: what nobody expected; `refused`: why what a person chose cannot be had; `done`: it is over."""
        self._fault = fault
        self._refused = refused
        self._done = done
        self._running: set[asyncio.Task[Any]] = set()

    @property
    def running(self) -> frozenset["asyncio.Task[Any]"]:
        return frozenset(self._running)

    def spawn(self, work: Awaitable[Any]) -> None:
        """Does it beside everything else. A fault in it is the application's."""
        task = asyncio.ensure_future(work)
        self._running.add(task)
        task.add_done_callback(self._finished)

    def choose(self, work: Awaitable[Any]) -> None:
        """What a person chose, beside everything else."""
        self.spawn(self.chosen(work))

    async def chosen(self, work: Awaitable[Any]) -> None:
        """When it cannot be had, they are told why."""
        try:
            await work
        except Unable as problem:
            self._refused(problem)
        self._done()

    def _finished(self, task: "asyncio.Task[Any]") -> None:
        self._running.discard(task)
        if task.cancelled():
            return
        try:
            task.result()
        except Exception as problem:  # noqa: BLE001  (whatever it is, it is told)
            self._fault(problem)
