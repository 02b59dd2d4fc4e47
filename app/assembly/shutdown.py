"""Ends a session, for every user interface."""

import asyncio
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from app.assembly.signals import TERMINATION_SIGNALS, handle_signals
from app.printing import print_problem
from app.sessions.errors import SessionError

if TYPE_CHECKING:
    from app.engine.session import Session

SHUTDOWN_TIMEOUT_SECONDS = 1.8
"""The maximum time in seconds from the request to end until the process has ended, even when something hangs."""
_FINAL_OUTPUT_TIMEOUT_SECONDS = 0.15


def force_exit_after_timeout(
    code: int, last_words: Callable[[], object] = lambda: None
) -> Callable[[], None]:
    """Forces the end of this process within two seconds, in case a thread or a wait hangs.

    `last_words` is called before, with a short time limit, since a blocked terminal could hold it up. Child
    processes end too: commands because the supervisor program sees its link close, other programs here. Uses
    threads, as the event loop may be what hangs.
    Returns a function that cancels the forced end.
    """

    def end() -> None:
        try:
            from tools.running.child_programs import kill_all_child_programs  # noqa: PLC0415  (not needed to start)

            kill_all_child_programs()
            last_words()
        finally:
            os._exit(code)

    timers = (
        threading.Timer(SHUTDOWN_TIMEOUT_SECONDS, end),
        threading.Timer(SHUTDOWN_TIMEOUT_SECONDS + _FINAL_OUTPUT_TIMEOUT_SECONDS, os._exit, (code,)),
    )
    for timer in timers:
        timer.daemon = True
        with suppress(RuntimeError):  # no memory for another thread: bayou then ends without a deadline
            timer.start()

    def call_off() -> None:
        for timer in timers:
            timer.cancel()

    return call_off


def termination_signal() -> "asyncio.Future[int]":
    """Returns the number of the signal that asks bayou to end, once it has come; the process then ends within two
    seconds, and with a second signal at once."""
    stopped: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    def stop(number: int) -> None:
        if stopped.done():
            os._exit(128 + number)  # a second signal ends at once
        stopped.set_result(number)

    handle_signals(TERMINATION_SIGNALS, stop, at_once=lambda number: force_exit_after_timeout(128 + number))
    return stopped


async def close_session(session: "Session", tell: Callable[[str], object] = print_problem) -> None:
    """Ends a session: the partial answer is recorded as aborted, all child processes are ended, and a hanging
    tool does not block.

    `tell` gets sentences about what went wrong.
    """
    try:
        await asyncio.wait_for(_end_session(session, tell), timeout=1.5)
    except TimeoutError:
        tell("some running work did not stop in time and was abandoned")


async def _end_session(session: "Session", tell: Callable[[str], object]) -> None:
    """Announces the end to extensions while the session still exists, then closes the session."""
    try:
        await asyncio.wait_for(session.announce_end(), timeout=0.7)
    except TimeoutError:
        tell("an extension did not shut down in time")
    try:
        await session.close()
    except SessionError as problem:
        tell(str(problem))
