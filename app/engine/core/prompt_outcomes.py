"""Publishes exactly one outcome for each prompt that a client sent with an id, also for failed and dropped
prompts."""

import asyncio
from collections.abc import Callable
from typing import Any, Literal

import msgspec

from app.agent.message_queues import MessageQueues
from app.engine.core.event_bus import EventBus
from app.engine.core.prompt_intake import PromptInput
from app.providers.failure_kinds import AnswerFailure
from app.values.events import (
    AgentSettled,
    Event,
    MessageEnd,
    MessageStart,
    Notice,
    PromptFailure,
    PromptResult,
)
from app.values.messages import AssistantMessage, Message, UserMessage

OutcomeStatus = Literal["completed", "aborted", "error"]
_NO_ANSWER_TEXT = "The run ended before the model answered."


class _OpenPrompt(msgspec.Struct, kw_only=True):
    """A prompt of a client whose outcome is not published yet."""

    id: Any
    message_id: str
    is_follow_up: bool
    is_delivered: bool = False
    answer: AssistantMessage | None = None
    """The last answer since the prompt was delivered; None if there is none yet."""


class PromptOutcomes:
    """The prompts of one session whose outcome clients wait for."""

    def __init__(
        self,
        event_bus: EventBus,
        queues: MessageQueues,
        failure_of: Callable[[AssistantMessage], AnswerFailure],
    ) -> None:
        self._event_bus = event_bus
        self._queues = queues
        self._classify_failure = failure_of
        self._open_prompts: list[_OpenPrompt] = []
        self._last_error = ""
        """The last error of the session itself, and not of an answer, since a prompt was delivered."""
        self._unsubscribe: Callable[[], None] | None = None
        """The function that unsubscribes from the events; None while no prompts are open."""

    def track_prompt(self, words: PromptInput, message: Message) -> None:
        """Notes a prompt that a client sent with an id, and that is delivered now or waits in a queue."""
        self._open_prompts.append(
            _OpenPrompt(
                id=words.request_id,
                message_id=message.id,
                is_follow_up=words.queue_while_running == "follow_up",
            )
        )
        if self._unsubscribe is None:
            self._unsubscribe = self._event_bus.subscribe(self._handle_event)

    def is_outcome_awaited(self, message_id: str) -> bool:
        """Whether a client sent this message as a prompt, and waits for its outcome."""
        return any(prompt.message_id == message_id for prompt in self._open_prompts)

    def publish_handled_prompt(self, request_id: Any) -> None:
        """Publishes the outcome of a prompt that needs no model, once its request has been answered."""
        if request_id is not None:
            result = PromptResult(id=request_id, agent_invoked=False, status="completed")
            asyncio.get_running_loop().call_soon(self._event_bus.publish_now, result)

    def publish_removed_prompt(self, message_id: str) -> None:
        """Publishes the outcome of a prompt that was removed from its queue."""
        for prompt in tuple(self._open_prompts):
            if prompt.message_id == message_id:
                self._publish_outcome(prompt, "aborted", session_settled=False)

    def close(self) -> None:
        """Publishes outcomes for all open prompts, since the session ends."""
        for prompt in tuple(self._open_prompts):
            self._publish_outcome(prompt, "aborted")

    def _handle_event(self, event: Event) -> None:
        if isinstance(event, MessageStart) and isinstance(event.message, UserMessage):
            self._note_delivered(event.message.id)
        elif isinstance(event, MessageEnd) and isinstance(event.message, AssistantMessage):
            for prompt in self._open_prompts:
                if prompt.is_delivered:
                    prompt.answer = event.message
        elif isinstance(event, Notice) and event.level == "error":
            self._last_error = event.text
        elif isinstance(event, AgentSettled):
            self._publish_outcomes_at_settle(is_aborted=event.aborted)

    def _note_delivered(self, message_id: str) -> None:
        prompt = next((one for one in self._open_prompts if one.message_id == message_id), None)
        if prompt is None:
            return
        self._last_error = ""
        if prompt.is_follow_up:  # it waits until the agent has finished its earlier work
            for earlier in tuple(self._open_prompts):
                if earlier.is_delivered:
                    self._publish_outcome(earlier, _outcome_status(earlier), session_settled=False)
        prompt.is_delivered = True

    def _publish_outcomes_at_settle(self, *, is_aborted: bool) -> None:
        waiting = {
            message.id
            for queue in ("steering", "follow_up")
            for message in self._queues.queued_messages(queue)
        }
        for prompt in tuple(self._open_prompts):
            if prompt.message_id not in waiting:
                self._publish_outcome(prompt, "aborted" if is_aborted else _outcome_status(prompt))

    def _publish_outcome(
        self, prompt: _OpenPrompt, status: OutcomeStatus, *, session_settled: bool = True
    ) -> None:
        self._open_prompts.remove(prompt)
        if not self._open_prompts and self._unsubscribe is not None:
            self._unsubscribe()
            self._unsubscribe = None
        answer = prompt.answer
        self._event_bus.publish_now(
            PromptResult(
                id=prompt.id,
                agent_invoked=prompt.is_delivered,
                status=status,
                message_id=prompt.message_id,
                stop_reason=answer.stop_reason if answer is not None else None,
                error=self._failure_of_answer(answer) if status == "error" else None,
                session_settled=session_settled,
            )
        )

    def _failure_of_answer(self, answer: AssistantMessage | None) -> PromptFailure:
        if answer is None:
            return PromptFailure(message=self._last_error or _NO_ANSWER_TEXT)
        failure = self._classify_failure(answer)
        return PromptFailure(
            message=answer.error_message or self._last_error or _NO_ANSWER_TEXT,
            provider=answer.provider or None,
            kind=failure.kind if failure.kind != "none" else None,
            retryable=failure.is_retryable,
        )


def _outcome_status(prompt: _OpenPrompt) -> OutcomeStatus:
    if prompt.answer is None or prompt.answer.stop_reason == "error":
        return "error"
    return "aborted" if prompt.answer.stop_reason == "aborted" else "completed"
