"""Runs prompts without a screen, one after the other, and describes a failed end as text and exit code."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import assert_never

import msgspec

from app.assembly.command_line_options import UsageError
from app.assembly.command_line_prompt import CommandLinePrompts
from app.engine.core.prompt_intake import MissingApiKey, SessionRequestRefused
from app.engine.goals.session_goal import GoalRefused
from app.engine.permissions.verdict_log import PastPermissionVerdict
from app.engine.prompt_submission import PromptDisposition
from app.engine.session import Session
from app.exit_codes import (
    BLOCKED,
    FAILED,
    LIMIT_REACHED,
    PERMISSION_REFUSED,
    PROVIDER_FAILED,
    SCHEMA_MISMATCH,
    USAGE_ERROR,
)
from app.modes.answer_schema import MAX_ANSWER_REPAIRS, AnswerSchema, UnusableSchema
from app.printing import print_problem
from app.sessions.errors import SessionWriteError
from app.values.content import Image
from app.values.entries import MessageEntry
from app.values.messages import AssistantMessage, ToolResultMessage
from app.values.todos import GoalCheck

PrepareSession = Callable[[], Awaitable[CommandLinePrompts]]
"""Completes the session (loads extensions) once the mode listens, and returns the prompts to send."""
_UNATTENDED_RUN_PROMPT_SECTION = (
    "The user cannot answer questions during this run. If you need something that only the user can "
    "provide, say so in your last message and end it with a line that begins with BLOCKED: and names what "
    "you need."
)
NO_PROMPT_ERROR = "No prompt was given. Pass one as an argument or on standard input."


class DeferredExitRequest:
    """Holds an extension's request to end bayou, which takes effect once the run has settled."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def request_exit(self) -> None:
        self._event.set()

    def should_skip_prompts(self, prompts: Sequence[str]) -> bool:
        """Whether bayou is to end, so that these prompts are not sent; prints a note about them."""
        if self._event.is_set() and prompts:
            print_problem(f"An extension ended bayou. Prompts that were not sent: {len(prompts)}.")
        return self._event.is_set()

    async def wait_until_due(self, session: Session) -> None:
        await self._event.wait()
        await session.wait_until_idle()


async def set_goal(
    session: Session, given: CommandLinePrompts, commands: Sequence[str]
) -> CommandLinePrompts:
    """Makes the prompt the session's goal, which these commands check (`--goal-check`). Raises `UsageError`."""
    if not commands or not given.prompts:
        return given
    goal, *others = given.prompts
    if others:
        raise UsageError("--goal-check takes one prompt, which is the goal. Join the prompts into one.")
    try:
        await session.goal.set_goal(goal, [GoalCheck(command=command) for command in commands])
    except GoalRefused as problem:
        raise UsageError(f"--goal-check: {problem}") from None
    return given


async def send_prompt_and_wait(session: Session, prompt: str, images: Sequence[Image]) -> PromptDisposition:
    """Sends a prompt and waits until no run is active, including a run that a finished job has started."""
    how = await session.prompt(prompt, images, while_running="follow_up", source="print")
    await session.wait_until_idle()
    return how


async def wait_for_background_jobs(session: Session) -> None:
    """Waits for background jobs whose end the agent expects; prints a note on what delays the end."""
    for job in session.jobs.all():
        if job.state == "running":
            print_problem(f"Waiting for background {job.id}: {job.title}")
    await session.wait_until_idle()
    try:
        async with asyncio.timeout(session.budget.seconds_left):
            while await session.jobs.wait_until_all_reported():
                await session.wait_until_idle()
    except TimeoutError:
        session.budget.note_time_limit_reached()


def print_prompt_refusal(problem: SessionRequestRefused) -> int:
    """Prints why no prompt was sent, with a remedy for the command line; returns the exit code."""
    if isinstance(problem, MissingApiKey):
        provider = problem.provider
        return print_failure(
            f"No API key found for {provider}. Add one with: bayou auth login {provider}", PROVIDER_FAILED
        )
    return print_failure(str(problem), USAGE_ERROR)


RemedyFinder = Callable[[AssistantMessage], str]
"""Returns the remedy for a failed answer."""
EMPTY_REMEDY_FINDER: RemedyFinder = lambda _: ""  # noqa: E731  (as much a constant as a function)


class FailedRun(msgspec.Struct, frozen=True):
    """A failed end of a run, as an exit code and a text."""

    code: int
    problem: str
    has_answer: bool = False
    """Whether the run has a valid answer all the same."""


