"""Putting a question to whoever can answer, and waiting for the answer: a face's person, or a program."""

import asyncio
import uuid
from collections.abc import Callable, Coroutine
from typing import Any, Literal

import msgspec

from app.engine.core.event_bus import EventBus
from app.engine.core.options import SessionOptions
from app.values.events import QuestionAsked

RuleScope = Literal["session", "project", "person"]
"""For how long a rule counts: as long as the session, in this folder, wherever the person works."""


class ApprovalReply(msgspec.Struct, frozen=True, kw_only=True):
    """What a person answered."""

    allows: bool
    reason: str = ""
    """Told to the model with a no."""
    rule: str | None = None
    """From now on this is allowed."""
    keeps: RuleScope = "session"
    """For how long the rule counts; more than the session's is written into the person's settings."""
    arguments: dict[str, Any] | None = None
    """The call as the person changed it; it is judged anew."""


async def ask_question(
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


class RuleChanges:
    """Mode and rules may change while a question stands: then it is looked at anew."""

    def __init__(self, options: SessionOptions, telling: EventBus) -> None:
        self._in_force = options.in_force
        self._telling = telling
        self.now = asyncio.Event()
        """Set with the next change of settings; there is a new one then."""
        options.in_force.subscribe(lambda before: self._note())

    def _note(self) -> None:
        changed, self.now = self.now, asyncio.Event()
        changed.set()

    def _read_again(self) -> None:
        """Another program, or the person's editor, may have written a rule while the question stood."""
        for problem in self._in_force.follow():
            self._telling.notify(str(problem), "warning")

    async def answer(
        self,
        asking: Coroutine[Any, Any, ApprovalReply | None],
        is_asked: Callable[[], bool],
        *,
        since: asyncio.Event,
    ) -> tuple[bool, ApprovalReply | None]:
        """Whether the question stands to its end, and its answer. `is_asked`: whether it still has to be asked, for a
        thread; where it has not, the question is taken back. `since`: `now`, before the call was judged."""
        question = asyncio.ensure_future(asking)
        try:
            while True:
                change = asyncio.ensure_future(since.wait())
                await asyncio.wait({question, change}, return_when=asyncio.FIRST_COMPLETED)
                change.cancel()
                if question.done():
                    reply = question.result()
                    if reply is None or not reply.allows:
                        return True, reply
                    self._read_again()
                    if not since.is_set():
                        return True, reply
                since = self.now
                if not await asyncio.to_thread(is_asked):
                    return False, None
        finally:
            question.cancel()
