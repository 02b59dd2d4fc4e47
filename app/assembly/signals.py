"""Signals, heard on the event loop whatever else waits there."""

import asyncio
import signal
from collections.abc import Callable, Iterable

ENDING = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT)
"""Those that bayou ends in an orderly way on."""


def hear_signals(
    numbers: Iterable[int],
    act: Callable[[int], None],
    *,
    at_once: Callable[[int], object] = lambda number: None,
) -> None:
    """`act` on the running loop when one of them comes, until that loop is closed.

    `at_once` is called before, also while something else holds the loop: in the middle of it, in the main thread.

    asyncio's own way alone loses a signal: it goes through the pipe that wakes the loop, which is full when a few
    hundred words of threads wait (keys that come quicker than they are painted). So that only wakes the loop.
    """
    loop = asyncio.get_running_loop()

    def hear(number: int, _: object) -> None:
        at_once(number)
        loop.call_soon_threadsafe(act, number)

    for number in numbers:
        loop.add_signal_handler(number, _woken)
        signal.signal(number, hear)
        signal.siginterrupt(number, False)
    signal.set_wakeup_fd(signal.set_wakeup_fd(-1), warn_on_full_buffer=False)  # not onto a screen


def _woken() -> None:
    """The loop goes round once more, and finds what the signal left."""
