"""Limits the time of extension code: how long a call may take, and how long it may block the event loop.

Waiting for a person does not count. Code that blocks is interrupted by a timer signal where the system has
one and the loop runs in the main thread; elsewhere only the first limit holds.
"""

import asyncio
import signal
import threading
import types
from collections.abc import Awaitable, Callable, Coroutine, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Generic, TypeVar

import msgspec

from app.resources.settings.effective_settings import EffectiveSettings

T = TypeVar("T")
EXTENSION_CLEANUP_SECONDS = 1.0
"""Seconds that cancelled code has for cleaning up."""


class HookLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Time limits for extension code, in seconds."""

    answer_seconds: float = 10.0
    slow_answer_seconds: float = 300.0
    """The limit of hooks that may ask a model."""
    block_seconds: float = 2.0
    load_seconds: float = 10.0


def read_hook_limits(effective_settings: EffectiveSettings) -> HookLimits:
    """Converts the settings' milliseconds to seconds."""
    mine = effective_settings.settings.extension_limits
    answer = mine.hook_timeout_ms / 1000
    return HookLimits(
        answer_seconds=answer,
        slow_answer_seconds=answer * 30,
        block_seconds=mine.block_timeout_ms / 1000,
        load_seconds=mine.load_timeout_ms / 1000,
    )


class ExtensionTimeLimitExceeded(Exception):
    """An extension's code exceeded a time limit. `str` says which."""


class _BlockingCodeInterrupted(BaseException):
    """Interrupts extension code that blocks. Not an `Exception`: a broad `except` would swallow it."""


_deadline: ContextVar["_ExtensionDeadline | None"] = ContextVar("bayou_extension_deadline", default=None)


class _ExtensionDeadline:
    """The running time limit, paused while a person is asked.

    When it passes, the code is cancelled; code that ignores the cancellation is abandoned a moment later."""

    def __init__(self, seconds: float) -> None:
        self.is_expired = False
        self._seconds_left = seconds
        self._pauses = 0
        self._started_at = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[Any] | None = None
        self._awaitable: TimeLimitedAwaitable[Any] | None = None

    def start_timer(self, task: asyncio.Task[Any], guarded: "TimeLimitedAwaitable[Any]") -> None:
        self._task, self._awaitable = task, guarded
        self._start_loop_timer()

    def _start_loop_timer(self) -> None:
        loop = asyncio.get_running_loop()
        self._started_at = loop.time() + self._seconds_left
        self._timer = loop.call_later(self._seconds_left, self._expire_task)

    def _expire_task(self) -> None:
        self.is_expired = True
        self.cancel()

    def cancel(self) -> None:
        assert self._task is not None
        self._task.cancel()
        self.stop_timer()
        self._timer = asyncio.get_running_loop().call_later(EXTENSION_CLEANUP_SECONDS, self._abandon_code)

    def _abandon_code(self) -> None:
        assert self._task is not None and self._awaitable is not None
        self._awaitable.abandon_suspended_code()
        self._task.cancel()

    def stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def pause(self) -> None:
        if self._pauses == 0 and self._task is not None and not self.is_expired:
            self._seconds_left = max(0.0, self._started_at - asyncio.get_running_loop().time())
            self.stop_timer()
        self._pauses += 1

    def resume(self) -> None:
        self._pauses -= 1
        if self._pauses == 0 and self._task is not None and not self._task.done() and not self.is_expired:
            self._start_loop_timer()


@contextmanager
def pause_extension_time_limit() -> Generator[None]:
    """Pauses the current time limit while a person is asked."""
    deadline = _deadline.get()
    if deadline is None:
        yield
        return
    deadline.pause()
    try:
        yield
    finally:
        deadline.resume()


async def call_with_time_limit(
    function: Callable[..., Any], *arguments: Any, seconds: float, block: float
) -> Any:
    """Calls a function, plain or async, and returns its result. Raises `ExtensionTimeLimitExceeded`, or what the
    function raises."""
    result = call_sync_with_time_limit(function, *arguments, block=block)
    if not isinstance(result, Awaitable):
        return result
    guarded, deadline = TimeLimitedAwaitable(result, block), _ExtensionDeadline(seconds)
    token = _deadline.set(deadline)  # a task started here inherits it
    task = asyncio.get_running_loop().create_task(_await_guarded(guarded))
    _deadline.reset(token)
    deadline.start_timer(task, guarded)
    try:
        await asyncio.wait((task,))
    except asyncio.CancelledError:
        deadline.cancel()
        await asyncio.wait((task,))
        raise
    finally:
        deadline.stop_timer()
        guarded.close()
        failed = not task.done() or task.cancelled() or task.exception() is not None
    if deadline.is_expired and failed:
        raise ExtensionTimeLimitExceeded(f"it did not answer within {seconds:g} seconds")
    value = task.result()
    if isinstance(value, _ExtensionSystemExit):
        raise value.problem
    return value


