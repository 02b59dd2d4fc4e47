"""Putting a question to whoever can answer, and waiting for the answer: a face's person, or a program."""

import asyncio
import uuid
from collections.abc import Callable
from typing import Any, Literal

import msgspec

from app.values.events import QuestionAsked

Keeps = Literal["session", "project", "person"]
"""For how long a rule counts: as long as the session, in this folder, wherever the person works."""


class ApprovalReply(msgspec.Struct, frozen=True, kw_only=True):
    """What a person answered."""

    allows: bool
    reason: str = ""
    """Told to the model with a no."""
    rule: str | None = None
    """From now on this is allowed."""
    keeps: Keeps = "session"
    """For how long the rule counts; more than the session's is written into the person's settings."""
    arguments: dict[str, Any] | None = None
    """The call as the person changed it; it is judged anew."""


async def answer_to(
    publish_now: Callable[[QuestionAsked], None],
    method: str,
    title: str,
    seconds: float | None = None,
    **more: Any,
) -> Any:
    """Raises `TimeoutError` after so many seconds."""
    answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    timeout = None if seconds is None else round(seconds * 1000)
    publish_now(
        QuestionAsked(
            id=str(uuid.uuid4()), method=method, title=title, timeout=timeout, answer=answer, **more
        )
    )
    return await asyncio.wait_for(answer, seconds)
