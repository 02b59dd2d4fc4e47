"""The end of a session, whichever face showed it."""

import asyncio
import sys

from app.engine.session import Session
from app.sessions.errors import SessionError
from tools.text import visible


async def close_quietly(session: Session) -> None:
    """The partial answer is recorded as aborted and every child is gone; a hanging tool does not keep us."""
    try:
        await asyncio.wait_for(_end(session), timeout=1.5)
    except TimeoutError:
        sys.stderr.write("bayou: something did not end in time and was left behind\n")


async def _end(session: Session) -> None:
    """Extensions hear of the end while there still is a session to talk to."""
    try:
        await asyncio.wait_for(session.announce_end(), timeout=0.7)
    except TimeoutError:
        sys.stderr.write("bayou: an extension did not end in time\n")
    try:
        await session.close()
    except SessionError as problem:
        sys.stderr.write(f"bayou: {visible(str(problem))}\n")
