"""Putting a question to whoever can answer, and waiting for the answer: a face's person, or a program."""

import asyncio
import uuid
from collections.abc import Callable
from typing import Any

from app.values.events import QuestionAsked


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
