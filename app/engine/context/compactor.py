"""Compacts a session: decides when, lets hooks stop or replace the summary, and records the result.

`app.compaction.compaction_plan` decides where to cut, `app.compaction.summary_requests` what the summary says."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Literal

import msgspec

from app.agent.abort_signal import AbortSignal
from app.compaction.compaction_plan import (
    TOO_SMALL_TO_COMPACT_TEXT,
    CompactionPlan,
    NothingToCompact,
    plan_compaction,
)
from app.compaction.context_meter import ContextLimits, estimate_message_tokens
from app.compaction.summary_requests import WrittenSummary, write_summary
from app.compaction.touched_files import FilesOfCall, extension_summary_details, touched_files
from app.engine.context.summariser import Summariser, SummaryCancelled, SummaryFailed, SummarySource
from app.engine.core.cancellable_task import CancellableTask
from app.engine.core.conversation import Conversation
from app.engine.core.event_bus import EventBus
from app.engine.core.hook_results import CompactionReason
from app.engine.core.hooks import Hooks
from app.engine.core.model_choice import ModelChoice
from app.engine.core.session_options import SessionOptions
from app.engine.core.usage_totals import UsageTotals
from app.engine.models.prompt_cache import PromptCacheLossWarner
from app.providers.failure_kinds import AnswerFailure
from app.values.content import text_of
from app.values.entries import CompactionEntry, Entry
from app.values.events import (
    CompactionEnd,
    CompactionResult,
    CompactionStart,
    EntryAppended,
    Notice,
)
from app.values.messages import AssistantMessage, Message, SystemMessage, ToolResultMessage
from app.values.todos import remove_todo_list_from_summary
from app.values.usage import Usage


class CompactionDraft(msgspec.Struct, frozen=True, kw_only=True):
    """A compaction whose summary is written but not recorded yet."""

    plan: CompactionPlan
    summary: WrittenSummary
    from_hook: bool = False
    """Whether an extension wrote the summary."""
    details: Any = None
    """Additional data of the extension that wrote the summary; None if none did."""

    def with_summary_text(self, text: str) -> "CompactionDraft":
        return msgspec.structs.replace(self, summary=msgspec.structs.replace(self.summary, text=text))


class Compactor(msgspec.Struct, eq=False, kw_only=True):
    """Keeps one session's context below the model's window."""

    conversation: Conversation
    usage_totals: UsageTotals
    model_choice: ModelChoice
    options: SessionOptions
    summariser: Summariser
    hooks: Hooks
    event_bus: EventBus
    prompt_cache: PromptCacheLossWarner
    classify_failure: Callable[[AssistantMessage], AnswerFailure]
    files_of_call: FilesOfCall
    append_after_summary: Callable[[str], str] = str
    """A function that appends the text that has to follow a summary verbatim, such as the todo list."""
    running_task: CancellableTask = msgspec.field(default_factory=CancellableTask)
    _has_recovered_from_overflow: bool = False
    _has_failed_to_shrink: bool = False
    _is_auto_paused: bool = False
    _has_warned_of_full_context: bool = False
    _has_warned_stuck: bool = False

    @property
    def context_limits(self) -> ContextLimits:
        return self.options.context_limits(self.model_choice.model)

    @property
    def _compaction_mode(self) -> Literal["off", "remind", "auto"]:
        return self.options.effective_settings.settings.compaction.mode

    @property
    def is_context_full(self) -> bool:
        """Whether the context uses tokens reserved for the answer. Takes constant time in the length of the
        session."""
        model = self.model_choice.model
        return model is not None and self.context_limits.is_full(
            self.usage_totals.context_tokens, model.context_window
        )

    def allow_overflow_recovery(self) -> None:
        """Allows one automatic compaction to recover from a context overflow during the new prompt."""
        self._has_recovered_from_overflow = False
        self._has_failed_to_shrink = False

    def pause_automatic_compaction(self) -> None:
        """Pauses automatic compaction until the window overflows, because the user wants the full history."""
        self._is_auto_paused = True

    def reset_for_conversation(self) -> None:
        """Resets the compaction state for another conversation."""
        self._has_recovered_from_overflow = self._has_failed_to_shrink = self._is_auto_paused = (
            self._has_warned_of_full_context
        ) = False
        self._has_warned_stuck = False

    async def compact_if_full(self, run: AbortSignal | None = None) -> None:
        """Compacts the context or warns if it is full. Runs before every request and after every run."""
        if not self.is_context_full:
            self._has_warned_of_full_context = False
            return
        if self._compaction_mode == "remind" and not self._has_warned_of_full_context:
            self._has_warned_of_full_context = True
            await self._warn_of_full_context()
        if self._compaction_mode == "auto" and not self._has_failed_to_shrink and not self._is_auto_paused:
            await self._compact_automatically("threshold", run)

    async def _compact_automatically(
        self, reason: CompactionReason, run: AbortSignal | None = None, *, will_retry: bool = False
    ) -> bool:
        """Compacts automatically; a failure is reported once and not retried with every answer."""
        try:
            self.plan_compaction()
        except NothingToCompact as problem:
            self._has_failed_to_shrink = True
            await self._warn_stuck(f"The context window is nearly full, and compaction failed: {problem}.")
            return False
        try:
            await self.compact(reason, run=run, will_retry=will_retry)
        except (NothingToCompact, SummaryFailed):
            self._has_failed_to_shrink = (
                True  # the end event reports it; another attempt at once would not help
            )
            return False
        return True

    async def compact_after_run(self, message: AssistantMessage) -> bool:
        """Compacts after an answer that failed because the context was full; returns True if there is room now."""
        is_overflow = self.classify_failure(message).is_context_overflow
        if is_overflow and message.stop_reason in ("error", "length"):
            return await self._recover_from_overflow(message)
        if is_overflow and self._compaction_mode == "auto" and not self._has_failed_to_shrink:
            # The server dropped what did not fit and answered anyway, so the answer stays.
            self._is_auto_paused = False
            await self._compact_automatically("overflow")
        elif message.stop_reason not in ("error", "aborted"):
            self._has_warned_stuck = self._has_warned_stuck and self.is_context_full
            await self.compact_if_full()
        return False

    async def _recover_from_overflow(self, message: AssistantMessage) -> bool:
        if self._compaction_mode != "auto":
            self.event_bus.notify(
                f"The context was not compacted: compaction {_COMPACTION_MODE_TEXTS[self._compaction_mode]} "
                "(compaction.mode in /settings). /compact compacts now; /tree goes back to an earlier point."
                + self._largest_messages_text(),
                "warning",
            )
            return False
        if self._has_recovered_from_overflow:
            self.event_bus.notify(
                "Context overflow recovery failed after one compact-and-retry attempt."
                + self._largest_messages_text(),
                "error",
            )
            return False
        self._has_recovered_from_overflow = True
        try:
            self.plan_compaction()
        except NothingToCompact as problem:
            await self._warn_stuck(f"Compaction failed: {problem}.", has_failed=True)
            return False
        await self.event_bus.publish(
            EntryAppended(entry=self.conversation.remove_entry_from_context(message.id))
        )
        return await self._compact_automatically("overflow", will_retry=True)

    async def compact(
        self,
        reason: CompactionReason,
        instructions: str | None = None,
        *,
        run: AbortSignal | None = None,
        draft: CompactionDraft | None = None,
        will_retry: bool = False,
    ) -> CompactionResult:
        """Compacts the session, with the summary of `draft` unchanged if given. `will_retry`: the failed answer
        is requested again. Raises `NothingToCompact` or `SummaryFailed`, after the end event has reported the
        failure."""
        with self._begin_compaction() as abort:
            forget = run.on_set(abort.set) if run is not None else lambda: None
            try:
                await self.event_bus.publish(CompactionStart(reason=reason))
                result = self._check_and_record_draft(
                    draft or await self._make_draft(reason, instructions, abort, "compaction", will_retry)
                )
            except (NothingToCompact, SummaryFailed) as problem:
                await self.event_bus.publish(
                    CompactionEnd(
                        reason=reason,
                        aborted=isinstance(problem, SummaryCancelled),
                        error_message=self._compaction_failure_text(problem),
                    )
                )
                raise
            finally:
                forget()
        self._is_auto_paused = False
        await self.event_bus.publish(CompactionEnd(reason=reason, result=result, will_retry=will_retry))
        self.prompt_cache.warn_if_cache_lost("compaction")
        await self._warn_if_still_full()
        return result

    async def record_extension_summary(self, summary: str, first_kept_entry_id: str | None) -> bool:
        """Compacts the session with an extension's summary; returns False, after a notice, if there is nothing
        to replace."""
        try:
            preparation = await self._plan_with_file_lists(first_kept_entry_id)
        except NothingToCompact as problem:
            self.event_bus.notify(f"An extension's compaction was ignored: {problem}", "warning")
            return False
        draft = CompactionDraft(plan=preparation, summary=WrittenSummary(text=summary), from_hook=True)
        try:
            await self.compact("manual", draft=draft)
        except (NothingToCompact, SummaryFailed):
            return False  # the end event has reported it
        return True

    async def draft_compaction(self, instructions: str | None = None) -> CompactionDraft:
        """Writes the summary of a compaction without recording it. Raises `NothingToCompact` or `SummaryFailed`."""
        with self._begin_compaction() as abort:
            return await self._make_draft("manual", instructions, abort, "preview")

    def _begin_compaction(self) -> AbstractContextManager[AbortSignal]:
        if self.running_task.is_running:
            raise NothingToCompact("Compaction is already in progress")
        return self.running_task.mark_running()

    def _check_and_record_draft(self, draft: CompactionDraft) -> CompactionResult:
        if not draft.summary.text.strip():
            raise SummaryFailed("The summary is empty, so nothing was compacted. Try /compact again.")
        first_kept = draft.plan.first_kept_entry_id
        log = self.conversation.log
        if not (
            _contains_entry(log.path_since_compaction(), first_kept)
            or _contains_entry(log.path_to(), first_kept)
        ):
            raise NothingToCompact(
                f"A summary cannot start before entry {first_kept}, because it is not on this branch."
            )
        return self._record_summary(draft)

    def plan_compaction(self, first_kept_entry_id: str | None = None) -> CompactionPlan:
        """Returns what a compaction would summarise and keep now, cutting before `first_kept_entry_id` if given."""
        log = self.conversation.log
        prepared = plan_compaction(
            log.path_since_compaction() if first_kept_entry_id is None else log.path_to(),
            self.context_limits,
            self.usage_totals.context_tokens,
            first_kept_entry_id=first_kept_entry_id,
        )
        if prepared.previous_summary is None:
            return prepared
        return msgspec.structs.replace(
            prepared, previous_summary=remove_todo_list_from_summary(prepared.previous_summary)
        )

    async def _plan_with_file_lists(self, first_kept_entry_id: str | None = None) -> CompactionPlan:
        """Returns the plan of a compaction with the lists of read and changed files."""
        prepared = self.plan_compaction(first_kept_entry_id)
        files = await asyncio.to_thread(
            touched_files, prepared.recorded_entries, self.files_of_call, carried=prepared.previous_details
        )
        return msgspec.structs.replace(prepared, files=files)

    def _record_summary(self, draft: CompactionDraft) -> CompactionResult:
        """Records a compaction's summary, which replaces the older part of the context."""
        conversation, preparation, written = self.conversation, draft.plan, draft.summary
        summary = self.append_after_summary(written.text)
        entry = CompactionEntry(
            parent_id=None,
            summary=summary,
            first_kept_entry_id=preparation.first_kept_entry_id,
            tokens_before=preparation.tokens_before,
            details={
                "readFiles": list(preparation.files.read_files),
                "modifiedFiles": list(preparation.files.modified_files),
                **extension_summary_details(draft.details),
            },
            usage=written.usage,
            from_hook=draft.from_hook,
        )
        standing = conversation.active_skill_sections_after([entry])
        system = SystemMessage(
            sections={**conversation.declared_prompt.sections, **standing},
            tools_added=tuple(conversation.declared_prompt.tools.values()),
        )
        conversation.record_entry(msgspec.structs.replace(entry, system_message=system))
        conversation.reload_context()
        self.event_bus.recount_context()
        return CompactionResult(
            summary=summary,
            first_kept_entry_id=entry.first_kept_entry_id,
            tokens_before=preparation.tokens_before,
            estimated_tokens_after=self.usage_totals.context_tokens,
            usage=written.usage,
            details=entry.details,
        )

    async def _make_draft(
        self,
        reason: CompactionReason,
        instructions: str | None,
        abort: AbortSignal,
        source: SummarySource,
        will_retry: bool = False,
    ) -> CompactionDraft:
        preparation = await self._plan_with_file_lists()
        opinion = await self.hooks.before_compaction(preparation, reason, instructions, will_retry)
        if opinion.is_cancelled or abort.is_set:
            raise SummaryCancelled("Compaction cancelled")
        if opinion.result is not None:
            given = opinion.result
            if given.first_kept_entry_id != preparation.first_kept_entry_id:
                preparation = await self._plan_with_file_lists(given.first_kept_entry_id)
            preparation = msgspec.structs.replace(preparation, tokens_before=given.tokens_before)
            written = WrittenSummary(text=given.summary, usage=given.usage or Usage())
            return CompactionDraft(plan=preparation, summary=written, from_hook=True, details=given.details)
        written = await self._request_summary(
            preparation, opinion.instructions or instructions, abort, source
        )
        return CompactionDraft(plan=preparation, summary=written)

    async def _request_summary(
        self, preparation: CompactionPlan, instructions: str | None, abort: AbortSignal, source: SummarySource
    ) -> WrittenSummary:
        async def write(request: str, share: float) -> WrittenSummary:
            budget = int(self.context_limits.reserve_tokens * share)
            return await self.summariser.write_summary(request, abort, source, budget=budget)

        return await write_summary(preparation, write, instructions)

    async def _warn_of_full_context(self) -> None:
        await self.event_bus.publish(
            Notice(
                level="warning",
                text="The context window is nearly full. /compact makes room; /compact --preview lets you "
                "edit the summary first." + self._largest_messages_text(),
                about="contextFull",
            )
        )

    async def _warn_if_still_full(self) -> None:
        if self.is_context_full:
            self._has_failed_to_shrink = True
            await self._warn_stuck(
                "The context is still nearly full after compaction, so there will be no further "
                "automatic compaction."
            )

    async def _warn_stuck(self, text: str, *, has_failed: bool = False) -> None:
        """Warns once that compaction cannot make room, until the context has room again or the model or session
        changes. `has_failed`: the failed answer is shown above, with advice."""
        if self._has_warned_stuck:
            return
        self._has_warned_stuck = True
        helps = (
            " To make room: /context drops large results, /new starts another session, and /model "
            "chooses a model with a larger window."
            if not has_failed
            else ""
        )
        await self.event_bus.publish(
            Notice(level="warning", text=text + helps + self._largest_messages_text())
        )

    def _compaction_failure_text(self, problem: Exception) -> str:
        """Explains why a compaction failed; where nothing can be cut, also what takes the room and how to drop it."""
        usage = self.usage_totals.context_tokens
        if str(problem) != TOO_SMALL_TO_COMPACT_TEXT or usage < _LARGE_CONTEXT_TOKENS:
            return str(problem)
        parts = self._largest_messages_text()
        return (
            f"Nothing can be summarised: everything belongs to the last turn.{parts} /context drops single "
            f"results."
        )

    def _largest_messages_text(self) -> str:
        sizes = sorted(
            ((estimate_message_tokens(message), message) for message in self.conversation.messages),
            key=lambda pair: -pair[0],
        )[:3]
        told = ", ".join(
            f"{_message_label(message)} (about {size:,} tokens)" for size, message in sizes if size
        )
        return f" The largest parts: {told}." if told else ""


def _contains_entry(path: Sequence[Entry], entry_id: str) -> bool:
    return any(entry.id == entry_id for entry in path)


_LARGE_CONTEXT_TOKENS = 10_000
"""The number of tokens from which a context that cannot be compacted needs an explanation."""
_COMPACTION_MODE_TEXTS = {"off": "is switched off", "remind": "is manual"}


def _message_label(message: Message) -> str:
    if isinstance(message, ToolResultMessage):
        return f"a {message.tool_name} result"
    if isinstance(message, SystemMessage):
        return "system prompt and tools"
    text = text_of(getattr(message, "content", "") or "")
    return f"“{' '.join(text.split())[:40]}…”" if text else message.__class__.__name__
