"""Asks a model for a summary: one request with retries, whose text is published as it arrives."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Literal

import msgspec

from app.agent.abort_signal import Aborted, AbortSignal
from app.compaction.summary_requests import SUMMARY_SYSTEM_PROMPT, WrittenSummary
from app.engine.core.model_choice import ModelChoice
from app.engine.core.request_budget import SessionUsageBudget, UsageLimitReached
from app.engine.core.session_options import SessionOptions
from app.engine.secrets.session_mask import SessionSecretMask
from app.providers.adapter_registry import AdapterRegistry
from app.providers.credentials import CredentialError
from app.providers.failure_kinds import AnswerFailure
from app.providers.model_stream import Credential, RequestContext
from app.providers.models.model_names import ModelNotFound, select_model
from app.providers.models.thinking import DEFAULT_THINKING_BUDGETS
from app.values.events import (
    CompactionProgress,
    Event,
    Notice,
    SummarizationRetryAttemptStart,
    SummarizationRetryFinished,
    SummarizationRetryScheduled,
)
from app.values.messages import AssistantMessage, user_message
from app.values.models import Model
from app.values.stream import TextDelta
from app.values.user_errors import UserError

SummarySource = Literal["compaction", "preview", "branchSummary"]


class SummaryFailed(UserError):
    """Raised if a model could not write a summary; the text says why."""


class SummaryCancelled(SummaryFailed):
    """Raised if the summary was cancelled."""


def find_summary_model(named: str | None, choice: ModelChoice) -> tuple[Model | None, str | None]:
    """Returns the model that the settings name for summaries (None: the session's own), and what is wrong with
    the name."""
    if named is None:
        return None, None
    try:
        return select_model(named, choice.catalogue, choice.credentials).model, None
    except ModelNotFound as problem:
        return None, f"Setting compaction.model: {problem} The session's own model writes summaries instead."


class Summariser(msgspec.Struct, frozen=True):
    """Writes summaries with the session's model, or with the cheaper model of the settings."""

    model_choice: ModelChoice
    registry: AdapterRegistry
    masking: SessionSecretMask
    classify_failure: Callable[[AssistantMessage], AnswerFailure]
    publish_event: Callable[[Event], Awaitable[None]]
    options: SessionOptions
    request_budget: SessionUsageBudget

    async def write_summary(
        self, request: str, abort: AbortSignal, source: SummarySource, *, budget: int
    ) -> WrittenSummary:
        """Requests a summary from a model and returns the answer, at most `budget` tokens long (0: no limit).
        Raises `SummaryFailed`."""
        attempt = 0
        # Includes the instructions, which were not masked as a prompt.
        try:
            with abort.cancel_when_set():
                request = await self.masking.mask_text(request, "a summary")
        except Aborted:
            raise SummaryCancelled(_SUMMARY_CANCELLED_TEXTS[source]) from None
        while True:
            message = await self._request_summary(request, abort, source, budget)
            if abort.is_set:
                raise SummaryCancelled(_SUMMARY_CANCELLED_TEXTS[source])
            problem = _unusable_summary_reason(message)
            if problem is None:
                if attempt:
                    await self.publish_event(SummarizationRetryFinished())
                return WrittenSummary(text=message.text.strip(), usage=message.usage)
            attempt += 1
            delay = self._wait_before_retry(message, attempt)
            if delay is None:
                raise SummaryFailed(problem)
            await self._wait_or_cancel(delay, attempt, problem, abort, source)

    async def _request_summary(
        self, request: str, abort: AbortSignal, source: SummarySource, budget: int
    ) -> AssistantMessage:
        model = await self.choose_summary_model(request, budget)
        try:
            credential = (
                await self.model_choice.credentials.resolve_credential(model.provider) or Credential()
            )
            self.request_budget.check_limits()
        except (CredentialError, UsageLimitReached) as problem:
            raise SummaryFailed(str(problem)) from None
        thinking = self.model_choice.thinking if model is self.model_choice.model else "off"
        options = msgspec.structs.replace(
            self.options.stream_options, credential=credential, thinking=thinking, use_cache=False
        )
        if budget:
            thoughts = {**DEFAULT_THINKING_BUDGETS, **options.thinking_budgets}
            most = {level: min(tokens, budget // 2) for level, tokens in thoughts.items()}
            options = msgspec.structs.replace(options, max_tokens=budget, thinking_budgets=most)
        context = RequestContext(system_prompt=SUMMARY_SYSTEM_PROMPT, messages=(user_message(request),))
        stream = self.request_budget.count_usage_of_stream(
            self.registry.stream_answer(model, context, options)
        )
        forget = abort.on_set(stream.cancel_response)
        try:
            async for event in stream:
                if isinstance(event, TextDelta):
                    await self.publish_event(CompactionProgress(delta=event.delta, source=source))
            return await stream.final_message()
        finally:
            forget()
            stream.cancel_response()

    async def choose_summary_model(self, request: str, budget: int = 0) -> Model:
        """Returns the model that writes a summary: the cheaper model of the settings, unless the request is too
        long for it."""
        own = self.model_choice.require_model()
        chosen, problem = find_summary_model(
            self.options.effective_settings.settings.compaction.model, self.model_choice
        )
        if problem is not None:
            await self.publish_event(Notice(level="warning", text=problem))
        if chosen is None:
            return own
        tokens = len(request) // 4
        if not chosen.context_window or tokens + budget <= chosen.context_window:
            return chosen
        text = (
            f"The history (about {tokens:,} tokens) does not fit into the window of {chosen.key} "
            f"({chosen.context_window:,}): {own.key} writes the summary instead."
        )
        await self.publish_event(Notice(level="info", text=text))
        return own

    def _wait_before_retry(self, message: AssistantMessage, attempt: int) -> int | None:
        policy, failure = self.options.retry_policy, self.classify_failure(message)
        if message.stop_reason != "error" or not failure.is_retryable:
            return None
        if not policy.is_enabled or attempt > policy.max_attempts:
            return None
        return policy.delay_ms(attempt, failure.retry_after_ms)

    async def _wait_or_cancel(
        self, delay_ms: int, attempt: int, problem: str, abort: AbortSignal, source: SummarySource
    ) -> None:
        await self.publish_event(
            SummarizationRetryScheduled(
                attempt=attempt,
                max_attempts=self.options.retry_policy.max_attempts,
                delay_ms=delay_ms,
                error_message=problem,
            )
        )
        try:
            await asyncio.wait_for(abort.wait(), delay_ms / 1000)
        except TimeoutError:
            await self.publish_event(
                SummarizationRetryAttemptStart(
                    source="branchSummary" if source == "branchSummary" else "compaction"
                )
            )
            return
        raise SummaryCancelled(_SUMMARY_CANCELLED_TEXTS[source])


_SUMMARY_CANCELLED_TEXTS: dict[SummarySource, str] = {
    "compaction": "Compaction cancelled",
    "preview": "Compaction cancelled",
    "branchSummary": "Branch summary cancelled",
}


def _unusable_summary_reason(message: AssistantMessage) -> str | None:
    """Returns why a model's answer is no usable summary: it was cut off, or calls tools."""
    if message.stop_reason == "error":
        return message.error_message or "The request for a summary failed."
    if message.stop_reason == "length":
        return "The summary was cut off at the model's output limit."
    if message.tool_calls or not message.text.strip():
        return "The model did not write a summary."
    return None
