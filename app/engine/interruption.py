"""Stopping an answer for what it says: it leaves the context, and the run goes on behind a message that says why."""

from collections.abc import Callable

import msgspec

from app.engine.conversation import Conversation
from app.engine.requests import Requests
from app.engine.runs import NextRun
from app.engine.telling import Telling
from app.values.events import AnswerInterrupted, EntryAppended
from app.values.messages import AssistantMessage, CustomMessage


class Interruption(msgspec.Struct, eq=False):
    """Whether the answer that is arriving is wanted."""

    requests: Requests
    conversation: Conversation
    telling: Telling
    next_run: NextRun
    is_answering: Callable[[], bool]
    _why: CustomMessage | None = None

    @property
    def is_wished(self) -> bool:
        return self._why is not None

    def wish(self, why: CustomMessage) -> bool:
        """False: no answer is arriving, or it is stopped already."""
        if self.is_wished or not self.is_answering():
            return False
        self._why = why
        self.next_run.calls(self._forget)
        if self.requests.stream is not None:
            self.requests.stream.cancel()
        return True

    def _forget(self) -> None:
        self._why = None

    async def leave_out(self, answer: AssistantMessage) -> CustomMessage:
        """Returns what is to be delivered in its place."""
        assert self._why is not None
        why, self._why = self._why, None
        await self.telling.publish(
            AnswerInterrupted(message_id=answer.id, custom_type=why.custom_type, details=why.details)
        )
        await self.telling.publish(EntryAppended(entry=self.conversation.omit(answer.id)))
        return why
