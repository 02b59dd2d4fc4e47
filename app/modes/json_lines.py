"""JSON mode: the session's header, then every event, one object a line. Deltas only; the same union as RPC's."""

import sys
from collections.abc import Sequence

from app.engine.session import Refused, Session
from app.modes.endings import Prepare, fail, problem_of
from app.modes.wire_events import EventLines
from app.values.codec import encode
from app.values.content import Image


async def run_json(
    session: Session,
    prepare: Prepare,
    prompts: Sequence[str],
    images: Sequence[Image] = (),
    *,
    merge: bool = True,
) -> int:
    """Exits 1 when the last answer failed, with the reason on standard error too."""
    lines = EventLines(write_line, merge=merge)
    write_line(encode(session.log.header))
    session.subscribe(lines.tell, may_slow=True)
    await prepare()
    try:
        for index, prompt in enumerate(prompts):
            await session.prompt(prompt, images if index == 0 else ())
            await session.wait_until_idle()
            await session.drain()
    except Refused as problem:
        return fail(str(problem))
    finally:
        lines.flush()
    problem = problem_of(session.conversation.last_assistant)
    return fail(problem) if problem else 0


def write_line(line: bytes) -> None:
    sys.stdout.buffer.write(line + b"\n")
    sys.stdout.buffer.flush()
