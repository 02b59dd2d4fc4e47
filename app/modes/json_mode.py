"""Implements JSON mode: prints the session's header, then every event, one object per line, of the same types
as in RPC. Each text is sent twice: in deltas, and complete."""

import asyncio

from app.engine.core.prompt_intake import SessionRequestRefused
from app.engine.session import Session
from app.exit_codes import USAGE_ERROR
from app.modes.answer_schema import AnswerSchema
from app.modes.event_deduplication import without_repeated_event_data
from app.modes.headless_runs import (
    EMPTY_REMEDY_FINDER,
    NO_PROMPT_ERROR,
    DeferredExitRequest,
    PrepareSession,
    RemedyFinder,
    add_headless_prompt_sections,
    check_run_end,
    print_failure,
    print_prompt_refusal,
    save_session_entries,
    send_prompt_and_wait,
    wait_for_background_jobs,
)
from app.modes.stdout_writer import (
    STDOUT_READER_TIMEOUT,
    STDOUT_READER_TIMEOUT_AFTER_SIGNAL,
    StdoutLineWriter,
    claim_stdout,
)
from app.modes.wire_events import EventLineWriter
from app.values.codec import encode
from app.values.events import AgentSettled


async def run_json_mode(
    session: Session,
    prepare: PrepareSession,
    *,
    merge: bool = True,
    next_step: RemedyFinder = EMPTY_REMEDY_FINDER,
    ending: DeferredExitRequest | None = None,
    schema: AnswerSchema | None = None,
) -> int:
    """Runs the prompts in JSON mode. The reason of a failure is also printed to standard error."""
    writer = StdoutLineWriter(claim_stdout())
    lines = EventLineWriter(writer.queue_line_in_pieces, merge=merge, shape=without_repeated_event_data)
    log = session.log
    writer.queue_line(encode(log.header))
    leave = session.subscribe(
        lines.handle_event, pace=writer.wait_for_output_space
    )  # a slow reader slows the session
    try:
        code = await writer.await_until_reader_gone(
            _run_prompts(session, prepare, next_step, ending or DeferredExitRequest(), schema)
        )
    except asyncio.CancelledError:
        # The session is being closed by other code; its last events are still printed.
        stalled = asyncio.ensure_future(writer.give_up_stalled_reader(STDOUT_READER_TIMEOUT_AFTER_SIGNAL))
        await session.wait_until_idle()
        stalled.cancel()
        _end_lines(lines)
        await writer.flush(STDOUT_READER_TIMEOUT_AFTER_SIGNAL)
        raise
    finally:
        leave()
    _end_lines(lines)
    if await writer.flush(STDOUT_READER_TIMEOUT) and code is not None:
        return code
    return print_failure(writer.failure) if writer.failure else 1


async def _run_prompts(
    session: Session,
    prepare: PrepareSession,
    next_step: RemedyFinder,
    ending: DeferredExitRequest,
    schema: AnswerSchema | None,
) -> int:
    given = await prepare()
    if not given.prompts:
        return print_failure(NO_PROMPT_ERROR, USAGE_ERROR)
    add_headless_prompt_sections(session, schema)
    how, answered, end = "", session.last_answer, None
    try:
        for index, prompt in enumerate(given.prompts):
            if index and ending.should_skip_prompts(given.prompts[index:]):
                break
            how = await send_prompt_and_wait(session, prompt, given.images if index == 0 else ())
            await session.events.wait_until_delivered()
        if not ending.should_skip_prompts(()):
            await wait_for_background_jobs(session)
        # otherwise the prompt was a command that called no model
        if how != "handled" or session.last_answer is not answered:
            end = await check_run_end(session, schema, next_step)
        await session.events.wait_until_delivered()
    except SessionRequestRefused as problem:
        return print_prompt_refusal(problem)
    return print_failure(end.problem, end.code) if end is not None else save_session_entries(session)


def _end_lines(lines: EventLineWriter) -> None:
    """Sends `agent_settled` even when no run was started, and writes the remaining deltas."""
    if not lines.has_settled:
        lines.handle_event(AgentSettled(aborted=False))
    lines.flush()
