"""Runs background tasks and handles their failures."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from textual.app import App

from app.engine.core.prompt_intake import Busy
from app.tui.page_protocols import KeyLabel
from app.values.unable import Unable
from widgets.terminal.terminal_driver import reraise


def words_of(problem: Exception, key_label: KeyLabel) -> str:
    """What is told of a failure; of what can be stopped, the key that does."""
    key = key_label("app.interrupt", "Escape") if isinstance(problem, Busy) else ""
    return f"{problem} {key} stops it." if key else str(problem)


def tell_fault_of_task(app: App[Any], is_ready: asyncio.Event, problem: Exception) -> None:
    if app.is_running or not is_ready.is_set():  # else its screen was taken down under it: no fault
        app.call_later(reraise, problem)


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
        self._is_closed = False

    @property
    def running(self) -> frozenset["asyncio.Task[Any]"]:
        return frozenset(self._running)

    def spawn(self, work: Awaitable[Any]) -> None:
        """Does it beside everything else. A fault in it is the application's. After `close` nothing begins any more."""
        if self._is_closed:
            _drop(work)
            return
        task = asyncio.ensure_future(work)
        self._running.add(task)
        task.add_done_callback(self._finished)

    def close(self) -> None:
        """The application is being left: what has begun goes on, and nothing else begins."""
        self._is_closed = True

    async def end(self, seconds: float) -> None:
        """Cancels what is still under way, and waits for that so long."""
        self.close()
        for task in self._running:
            task.cancel()
        if self._running:
            await asyncio.wait(self._running, timeout=seconds)

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


def _drop(work: Awaitable[Any]) -> None:
    """Python would warn of a coroutine that has never run."""
    if isinstance(work, Coroutine):
        work.close()
    elif isinstance(work, asyncio.Future):
        work.cancel()