async def check_run_end(
    session: Session, schema: AnswerSchema | None = None, next_step: RemedyFinder = EMPTY_REMEDY_FINDER
) -> FailedRun | None:
    """Checks the end of a run; None: the last answer is valid, and nothing is open. Asks again for an answer
    that does not match `schema`."""
    misfit = ""
    for repair in range(MAX_ANSWER_REPAIRS + 1):
        if (failed := _answer_failure(session, next_step)) is not None:
            return failed
        if (left_open := _unmet_goal(session) or _unfinished_end(session)) is not None:
            return left_open
        try:
            misfit = (
                schema.schema_mismatch_text(session.last_answer.text)
                if schema and session.last_answer
                else ""
            )
        except UnusableSchema as problem:
            return FailedRun(
                USAGE_ERROR,
                f"The schema of --output-schema cannot be used: {problem}. Correct the schema file.",
            )
        if not misfit:
            return None
        if repair < MAX_ANSWER_REPAIRS:
            await send_prompt_and_wait(session, AnswerSchema.repair_prompt(misfit), ())
    return FailedRun(SCHEMA_MISMATCH, f"The answer does not match the schema: {misfit}.")


def _answer_failure(session: Session, next_step: RemedyFinder) -> FailedRun | None:
    """Returns why the last answer is not valid; None when it is."""
    if session.budget.has_run_out:
        return FailedRun(
            LIMIT_REACHED,
            f"The limit of {session.budget.limits.max_seconds:g} seconds was reached, and the run was stopped. "
            "Raise it with --time-limit.",
        )
    message = session.last_answer
    if message is None:
        return FailedRun(FAILED, "The model gave no answer.")
    match message.stop_reason:
        case "error" if session.budget.has_refused_request:
            return FailedRun(LIMIT_REACHED, message.error_message or "A limit of this run was reached.")
        case "error":
            problem = message.error_message or "The request failed."
            return FailedRun(PROVIDER_FAILED, _problem_sentence(problem, next_step(message)))
        case "aborted":
            return FailedRun(FAILED, message.error_message or "The request was aborted.")
        case "length":
            return FailedRun(FAILED, "The answer was cut off: it reached the model's output limit.")
        case "stop" | "toolUse" | "pending" | "deferred":
            return None
        case _:
            assert_never(message.stop_reason)


def _unmet_goal(session: Session) -> FailedRun | None:
    """Returns the failure of a goal that is not met; None if it is met, or if there is no goal."""
    view = session.goal.goal_view
    if view is None:
        return None
    goal = view.goal
    match goal.status:
        case "done" | "blocked":  # the answer of a blocked agent says so
            return None
        case "limit":
            return FailedRun(
                LIMIT_REACHED, f"The run ended before the goal was met: {goal.reason}.", has_answer=True
            )
        case "refused":
            return FailedRun(
                PERMISSION_REFUSED, f"The run ended before the goal was met: {goal.reason}.", has_answer=True
            )
        case "active" | "paused":
            why = goal.reason or "the check was not run"
            return FailedRun(FAILED, f"The run ended before the goal was met: {why}.", has_answer=True)
        case _:
            assert_never(goal.status)


def _unfinished_end(session: Session) -> FailedRun | None:
    """Returns the failure of an agent that is blocked, or that stopped after a refused call; None for neither, or
    if the goal is met."""
    answer = session.last_answer
    if (view := session.goal.goal_view) is not None and view.goal.status == "done":
        return None
    if answer is not None and (needed := answer.blocked_on):
        return FailedRun(BLOCKED, f"The agent is blocked: {needed}", has_answer=True)
    if (refused := _refused_call(session)) is not None:
        problem = (
            f"The agent stopped after its call of {refused.tool} was refused: "
            f"{refused.decision.decisive_part.part.text}. "
            "Allow it with a rule or another mode (--permissions)."
        )
        return FailedRun(PERMISSION_REFUSED, problem, has_answer=True)
    return None


def add_headless_prompt_sections(session: Session, schema: AnswerSchema | None) -> None:
    """Tells the model in the system prompt that no person follows the run, and the schema of the answer."""
    session.requests.set_prompt_section("unattended", _UNATTENDED_RUN_PROMPT_SECTION)
    if schema is not None:
        session.requests.set_prompt_section("answer_schema", schema.prompt_section)


def _refused_call(session: Session) -> PastPermissionVerdict | None:
    """Returns a refused call among those right before the last answer."""
    calls: set[str] = set()
    for entry in reversed(session.log.entries):
        if not isinstance(entry, MessageEntry):
            continue
        if isinstance(entry.message, ToolResultMessage):
            calls.add(entry.message.tool_call_id)
        elif calls or not isinstance(entry.message, AssistantMessage):  # otherwise this is the answer itself
            break
    past = session.permissions.gate_state().past_verdicts
    return next((one for one in past if one.call_id in calls and one.outcome == "refused"), None)


def _problem_sentence(problem: str, step: str) -> str:
    if not step:
        return problem
    return f"{problem if problem.endswith(('.', '!', '?')) else f'{problem}.'} {step}"


def save_session_entries(session: Session) -> int:
    """Writes the unsaved entries of the session to disk; returns the exit code of a failure, or 0."""
    try:
        session.log.write_held_entries()
    except SessionWriteError as problem:
        return print_failure(f"The session was not saved. {problem}")
    return 0


def print_failure(text: str, code: int = FAILED) -> int:
    """Prints an error to standard error; returns the exit code."""
    print_problem(text)
    return code
