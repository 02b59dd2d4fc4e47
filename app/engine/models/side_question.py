"""Side questions: the model reads the conversation and answers, and neither question nor answer enters the context.

The cost is recorded. A question can be asked while the agent works: the model then reads the conversation up to
the last turn whose calls all have results."""

from collections.abc import Callable, Sequence

import msgspec

from app.engine.core.conversation import Conversation
from app.engine.core.event_bus import EventBus
from app.engine.models.model_requests import ModelRequests
from app.engine.secrets.session_mask import SessionSecretMask
from app.sessions.errors import SessionWriteError
from app.values.entries import UsageEntry
from app.values.events import EntryAppended
from app.values.messages import AssistantMessage, Message, ToolResultMessage, user_message
from app.values.stream import TextDelta
from app.values.user_errors import UserError

_SIDE_QUESTION_TEMPLATE = (
    "A side question; the work continues afterwards as if it had not been asked. Answer from what you "
    "already know, in a few sentences, without calling tools.\n\n"
)

_HANDOFF_TEMPLATE = (
    "Work on the goal below continues in a new session that does not know this one. Write its first "
    "prompt, without calling tools and with no words before or after it: the goal; what was found out and "
    "decided that matters for it, with the reasons; the files and lines to look at; what was tried and "
    "does not work; what to do first and how to check it. Leave out what the goal does not need.\n\nGoal: "
    "{goal}"
)


class NoSideQuestionAnswer(UserError):
    """Raised if a side question could not be answered; the text says why."""


class SideQuestions(msgspec.Struct, frozen=True):
    """Asks the model questions about one session's conversation without changing it."""

    requests: ModelRequests
    conversation: Conversation
    masking: SessionSecretMask
    event_bus: EventBus

    async def ask_side_question(
        self, question: str, on_text: Callable[[str], None] = lambda text: None
    ) -> str:
        """Asks a side question and returns the whole answer; `on_text` gets it as it arrives. Cancelling stops it."""
        if not question.strip():
            raise NoSideQuestionAnswer(
                "There is no question. Type it after the command, as in /btw QUESTION."
            )
        return await self._request_answer(_SIDE_QUESTION_TEMPLATE + question, on_text)

    async def _request_answer(self, words: str, on_text: Callable[[str], None]) -> str:
        told = user_message(await self.masking.mask_text(words, "your question"))
        stream = await self.requests.request_unrecorded(
            [*omit_unanswered_tool_calls(self.conversation.messages_without_system), told]
        )
        try:
            async for event in stream:
                if isinstance(event, TextDelta):
                    on_text(event.delta)
            answer = await stream.final_message()
        finally:
            stream.cancel_response()
        if self.conversation.log.is_on_disk:
            await record_answer_usage(answer, "beside", self.conversation, self.event_bus)
        if answer.stop_reason == "error":
            raise NoSideQuestionAnswer(answer.error_message or "The question could not be asked.")
        if not answer.text.strip():
            raise NoSideQuestionAnswer(
                "The model tried to call tools instead of answering. Ask in the conversation instead of "
                "with /btw."
            )
        return answer.text

    async def draft_handoff(self, goal: str, on_text: Callable[[str], None] = lambda text: None) -> str:
        """Drafts the first prompt of a session that continues from here towards a goal."""
        if not goal.strip():
            raise NoSideQuestionAnswer("There is no goal. Type it after the command, as in /handoff GOAL.")
        if not any(
            isinstance(message, AssistantMessage) for message in self.conversation.messages_without_system
        ):
            raise NoSideQuestionAnswer(
                "This session has no messages to hand over yet. Start a new one with /new."
            )
        return await self._request_answer(_HANDOFF_TEMPLATE.format(goal=goal.strip()), on_text)


async def record_answer_usage(
    answer: AssistantMessage, kind: str, conversation: Conversation, event_bus: EventBus
) -> None:
    """Records the usage of a model's answer that is no message of the session."""
    if conversation.log.is_read_only:
        return
    entry = UsageEntry(
        parent_id=None, kind=kind, provider=answer.provider, model=answer.model, usage=answer.usage
    )
    try:
        stored = conversation.record_entry(entry)
    except SessionWriteError:
        return  # the run reports it, with advice
    await event_bus.publish(EntryAppended(entry=stored))


def omit_unanswered_tool_calls(messages: Sequence[Message]) -> Sequence[Message]:
    """Returns the messages up to the last one before tool calls without results."""
    for at in range(len(messages) - 1, -1, -1):
        message = messages[at]
        if isinstance(message, AssistantMessage):
            wanted = {call.id for call in message.tool_calls}
            told = {one.tool_call_id for one in messages[at:] if isinstance(one, ToolResultMessage)}
            return messages if wanted <= told else messages[:at]
    return messages
