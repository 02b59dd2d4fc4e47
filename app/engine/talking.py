"""How words and messages reach the model: as a prompt that begins a run, through a queue, or with what comes next."""

import asyncio
from collections.abc import Sequence
from typing import Literal

from app.agent.queues import Aside, QueueName
from app.engine.intake import Refused, Words, require_content
from app.engine.workings import Workings
from app.values.messages import CustomMessage, Message, user_message

Disposition = Literal["started", "queued", "handled"]
DeliverAs = Literal["steer", "follow_up", "next_turn", "aside"]


class Talking:
    """Takes what is said to one workings."""

    def __init__(self, workings: Workings) -> None:
        self._workings = workings
        self._waking: asyncio.Task[None] | None = None

    async def prompt(self, words: Words, *, expand: bool) -> Disposition:
        workings = self._workings
        require_content(words.text, words.images)
        if workings.is_running and words.while_running is None and not workings.intake.is_command(words.text):
            raise Refused(
                "Agent is already processing. Specify streamingBehavior ('steer' or 'followUp') "
                "to queue the message."
            )
        taken = await workings.intake.take(words, expand=expand)
        if taken is None:
            return "handled"
        message = user_message(taken.text, taken.images)
        if workings.is_running:
            return self._queue(words, [message])
        if workings.compactor.is_running:
            raise Refused(
                "Cannot submit a prompt while compaction is in progress. Wait for compaction to finish and retry."
            )
        workings.require_model()
        companions = await workings.intake.companions(taken)
        if workings.is_running:  # something else began while extensions were asked
            return self._queue(words, [*companions, message])
        self._start([*workings.queues.take_next_turn(), *companions, message])
        return "started"

    def _queue(self, words: Words, messages: Sequence[Message]) -> Disposition:
        for message in messages:
            self._workings.queues.add(
                "follow_up" if words.while_running == "follow_up" else "steering",
                message,  # pyright: ignore[reportArgumentType]  (a person's or an extension's)
            )
        return "queued"

    async def queue(self, queue: QueueName, words: Words) -> Disposition:
        workings = self._workings
        require_content(words.text, words.images)
        if workings.intake.is_command(words.text):
            raise Refused(
                f'Extension command "{words.text.split()[0]}" cannot be queued. '
                "Use prompt() or execute the command when not streaming."
            )
        taken = await workings.intake.take(words)
        if taken is None:
            return "handled"
        workings.queues.add(queue, user_message(taken.text, taken.images))
        return "queued"

    def resume(self) -> None:
        self._workings.require_idle("Continuing")
        self._workings.require_model()
        self._start([])

    async def send(
        self,
        message: CustomMessage,
        *,
        deliver_as: DeliverAs,
        trigger: bool = False,
        call_id: str | None = None,
    ) -> str:
        workings = self._workings
        if deliver_as == "next_turn":
            workings.queues.hold_for_next_turn(message)
            return message.id
        if workings.is_running and deliver_as == "aside":
            workings.queues.add_aside(Aside(message=message, call_id=call_id))
        elif workings.is_running:
            workings.queues.add("steering" if deliver_as == "steer" else "follow_up", message)
        elif trigger:
            workings.require_model()
            if workings.is_compacting:  # the summary that is being written knows nothing of this message
                workings.queues.add("steering" if deliver_as == "steer" else "follow_up", message)
                self._waking = asyncio.ensure_future(self._wake_behind_summary())
            else:
                self._start([message])
        else:
            await workings.runner.append(message)
        return message.id

    async def _wake_behind_summary(self) -> None:
        workings = self._workings
        await workings.until_summarised()
        if not workings.is_running:
            waiting = workings.queues.take("steering") or workings.queues.take("follow_up")
            if waiting:
                self._start(list(waiting))

    def close(self) -> None:
        if self._waking is not None:
            self._waking.cancel()

    def _start(self, messages: Sequence[Message]) -> None:
        self._workings.compactor.prompt_began()
        self._workings.runner.start(messages)
