"""Blocking work off the event loop, told when nobody waits for it any longer."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from tools.base import ToolContext
from tools.results import ToolResult

R = TypeVar("R")


class Stopped(Exception):
    """The work was given up because its caller went away."""


class StopFlag:
    """Asked by long work between its steps."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def set(self) -> None:
        self._event.set()

    def check(self) -> None:
        if self._event.is_set():
            raise Stopped

    @property
    def is_set(self) -> bool:
        return self._event.is_set()


async def in_thread(work: Callable[[StopFlag], R]) -> R:
    """Runs `work` in a thread. Cancelling the caller tells the work to stop and does not wait for it."""
    stop = StopFlag()
    try:
        return await asyncio.to_thread(work, stop)
    except asyncio.CancelledError:
        stop.set()
        raise


class ThreadedTool:
    """What a tool does, where a thread does all of it. Who has more to do with the result than to wait for it does that
    in the same thread, with `work`: one way there costs more than most of what is done."""

    def __init__(self, work: Callable[[Any, ToolContext, StopFlag], ToolResult]) -> None:
        self.work = work

    async def __call__(self, arguments: Any, context: ToolContext) -> ToolResult:
        return await in_thread(lambda stop: self.work(arguments, context, stop))


async def run_to_completion(work: Callable[[], R]) -> R:
    """Runs `work` in a thread and waits until it is done even when cancelled: for changes that cannot be half."""
    return await await_uncancelled(asyncio.to_thread(work))


async def await_uncancelled(work: Awaitable[R]) -> R:
    """What it comes to. Who is cancelled meanwhile, however often, is so when it is done."""
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