async def _await_guarded(guarded: "TimeLimitedAwaitable[Any]") -> Any:
    try:
        return await guarded
    except SystemExit as problem:  # raised out of a task it would end the whole loop
        return _ExtensionSystemExit(problem)


class _ExtensionSystemExit(msgspec.Struct, frozen=True):
    """Carries a `SystemExit` of extension code out of its task."""

    problem: SystemExit


def _blocked_text(seconds: float) -> str:
    return f"it blocked everything for {seconds:g} seconds and was interrupted"


def call_sync_with_time_limit(function: Callable[..., T], *arguments: Any, block: float) -> T:
    """Calls a plain function that must return quickly. Raises `ExtensionTimeLimitExceeded`, or what the function
    raises."""
    try:
        with _interrupt_after(block):
            return function(*arguments)
    except _BlockingCodeInterrupted:
        raise ExtensionTimeLimitExceeded(_blocked_text(block)) from None


class TimeLimitedAwaitable(Generic[T]):
    """An awaitable whose every step is interrupted when it blocks the event loop for too long."""

    def __init__(self, awaitable: Awaitable[T], block: float) -> None:
        self._awaitable = awaitable
        self._block_seconds = block
        self._has_started = self._is_abandoned = False

    def close(self) -> None:
        """Closes an awaitable that was cancelled before its first step, so that Python prints no "never
        awaited" warning."""
        if not self._has_started and isinstance(self._awaitable, Coroutine):
            self._awaitable.close()

    def abandon_suspended_code(self) -> None:
        """Leaves the code suspended at its next step, without running it further."""
        self._is_abandoned = True

    def __await__(self) -> Generator[Any, Any, T]:
        self._has_started = True
        steps = self._awaitable.__await__()
        send, value, problem = getattr(steps, "send", None), None, None
        while True:
            try:
                with _interrupt_after(self._block_seconds):
                    if problem is not None:
                        throw = getattr(steps, "throw", None)
                        if throw is None:
                            raise problem
                        wanted = throw(problem)
                    else:
                        wanted = send(value) if send else next(steps)
            except StopIteration as end:
                return end.value
            except _BlockingCodeInterrupted:
                raise ExtensionTimeLimitExceeded(_blocked_text(self._block_seconds)) from None
            problem = value = None
            try:
                value = yield wanted
            except BaseException as raised:
                if self._is_abandoned:
                    raise
                problem = raised


class _BlockingCodeTimer:
    """The process-wide timer, which knows which interruption is due."""

    def __init__(self) -> None:
        self.depth = 0
        self.on_signal = self._interrupt_frame
        """The handler as one object, so that `is` recognises it."""

    def _interrupt_frame(self, number: int, frame: types.FrameType | None) -> None:
        if self.depth:
            raise _BlockingCodeInterrupted


_interrupt_timer = _BlockingCodeTimer()


def _can_interrupt() -> bool:
    return hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()


@contextmanager
def _interrupt_after(seconds: float) -> Generator[None]:
    if _interrupt_timer.depth or not _can_interrupt():  # an outer time limit is active already
        yield
        return
    before = signal.getsignal(signal.SIGALRM)
    if before is not _interrupt_timer.on_signal:
        signal.signal(signal.SIGALRM, _interrupt_timer.on_signal)
    _interrupt_timer.depth = 1
    # Repeats, for code that swallows the first interruption.
    signal.setitimer(signal.ITIMER_REAL, seconds, 0.2)
    try:
        yield
    finally:
        _interrupt_timer.depth = 0
        signal.setitimer(signal.ITIMER_REAL, 0)
        if callable(before) and before is not _interrupt_timer.on_signal:  # restores another owner's handler
            signal.signal(signal.SIGALRM, before)
