"""How words and messages reach the model: as a prompt that begins a run, through a queue, or with what comes next."""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from app.agent.queues import Aside, QueueName
from app.engine.intake import Refused, Words, require_content
from app.values.messages import CustomMessage, Message, user_message

if TYPE_CHECKING:
    from app.engine.session import Session

Disposition = Literal["started", "queued", "handled"]
DeliverAs = Literal["steer", "follow_up", "next_turn", "aside"]


class Talking:
    """Takes what is said to one session."""

    def __init__(self, session: "Session") -> None:
        self._session = session
        self._waking: asyncio.Task[None] | None = None

    async def prompt(self, words: Words, *, expand: bool) -> Disposition:
        session = self._session
        require_content(words.text, words.images)
        if session.is_running and words.while_running is None and not session.intake.is_command(words.text):
            raise Refused(
                "Agent is already processing. Specify streamingBehavior ('steer' or 'followUp') "
                "to queue the message."
            )
        taken = await session.intake.take(words, expand=expand)
        if taken is None:
            return "handled"
        message = user_message(taken.text, taken.images)
        if session.is_running:
            return self._queue(words, [message])
        if session.compactor.is_running:
            raise Refused(
                "Cannot submit a prompt while compaction is in progress. Wait for compaction to finish and retry."
            )
        session.require_model()
        companions = await session.intake.companions(taken)
        if session.is_running:  # something else began while extensions were asked
            return self._queue(words, [*companions, message])
        self._start([*session.queues.take_next_turn(), *companions, message])
        return "started"

    def _queue(self, words: Words, messages: Sequence[Message]) -> Disposition:
        for message in messages:
            self._session.queues.add(
                "follow_up" if words.while_running == "follow_up" else "steering",
                message,  # pyright: ignore[reportArgumentType]  (a person's or an extension's)
            )
        return "queued"

    async def queue(self, queue: QueueName, words: Words) -> Disposition:
        session = self._session
        require_content(words.text, words.images)
        if session.intake.is_command(words.text):
            raise Refused(
                f'Extension command "{words.text.split()[0]}" cannot be queued. '
                "Use prompt() or execute the command when not streaming."
            )
        taken = await session.intake.take(words)
        if taken is None:
            return "handled"
        session.queues.add(queue, user_message(taken.text, taken.images))
        return "queued"

    def resume(self) -> None:
        self._session.require_idle("Continuing")
        self._session.require_model()
        self._start([])

    async def send(
        self, message: CustomMessage, *, deliver_as: DeliverAs, trigger: bool, call_id: str | None
    ) -> str:
        session = self._session
        if deliver_as == "next_turn":
            session.queues.hold_for_next_turn(message)
            return message.id
        if session.is_running and deliver_as == "aside":
            session.queues.add_aside(Aside(message=message, call_id=call_id))
        elif session.is_running:
            session.queues.add("steering" if deliver_as == "steer" else "follow_up", message)
        elif trigger:
            session.require_model()
            if session.is_compacting:  # the summary that is being written knows nothing of this message
                session.queues.add("steering" if deliver_as == "steer" else "follow_up", message)
                self._waking = asyncio.ensure_future(self._wake_behind_summary())
            else:
                self._start([message])
        else:
            await session.runner.append(message)
        return message.id

    async def _wake_behind_summary(self) -> None:
        session = self._session
        await session.until_summarised()
        if not session.is_running:
            waiting = session.queues.take("steering") or session.queues.take("follow_up")
            if waiting:
                self._start(list(waiting))

    def close(self) -> None:
        if self._waking is not None:
            self._waking.cancel()

    def _start(self, messages: Sequence[Message]) -> None:
        self._session.compactor.prompt_began()
        self._session.runner.start(messages)
