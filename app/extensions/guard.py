"""Time limits for foreign code: how long it may take, and how long it may keep the event loop to itself.

Waiting for a person does not count. Code that blocks is interrupted by a timer signal where the system has one
and the loop runs in the main thread; elsewhere only the first limit holds.
"""

import asyncio
import signal
import threading
import types
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Generic, TypeVar

import msgspec

T = TypeVar("T")


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds."""

    answer: float = 10.0
    slow_answer: float = 300.0
    """For hooks that may ask a model."""
    block: float = 2.0
    load: float = 10.0


class TooSlow(Exception):
    """The time limit passed. `str` says which."""


class _Blocked(BaseException):
    """Raised inside the foreign code. Not an `Exception`, so that a broad `except` does not swallow it."""


_deadline: ContextVar["_Deadline | None"] = ContextVar("bayou_extension_deadline", default=None)


class _Deadline:
    """The running time limit; it stands still while a person is asked."""

    def __init__(self, timeout: asyncio.Timeout) -> None:
        self._timeout = timeout
        self._pauses = 0
        self._left = 0.0

    def pause(self) -> None:
        when = self._timeout.when()
        if self._pauses == 0 and when is not None and not self._timeout.expired():
            self._left = when - asyncio.get_running_loop().time()
            self._timeout.reschedule(None)
        self._pauses += 1

    def go_on(self) -> None:
        self._pauses -= 1
        if self._pauses == 0 and self._left > 0 and not self._timeout.expired():
            try:
                self._timeout.reschedule(asyncio.get_running_loop().time() + self._left)
            except RuntimeError:
                pass  # the guarded code has ended; something it left behind asked


@contextmanager
def waiting_for_a_person() -> Generator[None]:
    """Inside, no time limit runs."""
    deadline = _deadline.get()
    if deadline is None:
        yield
        return
    deadline.pause()
    try:
        yield
    finally:
        deadline.go_on()


async def call(function: Callable[..., Any], *arguments: Any, seconds: float, block: float) -> Any:
    """Calls a function, plain or async, and returns what it gives. Raises `TooSlow`, or what it raises."""
    timeout = asyncio.timeout(seconds)
    try:
        async with timeout:
            token = _deadline.set(_Deadline(timeout))
            try:
                with _interrupted_after(block):
                    result = function(*arguments)
                return await Guarded(result, block) if isinstance(result, Awaitable) else result
            finally:
                _deadline.reset(token)
    except TimeoutError:
        if not timeout.expired():
            raise
        raise TooSlow(f"it did not answer within {seconds:g} seconds") from None
    except _Blocked:
        raise TooSlow(_blocked_for(block)) from None


def _blocked_for(seconds: float) -> str:
    return f"it blocked everything for {seconds:g} seconds and was interrupted"


def call_now(function: Callable[..., T], *arguments: Any, block: float) -> T:
    """Calls a plain function that must not take long. Raises `TooSlow`, or what it raises."""
    try:
        with _interrupted_after(block):
            return function(*arguments)
    except _Blocked:
        raise TooSlow(_blocked_for(block)) from None


class Guarded(Generic[T]):
    """An awaitable whose every step is interrupted when it keeps the loop to itself."""

    def __init__(self, awaitable: Awaitable[T], block: float) -> None:
        self._awaitable = awaitable
        self._block = block

    def __await__(self) -> Generator[Any, Any, T]:
        steps = self._awaitable.__await__()
        send, value, problem = getattr(steps, "send", None), None, None
        while True:
            try:
                with _interrupted_after(self._block):
                    if problem is not None:
                        throw = getattr(steps, "throw", None)
                        if throw is None:
                            raise problem
                        wanted = throw(problem)
                    else:
                        wanted = send(value) if send else next(steps)
            except StopIteration as end:
                return end.value
            except _Blocked:
                raise TooSlow(_blocked_for(self._block)) from None
            problem = value = None
            try:
                value = yield wanted
            except BaseException as raised:  # noqa: BLE001  (handed on into the awaitable, cancellation above all)
                problem = raised


class _Timer:
    """One timer for the process: which interruption is due, if any."""

    def __init__(self) -> None:
        self.depth = 0
        self.previous: Any = None

    def fire(self, number: int, frame: types.FrameType | None) -> None:
        if self.depth:
            raise _Blocked


_timer = _Timer()


def _can_interrupt() -> bool:
    return hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()


@contextmanager
def _interrupted_after(seconds: float) -> Generator[None]:
    if _timer.depth or not _can_interrupt():  # within another's limit already
        yield
        return
    previous = signal.signal(signal.SIGALRM, _timer.fire)
    _timer.depth = 1
    # It comes again and again, for code that swallows the first.
    signal.setitimer(signal.ITIMER_REAL, seconds, 0.2)
    try:
        yield
    finally:
        _timer.depth = 0
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
