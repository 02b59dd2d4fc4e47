"""How a run without a screen goes and ends: a prompt after the other, what went wrong, in words and as an exit code."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import assert_never

from app.assembly.inputs import FirstInput
from app.engine.core.prompt_intake import MissingApiKey, Refused
from app.engine.prompts import Disposition
from app.engine.session import Session
from app.printing import print_problem
from app.sessions.errors import SessionWriteError
from app.values.content import Image
from app.values.messages import AssistantMessage

Prepare = Callable[[], Awaitable[FirstInput]]
"""Completes the session once the face listens (extensions), and gives what is to be said in it."""
NO_PROMPT = "There is no prompt. Give one as an argument or on standard input."


READER_PATIENCE = 30.0
"""Seconds for which a reader may take nothing, once we have ended, before the rest is dropped."""
LAST_WORDS = 0.3
"""The same when a signal told us to end."""


class EndAsked:
    """An extension may ask bayou to end, which it does once the run has settled, as when nothing is left to do."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def ask(self) -> None:
        self._event.set()

    def skips(self, prompts: Sequence[str]) -> bool:
        """Whether these prompts are not sent any more, which is told."""
        if self._event.is_set() and prompts:
            left = "a further prompt was" if len(prompts) == 1 else f"{len(prompts)} further prompts were"
            print_problem(f"An extension ended bayou: {left} not sent.")
        return self._event.is_set()

    async def due(self, session: Session) -> None:
        await self._event.wait()
        await session.wait_until_idle()


async def say(session: Session, prompt: str, images: Sequence[Image]) -> Disposition:
    """Sends a prompt and waits until nothing is under way. A job that ended just now may have begun a run."""
    how = await session.prompt(prompt, images, while_running="follow_up", source="print")
    await session.wait_until_idle()
    return how


async def wait_for_jobs(session: Session) -> None:
    """The agent was promised that it hears of their ends; a person is told what keeps bayou from ending."""
    for job in session.jobs.all():
        if job.state == "running":
            print_problem(f"Waiting for background {job.id}: {job.title}")
    await session.wait_until_idle()
    while await session.jobs.wait_for_all():
        await session.wait_until_idle()


def refusal(problem: Refused) -> str:
    """Why nothing was asked, with what helps on a command line."""
    if isinstance(problem, MissingApiKey):
        return f"No API key found for {problem.provider}. Add one with: bayou auth login {problem.provider}"
    return str(problem)


NextStep = Callable[[AssistantMessage], str]
"""What helps where an answer failed."""
NO_STEP: NextStep = lambda _: ""  # noqa: E731  (as much a constant as a function)


def problem_of(message: AssistantMessage | None, next_step: NextStep = NO_STEP) -> str | None:
    """Why an answer does not count as one."""
    if message is None:
        return "The model gave no answer."
    match message.stop_reason:
        case "error":
            return _sentence(message.error_message or "The request failed.", next_step(message))
        case "aborted":
            return message.error_message or "The request was aborted."
        case "length":
            return "The answer was cut off: it reached the model's output limit."
        case "stop" | "toolUse" | "pending" | "deferred":
            return None
        case _:
            assert_never(message.stop_reason)


def _sentence(problem: str, step: str) -> str:
    if not step:
        return problem
    return f"{problem if problem.endswith(('.', '!', '?')) else f'{problem}.'} {step}"


def unwritten(session: Session) -> int:
    """Fails if what was said is not on the disk, though it was said."""
    try:
        session.log.write_kept()
    except SessionWriteError as problem:
        return fail(f"The session is not on the disk. {problem}")
    return 0


def fail(text: str) -> int:
    """Says so on standard error; returns the exit code."""
    print_problem(text)
    return 1
