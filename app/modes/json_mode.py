"""Implements JSON mode: prints the session's header, then every event, one object per line, of the same types
as in RPC. Each text is sent twice: in deltas, and complete."""

import asyncio

from app.engine.core.prompt_intake import RequestRefused
from app.engine.session import Session
from app.exit_codes import USAGE_ERROR
from app.modes.answer_schema import AnswerSchema
from app.modes.event_deduplication import without_repeats
from app.modes.headless_runs import (
    NO_PROMPT_ERROR,
    NO_REMEDY,
    EndRequest,
    PrepareSession,
    RemedyFinder,
    add_headless_sections,
    check_run_end,
    flush_session,
    print_failure,
    print_refusal,
    send_prompt,
    wait_for_jobs,
)
from app.modes.stdout_writer import READER_TIMEOUT, SIGNALLED_READER_TIMEOUT, LineWriter, claim_stdout
from app.modes.wire_events import EventLineWriter
from app.values.codec import encode
from app.values.events import AgentSettled


async def run_json(
    session: Session,
    prepare: PrepareSession,
    *,
    merge: bool = True,
    next_step: RemedyFinder = NO_REMEDY,
    ending: EndRequest | None = None,
    schema: AnswerSchema | None = None,
) -> int:
    """Runs the prompts in JSON mode. The reason of a failure is also printed to standard error."""
    writer = LineWriter(claim_stdout())
    lines = EventLineWriter(writer.put_pieces, merge=merge, shape=without_repeats)
    log = session.log
    writer.put_line(encode(log.header))
    leave = session.subscribe(
        lines.handle_event, pace=writer.wait_for_space
    )  # a slow reader slows the session
    try:
        code = await writer.await_while_read(
            _run_prompts(session, prepare, next_step, ending or EndRequest(), schema)
        )
    except asyncio.CancelledError:
        # The session is being closed by other code; its last events are still printed.
        stalled = asyncio.ensure_future(writer.give_up_when_stalled(SIGNALLED_READER_TIMEOUT))
        await session.wait_until_idle()
        stalled.cancel()
        _end_lines(lines)
        await writer.flush(SIGNALLED_READER_TIMEOUT)
        raise
    finally:
        leave()
    _end_lines(lines)
    if await writer.flush(READER_TIMEOUT) and code is not None:
        return code
    return print_failure(writer.failure) if writer.failure else 1


async def _run_prompts(
    session: Session,
    prepare: PrepareSession,
    next_step: RemedyFinder,
    ending: EndRequest,
    schema: AnswerSchema | None,
) -> int:
    given = await prepare()
    if not given.prompts:
        return print_failure(NO_PROMPT_ERROR, USAGE_ERROR)
    add_headless_sections(session, schema)
    how, answered, end = "", session.last_answer, None
    try:
        for index, prompt in enumerate(given.prompts):
            if index and ending.should_skip(given.prompts[index:]):
                break
            how = await send_prompt(session, prompt, given.images if index == 0 else ())
            await session.events.wait_until_delivered()
        if not ending.should_skip(()):
            await wait_for_jobs(session)
        # otherwise the prompt was a command that called no model
        if how != "handled" or session.last_answer is not answered:
            end = await check_run_end(session, schema, next_step)
        await session.events.wait_until_delivered()
    except RequestRefused as problem:
        return print_refusal(problem)
    return print_failure(end.problem, end.code) if end is not None else flush_session(session)


def _end_lines(lines: EventLineWriter) -> None:
    """Sends `agent_settled` even when no run was started, and writes the remaining deltas."""
    if not lines.has_settled:
        lines.handle_event(AgentSettled(aborted=False))
    lines.flush()
