"""Print mode: the prompts one after the other, the last answer's text on standard output.

Fails (exit 1) with the reason on standard error when an answer ended in an error, was aborted or was cut off.
"""

import os
import sys
from collections.abc import Sequence

from app.engine.session import Refused, Session
from app.modes.endings import Prepare, fail, problem_of
from app.modes.output import claim_stdout
from app.values.content import Image
from app.values.events import AutoRetryStart, Event, Notice


async def run_print(
    session: Session, prepare: Prepare, prompts: Sequence[str], images: Sequence[Image] = ()
) -> int:
    own = claim_stdout()
    session.subscribe(_tell_stderr)
    await prepare()
    try:
        for index, prompt in enumerate(prompts):
            await session.prompt(prompt, images if index == 0 else (), source="print")
            await session.wait_until_idle()
            problem = problem_of(session.conversation.last_assistant)
            if problem is not None:
                return fail(problem)
    except Refused as problem:
        return fail(str(problem))
    message = session.conversation.last_assistant
    if message is not None and not _write(own, message.text.rstrip("\n") + "\n"):
        return 1
    return 0


def _write(descriptor: int, text: str) -> bool:
    """False: nobody reads any more."""
    rest = memoryview(text.encode("utf-8", "replace"))
    try:
        while rest:
            rest = rest[os.write(descriptor, rest) :]
    except OSError:
        return False
    return True


def _tell_stderr(event: Event) -> None:
    match event:
        case Notice(level="warning" | "error"):
            sys.stderr.write(f"bayou: {event.text}\n")
        case AutoRetryStart():
            sys.stderr.write(
                f"bayou: {event.error_message} Retrying in {event.delay_ms / 1000:.0f}s "
                f"({event.attempt} of {event.max_attempts}).\n"
            )
