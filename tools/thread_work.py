"""Runs blocking work off the event loop and signals it when its caller is cancelled."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from tools.tool_definition import ToolContext
from tools.tool_result_values import ToolResult

WorkResult = TypeVar("WorkResult")


class ThreadWorkStopped(Exception):
    """Raised in a thread when its work is given up because the caller was cancelled."""


class StopFlag:
    """A flag that long work checks between its steps."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def set(self) -> None:
        self._event.set()

    def raise_if_stopped(self) -> None:
        if self._event.is_set():
            raise ThreadWorkStopped

    @property
    def is_set(self) -> bool:
        return self._event.is_set()


async def run_in_thread(work: Callable[[StopFlag], WorkResult]) -> WorkResult:
    """Runs `work` in a thread and awaits its result. Cancelling the caller sets the stop flag and does not wait for the
    work."""
    stop = StopFlag()
    try:
        return await asyncio.to_thread(work, stop)
    except asyncio.CancelledError:
        stop.set()
        raise


class RunToolInThread:
    """The `run` function of a tool whose whole work runs in one thread. A caller that post-processes the result does so
    in the same thread through `work`, because switching threads costs more than most of the work."""

    def __init__(self, work: Callable[[Any, ToolContext, StopFlag], ToolResult]) -> None:
        self.work = work

    async def __call__(self, arguments: Any, context: ToolContext) -> ToolResult:
        return await run_in_thread(lambda stop: self.work(arguments, context, stop))


async def run_in_thread_to_completion(work: Callable[[], WorkResult]) -> WorkResult:
    """Runs `work` in a thread and waits until it is done even when cancelled, for changes that must not be half
    done."""
    return await await_despite_cancellation(asyncio.to_thread(work))


async def await_despite_cancellation(work: Awaitable[WorkResult]) -> WorkResult:
    """Awaits `work` to its end; a cancellation meanwhile, however often, is raised afterwards."""
    running = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not running.done():
        try:
            await asyncio.wait({running})
        except asyncio.CancelledError as reason:
            cancelled = reason
    if cancelled is not None:
        running.exception()
        raise cancelled
    return running.result()
