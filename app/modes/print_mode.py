"""Implements print mode: sends the prompts one after the other, and prints the last answer's text to standard
output.

Fails with the reason on standard error when an answer ended in an error, was aborted or was cut off.
"""

import os

from app.engine.core.prompt_intake import SessionRequestRefused
from app.engine.session import Session
from app.exit_codes import FAILED, USAGE_ERROR
from app.modes.answer_schema import AnswerSchema, strip_code_fence_around_json
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
from app.modes.stdout_writer import claim_stdout
from app.printing import print_problem
from app.sessions.errors import system_error_text
from app.values.entries import CustomMessageEntry, MessageEntry
from app.values.events import AutoRetryStart, Event, ExtensionError, MessageEnd, Notice, PlanProposed
from app.values.messages import AssistantMessage, CustomMessage
from app.values.todos import GOAL_CHECK_MESSAGE_TYPE, Goal
from app.values.wire import from_wire
from tools.text_sanitizing import escape_for_terminal

_ANSWER_CHARS_PER_WRITE = 65536
"""The number of characters encoded at once, so that a large answer is not copied as a whole."""


async def run_print_mode(
    session: Session,
    prepare: PrepareSession,
    next_step: RemedyFinder = EMPTY_REMEDY_FINDER,
    *,
    ending: DeferredExitRequest | None = None,
    schema: AnswerSchema | None = None,
) -> int:
    own, ending = claim_stdout(), ending or DeferredExitRequest()
    session.subscribe(_print_notice)
    given = await prepare()
    if not given.prompts:
        return print_failure(NO_PROMPT_ERROR, USAGE_ERROR)
    add_headless_prompt_sections(session, schema)
    before, answered, end = len(session.log.entries), session.last_answer, None
    try:
        for index, prompt in enumerate(given.prompts):
            if index and ending.should_skip_prompts(given.prompts[index:]):
                break
            how = await send_prompt_and_wait(session, prompt, given.images if index == 0 else ())
            if index == len(given.prompts) - 1 and not ending.should_skip_prompts(()):
                await wait_for_background_jobs(session)
            if session.last_answer is answered:
                if how == "handled":
                    continue  # the prompt was a command that called no model
                return print_failure("The run ended without an answer.")
            is_last = index == len(given.prompts) - 1
            end = await check_run_end(session, schema if is_last else None, next_step)
            if end is not None and not end.has_answer:
                return print_failure(end.problem, end.code)
            answered = session.last_answer
    except SessionRequestRefused as problem:
        return print_prompt_refusal(problem)
    said = _append_plan(_last_answer(session, before), session.plan.unanswered_proposal)
    if schema is not None and end is None and said is not None:
        said = strip_code_fence_around_json(said)
    failure = None
    if said is not None:
        failure = _write_text(own, said.rstrip("\n")) or _write_text(own, "\n")
    if failure is not None:
        return print_failure(failure) if failure else FAILED
    return print_failure(end.problem, end.code) if end is not None else save_session_entries(session)


def _last_answer(session: Session, before: int) -> str | None:
    """Returns the last answer to these prompts, or the message that an extension's command shows."""
    for entry in reversed(session.log.entries[before:]):
        if isinstance(entry, MessageEntry) and isinstance(entry.message, AssistantMessage):
            return entry.message.text
        if (
            isinstance(entry, CustomMessageEntry)
            and entry.display
            and entry.custom_type != GOAL_CHECK_MESSAGE_TYPE
        ):
            return session.text_of_custom_message(
                CustomMessage(custom_type=entry.custom_type, content=entry.content, details=entry.details)
            )
    return None


def _append_plan(said: str | None, proposed: PlanProposed | None) -> str | None:
    """Adds a proposed plan that is missing in the answer: plan mode ends with the call that proposes the
    plan."""
    if proposed is None or (said is not None and proposed.plan.strip() in said):
        return said
    plan = f"# {proposed.title}\n\n{proposed.plan.strip()}"
    return f"{said.rstrip()}\n\n{plan}" if said and said.strip() else plan


def _write_text(descriptor: int, text: str) -> str | None:
    """Writes the text; returns an error text, empty when the reader has gone, or None on success."""
    if os.isatty(descriptor):
        text = escape_for_terminal(text)  # the model's output must not control a person's terminal
    try:
        for start in range(0, len(text), _ANSWER_CHARS_PER_WRITE):
            rest = memoryview(text[start : start + _ANSWER_CHARS_PER_WRITE].encode("utf-8", "replace"))
            while rest:
                rest = rest[os.write(descriptor, rest) :]
    except BrokenPipeError:
        return ""
    except OSError as problem:
        return f"The answer could not be written to standard output: {system_error_text(problem)}."
    return None


def _print_goal_check(message: CustomMessage) -> None:
    """Prints the result of a goal's check to standard error."""
    if message.custom_type == GOAL_CHECK_MESSAGE_TYPE:
        from app.engine.goals.goal_texts import short_goal_check_text  # noqa: PLC0415  (most runs have no goal)

        print_problem(short_goal_check_text(from_wire(message.details, Goal)))


def _print_notice(event: Event) -> None:
    if isinstance(event, Notice):
        print_problem(event.text)
    elif isinstance(event, MessageEnd) and isinstance(event.message, CustomMessage):
        _print_goal_check(event.message)
    elif isinstance(event, ExtensionError):
        print_problem(f"{event.extension_path} ({event.event}): {event.error}")
    elif isinstance(event, AutoRetryStart):
        print_problem(
            f"{event.error_message.rstrip('.')}. Retrying in {event.delay_ms / 1000:.0f}s "
            f"({event.attempt} of {event.max_attempts})."
        )
