"""Handles signals on the event loop, even when the loop's wake-up pipe is full."""

import asyncio
import signal
from collections.abc import Callable, Iterable

TERMINATION_SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT)
"""The signals that end bayou in an orderly way."""


def handle_signals(
    numbers: Iterable[int],
    act: Callable[[int], None],
    *,
    at_once: Callable[[int], object] = lambda number: None,
) -> None:
    """Calls `act` on the running loop when one of the signals comes, until that loop is closed.

    `at_once` is called before, even while other code blocks the loop: inside that code, in the main thread.

    asyncio's own handler can lose a signal: it writes to the pipe that wakes the loop, which is full when
    hundreds of messages from threads wait (keys that arrive faster than they are painted). Here the pipe only
    wakes the loop.
    """
    loop = asyncio.get_running_loop()

    def hear(number: int, _: object) -> None:
        at_once(number)
        loop.call_soon_threadsafe(act, number)

    for number in numbers:
        loop.add_signal_handler(number, _wake_loop)
        signal.signal(number, hear)
        signal.siginterrupt(number, False)
    # keeps the warning off the screen
    signal.set_wakeup_fd(signal.set_wakeup_fd(-1), warn_on_full_buffer=False)


def _wake_loop() -> None:
    """Does nothing; scheduling it makes the event loop run once more, in which the loop finds the pending signal."""
