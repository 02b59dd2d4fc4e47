"""Compaction in a session: when it happens, who may stop or replace it, and what it leaves behind.

Where to cut is `app.compaction.cut`'s business, what a summary says `app.compaction.summary`'s.
"""

from collections.abc import Awaitable, Callable
from typing import Literal

import msgspec

from app.agent.abort import Abort
from app.compaction.budget import Limits, estimate_tokens
from app.compaction.cut import CannotCompact, Preparation, prepare
from app.compaction.summary import Written, write_summary
from app.engine.account import Account
from app.engine.choice import ModelChoice
from app.engine.conversation import Conversation
from app.engine.summariser import Summariser, SummaryCancelled, SummaryFailed
from app.providers.classify import Failure
from app.values.content import text_of
from app.values.entries import CompactionEntry
from app.values.events import (
    CompactionEnd,
    CompactionResult,
    CompactionStart,
    EntryAppended,
    Event,
    Notice,
)
from app.values.messages import AssistantMessage, Message, SystemMessage, ToolResultMessage

Reason = Literal["manual", "threshold", "overflow"]
Mode = Literal["off", "remind", "auto"]


class CompactionOptions(msgspec.Struct, kw_only=True):
    """Set from the settings; may change while the session runs."""

    mode: Mode = "auto"
    limits: Limits = Limits()
    by_model: dict[str, Limits] = msgspec.field(default_factory=dict)


class Replacement(msgspec.Struct, frozen=True, kw_only=True):
    """What an extension says to a compaction."""

    is_cancelled: bool = False
    result: CompactionResult | None = None


async def _no_opinion(preparation: Preparation, reason: Reason, instructions: str | None) -> Replacement:
    return Replacement()


