"""The end of a session, whichever face showed it."""

import asyncio
import os
import threading
from collections.abc import Callable

from app.engine.session import Session
from app.printing import print_problem
from app.sessions.errors import SessionError

LEAVING_SECONDS = 1.8
"""From the wish to leave to the end of the process, also where something hangs: under two seconds."""
_LAST_WORDS_SECONDS = 0.15


def end_in_time(code: int, last_words: Callable[[], object] = lambda: None) -> Callable[[], None]:
    """Ends this process within two seconds, unless it has ended by then: a thread or a wait may hang.

    `last_words` is called before; it gets a moment, since a terminal that takes nothing more would hold it up. What
    the process has started ends with it: the keeper sees its link close. In threads, as the event loop may be what
    hangs. Returns what calls it off.
    """

    def end() -> None:
        try:
            last_words()
        finally:
            os._exit(code)

    timers = (
        threading.Timer(LEAVING_SECONDS, end),
        threading.Timer(LEAVING_SECONDS + _LAST_WORDS_SECONDS, os._exit, (code,)),
    )
    for timer in timers:
        timer.daemon = True
        timer.start()

    def call_off() -> None:
        for timer in timers:
            timer.cancel()

    return call_off


async def close_quietly(session: Session, tell: Callable[[str], object] = print_problem) -> None:
    """The partial answer is recorded as aborted and every child is gone; a hanging tool does not keep us.

    `tell` gets sentences about what went wrong.
    """
    try:
        await asyncio.wait_for(_end(session, tell), timeout=1.5)
    except TimeoutError:
        tell("some work did not end in time and was abandoned")


async def _end(session: Session, tell: Callable[[str], object]) -> None:
    """Extensions hear of the end while there still is a session to talk to."""
    try:
        await asyncio.wait_for(session.announce_end(), timeout=0.7)
    except TimeoutError:
        tell("an extension did not end in time")
    try:
        await session.close()
    except SessionError as problem:
        tell(str(problem))
