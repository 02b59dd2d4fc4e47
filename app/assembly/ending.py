"""The end of a session, whichever face showed it."""

import asyncio
import os
import sys
import threading
from collections.abc import Callable

from app.engine.session import Session
from app.sessions.errors import SessionError
from tools.text import for_terminal

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


def _to_stderr(text: str) -> None:
    sys.stderr.write(text)


async def close_quietly(session: Session, tell: Callable[[str], object] = _to_stderr) -> None:
    """The partial answer is recorded as aborted and every child is gone; a hanging tool does not keep us.

    `tell` gets lines about what went wrong.
    """
    try:
        await asyncio.wait_for(_end(session, tell), timeout=1.5)
    except TimeoutError:
        tell("bayou: something did not end in time and was left behind\n")


async def _end(session: Session, tell: Callable[[str], object]) -> None:
    """Extensions hear of the end while there still is a session to talk to."""
    try:
        await asyncio.wait_for(session.announce_end(), timeout=0.7)
    except TimeoutError:
        tell("bayou: an extension did not end in time\n")
    try:
        await session.close()
    except SessionError as problem:
        tell(f"bayou: {for_terminal(str(problem))}\n")