class Compactor:
    """Keeps one session's context below its window."""

    def __init__(
        self,
        *,
        conversation: Callable[[], Conversation],
        account: Account,
        choice: ModelChoice,
        summariser: Summariser,
        publish: Callable[[Event], Awaitable[None]],
        classify: Callable[[AssistantMessage], Failure],
        context_changed: Callable[[], None],
    ) -> None:
        self.options = CompactionOptions()
        self.consult = _no_opinion
        self._conversation = conversation
        self._account = account
        self._choice = choice
        self._summariser = summariser
        self._publish = publish
        self._classify = classify
        self._context_changed = context_changed
        self._abort: Abort | None = None
        self._has_recovered = False
        self._is_stuck = False
        self._has_reminded = False

    @property
    def is_running(self) -> bool:
        return self._abort is not None

    @property
    def limits(self) -> Limits:
        model = self._choice.model
        return self.options.by_model.get(model.key if model else "", self.options.limits)

    def abort(self) -> None:
        if self._abort is not None:
            self._abort.set()

    def prompt_began(self) -> None:
        """A new prompt has its own right to one recovery."""
        self._has_recovered = False
        self._is_stuck = False

    async def before_request(self, run: Abort) -> None:
        """Within a run, before every request: one huge result cannot jump the threshold."""
        model = self._choice.model
        if model is None or not self.limits.is_full(self._account.context_tokens, model.context_window):
            self._has_reminded = False
            return
        if self.options.mode == "remind" and not self._has_reminded:
            self._has_reminded = True
            await self._publish(
                Notice(level="warning", text="The context window is nearly full. /compact makes room.")
            )
        if self.options.mode == "auto" and not self._is_stuck:
            try:
                await self.compact("threshold", run=run)
            except (CannotCompact, SummaryFailed):
                self._is_stuck = True  # told with the end event; trying again at once would not help

    async def recover(self, message: AssistantMessage) -> bool:
        """After an answer that failed for want of room. True: there is room now, ask again."""
        if message.stop_reason not in ("error", "length") or not self._classify(message).is_overflow:
            return False
        if self.options.mode == "off":
            await self._fail(
                "The conversation no longer fits the model's context window, and compaction is switched off. "
                "Use /compact, a model with a larger window, or an earlier point of the session (/tree)."
            )
            return False
        if self.options.mode == "remind":
            await self._fail("The conversation no longer fits the model's context window. Use /compact.")
            return False
        if self._has_recovered:
            await self._fail(
                "Context overflow recovery failed after one compact-and-retry attempt. Make the context "
                "smaller, or use a model with a larger window." + self._largest()
            )
            return False
        self._has_recovered = True
        conversation = self._conversation()
        await self._publish(EntryAppended(entry=conversation.omit(message.id)))
        try:
            await self.compact("overflow")
        except (CannotCompact, SummaryFailed):
            return False
        return True

    async def compact(
        self, reason: Reason, instructions: str | None = None, *, run: Abort | None = None
    ) -> CompactionResult:
        """Raises `CannotCompact` or `SummaryFailed`, after the end event told so."""
        if self._abort is not None:
            raise CannotCompact("Compaction is already in progress")
        abort = self._abort = Abort()
        forget = run.on_set(abort.set) if run is not None else lambda: None
        await self._publish(CompactionStart(reason=reason))
        try:
            result = await self._replace(reason, instructions, abort)
        except (CannotCompact, SummaryFailed) as problem:
            await self._publish(
                CompactionEnd(
                    reason=reason,
                    aborted=isinstance(problem, SummaryCancelled),
                    error_message=str(problem),
                )
            )
            raise
        finally:
            forget()
            self._abort = None
        await self._publish(CompactionEnd(reason=reason, result=result, will_retry=reason == "overflow"))
        await self._guard_against_loops()
        return result

    async def preview(self, instructions: str | None = None) -> tuple[Preparation, str]:
        """The summary that a compaction would leave; nothing is recorded."""
        abort = self._abort = Abort()
        try:
            preparation = self.preparation()
            return preparation, (await self._write(preparation, instructions, abort)).text
        finally:
            self._abort = None

    def preparation(self) -> Preparation:
        conversation = self._conversation()
        return prepare(conversation.log.path_to(), self.limits, self._account.context_tokens)

    def record(
        self, preparation: Preparation, written: Written, *, from_hook: bool = False
    ) -> CompactionResult:
        """Makes the summary count from here on."""
        conversation = self._conversation()
        entry = CompactionEntry(
            parent_id=None,
            summary=written.text,
            first_kept_entry_id=preparation.first_kept_entry_id or "",
            tokens_before=preparation.tokens_before,
            details={
                "readFiles": list(preparation.files.read_files),
                "modifiedFiles": list(preparation.files.modified_files),
            },
            usage=written.usage,
            from_hook=from_hook,
            system_message=SystemMessage(
                sections=dict(conversation.declared.sections),
                tools_added=tuple(conversation.declared.tools.values()),
            ),
        )
        if not entry.first_kept_entry_id:
            entry = msgspec.structs.replace(entry, first_kept_entry_id=entry.id)
        stored = conversation.record_state(entry)
        conversation.reload()
        self._account.start_over(conversation)
        self._context_changed()
        return CompactionResult(
            summary=written.text,
            first_kept_entry_id=entry.first_kept_entry_id or stored.id,
            tokens_before=preparation.tokens_before,
            estimated_tokens_after=self._account.context_tokens,
            usage=written.usage,
            details=entry.details,
        )

    async def _replace(self, reason: Reason, instructions: str | None, abort: Abort) -> CompactionResult:
        preparation = self.preparation()
        opinion = await self.consult(preparation, reason, instructions)
        if opinion.is_cancelled:
            raise SummaryCancelled("Compaction cancelled")
        if opinion.result is not None:
            given = opinion.result
            chosen = msgspec.structs.replace(preparation, first_kept_entry_id=given.first_kept_entry_id)
            return self.record(chosen, Written(text=given.summary), from_hook=True)
        return self.record(preparation, await self._write(preparation, instructions, abort))

    async def _write(self, preparation: Preparation, instructions: str | None, abort: Abort) -> Written:
        async def write(request: str) -> Written:
            return await self._summariser.write(request, abort, "compaction")

        return await write_summary(preparation, write, instructions)

    async def _guard_against_loops(self) -> None:
        model = self._choice.model
        if model is not None and self.limits.is_full(self._account.context_tokens, model.context_window):
            self._is_stuck = True
            await self._fail(
                "After compaction the context is still nearly full, so it is not compacted again by itself."
                + self._largest()
            )

    def _largest(self) -> str:
        sizes = sorted(
            ((estimate_tokens(message), message) for message in self._conversation().messages),
            key=lambda pair: -pair[0],
        )[:3]
        told = ", ".join(f"{_name(message)} (about {size:,} tokens)" for size, message in sizes if size)
        return f" What fills it most: {told}." if told else ""

    async def _fail(self, text: str) -> None:
        await self._publish(Notice(level="error", text=text))


def _name(message: Message) -> str:
    if isinstance(message, ToolResultMessage):
        return f"a result of {message.tool_name}"
    if isinstance(message, SystemMessage):
        return "prompt and tools"
    text = text_of(getattr(message, "content", "") or "")
    return f"“{' '.join(text.split())[:40]}…”" if text else message.__class__.__name__
