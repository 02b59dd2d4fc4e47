"""Converts events to calls on the transcript, in one `match`; it decides nothing and waits for nothing."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, assert_never

import msgspec

from app.engine.session import Session
from app.extensions.catalogue import ExtensionCatalogue
from app.tui.page_protocols import KeyLabel
from app.tui.transcript import replay
from app.tui.transcript.changes_line import ChangesLine
from app.tui.transcript.earlier_blocks import EarlierBlocks
from app.tui.transcript.failed_answer import FailedAnswer
from app.tui.transcript.renderers import Renderers
from app.tui.transcript.running_commands import RunningCommands
from app.tui.transcript.shown_call import ArrivingCalls, ShownCall
from app.tui.transcript.summary_card import SummaryCard, branch_names
from app.values.content import ToolCall
from app.values.diagnostics import DiagnosticsEnd, DiagnosticsStart
from app.values.entries import CustomEntry, Entry
from app.values.events import (
    AgentEnd,
    AgentSettled,
    AgentStart,
    AnswerInterrupted,
    AutoRetryEnd,
    AutoRetryStart,
    BashExecutionUpdate,
    CompactionEnd,
    CompactionProgress,
    CompactionStart,
    EntryAppended,
    Event,
    ExtensionError,
    FileChanged,
    GoalChanged,
    HelperChanged,
    JobChanged,
    MessageEnd,
    MessageStart,
    MessageUpdate,
    ModelChanged,
    Notice,
    PendingChanged,
    PlanModeChanged,
    PromptResult,
    ProviderRequestDelivered,
    ProviderRequestFailed,
    ProviderRequestPrepared,
    ProviderWaiting,
    QuestionAsked,
    QueueUpdate,
    SessionInfoChanged,
    SessionReplaced,
    SummarizationRetryAttemptStart,
    SummarizationRetryFinished,
    SummarizationRetryScheduled,
    ThinkingLevelChanged,
    TodoAutoClear,
    TodoReminder,
    TodosChanged,
    ToolExecutionEnd,
    ToolExecutionStart,
    ToolExecutionUpdate,
    TurnEnd,
    TurnStart,
)
from app.values.mcp_servers import McpServersChange
from app.values.messages import (
    AssistantMessage,
    BashExecutionMessage,
    CustomMessage,
    Message,
    UserMessage,
)
from app.values.pending import PendingOutcome
from app.values.stream import (
    BlockEvent,
    TextDelta,
    TextEnd,
    TextStart,
    ThinkingDelta,
    ThinkingEnd,
    ThinkingStart,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
)
from tools.amounts import elapsed
from tools.arguments import text_detail
from widgets.transcript.blocks import (
    CardBlock,
    CardState,
    CustomBlock,
    CustomKind,
    NoteBlock,
    NoteKind,
    ReplyState,
)
from widgets.transcript.view import Transcript

_ON_FIRST_PAGE = (EntryAppended, ModelChanged, ThinkingLevelChanged, McpServersChange, PlanModeChanged)
"""Events after which the first page may say something else."""


class Presenter:
    """Shows one session in one transcript. Events about other parts go to `on_other`."""

    def __init__(
        self,
        session: Session,
        transcript: Transcript,
        on_other: Callable[[Event], None],
        key_label: KeyLabel,
        clock: Callable[[], float] = time.monotonic,
        next_step: Callable[[AssistantMessage], str] = lambda _: "",
        spawn: Callable[[Awaitable[None]], object] = asyncio.ensure_future,
        first_page: Callable[[], Sequence[NoteBlock]] = tuple,
    ) -> None:
        """`first_page`: the blocks before the first prompt, which it removes."""
        self._session, self._transcript = session, transcript
        self._on_other = on_other
        self._first_page = first_page
        self._has_first_page = False
        self._first_blocks: Sequence[NoteBlock] = ()
        self._clock = clock
        self._calls: dict[str, ShownCall] = {}
        self._by_index: dict[int, ShownCall] = {}
        self._arriving = ArrivingCalls(
            session.previews.is_for,
            session.previews.of,
            lambda known: self._draw(known, known.state),
            spawn,
            clock,
        )
        self._pending_results: dict[str, CustomBlock] = {}
        """Job results that were not sent to the model yet, by job."""
        self._reply_id, self._notes = "", 0
        self._changed = ChangesLine(key_label)
        self.renderers = Renderers(session.tools.card, key_label, next_step, branch_names(session))
        self._failed = FailedAnswer(transcript, self.renderers, self.note)
        self.summary_card = SummaryCard(transcript)
        self._staged = StagedCards(transcript, key_label)
        self.own_commands = RunningCommands(transcript)
        self._earlier = EarlierBlocks(transcript, self.renderers, key_label)
        self.offers: dict[str, str] = {}
        """The page's suggested next step, by the subject of a notice."""

    def show_all(self) -> None:
        """Rebuilds the transcript of the whole branch from the log."""
        self._calls.clear()
        self._pending_results.clear()
        self.own_commands.forget()
        self._failed.rest()
        self._failed.is_now(self._session.last_answer)
        log = self._session.log
        self._changed.rest()
        entries = self._earlier.take(log.path_to())
        blocks = replay.blocks_of(entries, self.renderers, self._changed)
        if not self._session.is_running and (line := self._changed.rest()) is not None:
            blocks.append(line)
        self._transcript.replace_all(blocks)
        self._first_blocks = ()
        if not blocks and self._has_first_page:
            self._show_first_page()

    def show_first_page(self) -> None:
        """Shows the first page from now on where there is no conversation."""
        if not self._has_first_page:
            self._has_first_page = True
            self._show_first_page()

    def update_first_page(self) -> None:
        """Draws the first page again after something that it names has changed."""
        if self._first_blocks and not self._session.messages:
            self._show_first_page()

    def _show_first_page(self) -> None:
        shown = self._first_page()
        kept = {block.id for block in shown}
        for gone in self._first_blocks:
            if gone.id not in kept:
                self._transcript.remove_block(gone.id)
        last = self._transcript.last_block
        is_at_end = last is None or not self._first_blocks or last in self._first_blocks
        before, self._first_blocks = self._first_blocks, shown
        known = {block.id for block in before}
        for block in shown:
            if block not in before and (is_at_end or block.id in known):
                self._transcript.add(block)

    def _leave_first_page(self) -> None:
        """Removes the first page with the first prompt, except suggestions, which the prompt may be one of."""
        for block in self._first_blocks:
            if not block.tries:
                self._transcript.remove_block(block.id)
        self._first_blocks = ()

    def show_earlier(self) -> None:
        """Starts to add earlier blocks, which the first paint does not wait for."""
        self._earlier.begin()

    def show_renderers(self, catalogue: ExtensionCatalogue) -> None:
        """Redraws what loaded extensions draw differently; everything if that is unknown."""
        is_first = self.renderers.catalogue is None
        self.renderers.catalogue = catalogue
        log = self._session.log
        changed = self.renderers.redrawn(log.path_to()) if is_first else None
        if changed is None:
            self.show_all()
        else:
            self._earlier.draw_again(changed)

    def show(self, event: Event) -> None:
        if isinstance(event, _ON_FIRST_PAGE):
            self.update_first_page()
        if isinstance(event, QuestionAsked):
            self._on_other(event)  # the question's bar before its card: from then on keys answer it
            self._note_question(event)
        else:
            self._show(event)
            self._on_other(event)

    def _show(self, event: Event) -> None:
        match event:
            case MessageStart(message=message):
                self._add(self._changed.before(message))
                self._begin(message)
            case MessageUpdate(assistant_message_event=part):
                self._extend(part)
            case MessageEnd(message=message):
                self._end(message)
                self._add(self._changed.behind(message))
            case ToolExecutionStart() | ToolExecutionUpdate() | ToolExecutionEnd():
                if event.parent_tool_call_id is None and not self.own_commands.takes(event):
                    self._show_call(event)
            case SessionReplaced():
                self.show_all()
            case AgentStart() | AgentSettled() | PendingChanged():
                self._change_waiting_cards(event)
            case Notice() | ExtensionError():
                self._show_notice(event)
            case AutoRetryStart() | AutoRetryEnd():
                self._failed.retry(event)
            case CompactionStart() | CompactionProgress() | CompactionEnd():
                self._show_compaction(event)
            case EntryAppended():
                self._show_entry(event.entry)
            case JobChanged(state="delivered") if told := self._pending_results.pop(event.job_id, None):
                self._transcript.add(replay.mark_delivered(told))
            case (
                AgentEnd()
                | TurnStart()
                | TurnEnd()
                | PromptResult()
                | QueueUpdate()
                | AnswerInterrupted()
                | SessionInfoChanged()
                | ModelChanged()
                | ThinkingLevelChanged()
                | SummarizationRetryScheduled()
                | SummarizationRetryAttemptStart()
                | SummarizationRetryFinished()
                | ProviderRequestPrepared()
                | ProviderRequestDelivered()
                | ProviderRequestFailed()
                | ProviderWaiting()
                | JobChanged()
                | HelperChanged()
                | FileChanged()
                | TodosChanged()
                | GoalChanged()
                | TodoReminder()
                | TodoAutoClear()
                | DiagnosticsStart()
                | DiagnosticsEnd()
                | McpServersChange()
                | PlanModeChanged()
                | QuestionAsked()
            ):
                pass
            case BashExecutionUpdate():
                self.own_commands.hear(event.delta)
            case _:
                assert_never(event)

    def _change_waiting_cards(self, event: AgentStart | AgentSettled | PendingChanged) -> None:
        """Updates the cards of calls that were abandoned, or staged changes."""
        if isinstance(event, AgentSettled):
            self._close_open_calls()
            self._add(self._changed.rest())
        self._staged.note(event)

    def _show_notice(self, event: Notice | ExtensionError) -> None:
        if isinstance(event, Notice):
            self.note(event.text, NoteKind(event.level), next_step=self.offers.get(event.about or "", ""))
        else:
            self.note(f"{event.extension_path} ({event.event}): {event.error}", NoteKind.ERROR)

    def note(self, text: str, kind: NoteKind = NoteKind.INFO, *, next_step: str = "") -> str:
        """Adds a message of bayou and returns its block id; a repetition of the last one is not
        added."""
        last = self._transcript.last_block
        if isinstance(last, NoteBlock) and (last.text, last.kind, last.next_step) == (text, kind, next_step):
            return last.id
        self._notes += 1
        block_id = f"note{self._notes}"
        self._transcript.add(NoteBlock(id=block_id, text=text, kind=kind, next_step=next_step))
        return block_id

    def tick(self) -> bool:
        """Updates the elapsed times of running calls; returns False if none is running."""
        running = [call for call in self._calls.values() if call.started is not None]
        for call in running:
            self._draw(call, call.state)
        if running:
            self._transcript.arriving.flush()  # in the same frame as the line above the editor
        return bool(running)

    def running_call_ids(self) -> tuple[str, ...]:
        return tuple(call_id for call_id, call in self._calls.items() if call.started is not None)

    # Messages

    def _begin(self, message: Message) -> None:
        if isinstance(message, UserMessage):
            self._leave_first_page()
            self._failed.prompt_begins()
            self._transcript.add(replay.user_block(message.id, message, self.renderers))
        elif isinstance(message, AssistantMessage):
            self._failed.answer_begins()
            self._reply_id = message.id
            self._by_index.clear()
            self._transcript.begin_reply(message.id)

    def _extend(self, part: BlockEvent) -> None:
        match part:
            case TextDelta():
                self._transcript.append_text(self._reply_id, part.delta)
            case ThinkingDelta():
                self._transcript.append_thinking(self._reply_id, part.delta)
            case ToolCallStart():
                call = ToolCall(id=part.id, name=part.tool_name, arguments={})
                self._by_index[part.content_index] = self._new_call(call)
            case ToolCallDelta():
                if (known := self._by_index.get(part.content_index)) is not None:
                    self._arriving.extend(known, part.delta)
            case ToolCallEnd():
                known = self._by_index.get(part.content_index)
                if known is None or known.call.id != part.tool_call.id:
                    if known is not None:  # its id came late
                        self._calls.pop(known.call.id, None)
                        self._transcript.remove_block(known.block_id)
                    known = self._new_call(part.tool_call)
                    self._by_index[part.content_index] = known
                known.call = part.tool_call
                self._arriving.end(known)
            case TextStart() | TextEnd() | ThinkingStart() | ThinkingEnd():
                pass
            case _:
                assert_never(part)

    def _new_call(self, call: ToolCall) -> ShownCall:
        known = ShownCall(
            block_id=replay.card_id(self._reply_id, call.id),
            call=call,
        )
        self._calls[call.id] = known
        self._draw(known, CardState.PENDING)
        return known

    def _end(self, message: Message) -> None:
        if isinstance(message, AssistantMessage):
            self._end_reply(message)
        elif isinstance(message, BashExecutionMessage):
            self.own_commands.recorded()
            self._transcript.add(replay.command_block(message.id, message))
        elif isinstance(message, CustomMessage) and message.display:
            block = replay.custom_block(message.id, message, self.renderers)
            self._transcript.add(block)
            if block.label == replay.PENDING and isinstance(message.details, dict):
                self._pending_results[str(message.details.get("jobId"))] = block

    def _add(self, line: NoteBlock | None) -> None:
        """Adds the line about changed files, if there is one."""
        if line is not None:
            self._transcript.add(line)

    def _show_entry(self, entry: Entry) -> None:
        self._changed.note(entry)
        if isinstance(entry, CustomEntry) and (block := self.renderers.entry(entry)) is not None:
            self._transcript.add(block)

    def _end_reply(self, message: AssistantMessage) -> None:
        state, failure = replay.reply_state(message, self.renderers)
        self._failed.is_now(message)
        self._transcript.finish_reply(message.id, state, failure=failure)
        block = replay.reply_block(message.id, message, self.renderers)
        if block is None:
            self._transcript.remove_block(message.id)
        elif self.renderers.changes_text:
            self._transcript.add(block)
        if state in (ReplyState.ERROR, ReplyState.ABORTED):
            for call in message.tool_calls:
                if (known := self._calls.pop(call.id, None)) is not None:
                    known.is_over = True
                    self._draw(known, CardState.ABORTED)

    # Tool calls

    def _show_call(self, event: ToolExecutionStart | ToolExecutionUpdate | ToolExecutionEnd) -> None:
        known = self._calls.get(event.tool_call_id)
        if known is None:
            known = self._new_call(ToolCall(id=event.tool_call_id, name=event.tool_name, arguments={}))
        match event:
            case ToolExecutionStart():
                if isinstance(event.args, dict):
                    known.call = msgspec.structs.replace(known.call, arguments=event.args)
                known.started = self._clock()
                self._draw(known, known.state)
            case ToolExecutionUpdate():
                known.outcome = event.partial_result
                self._draw(known, known.state)
            case ToolExecutionEnd():
                known.started, known.is_over = None, True
                del self._calls[event.tool_call_id]
                if event.message is not None:
                    self._transcript.add(
                        replay.result_block(known.block_id, known.call, event.message, self.renderers)
                    )
                    self._staged.made(known.block_id, event.result.details)
            case _:
                assert_never(event)

    def _note_question(self, event: QuestionAsked) -> None:
        """Marks a call and those behind it as waiting for approval; their time starts with the answer."""
        if event.approval is None:
            return
        known = self._calls.get(event.approval.tool_call_id)
        if known is None or event.answer is None or event.answer.done():
            return

        def answered(_: object) -> None:
            known.is_asked_about = False
            for call in self._calls.values():
                if call.started is not None and (call is known or call.is_behind_question):
                    call.is_behind_question = False
                    call.started = self._clock()
                    self._draw(call, call.state)

        known.is_asked_about = True
        self._draw(known, known.state)
        event.answer.add_done_callback(answered)
        for call in self._calls.values():
            # Calls of one answer begin together, when no question about any of them is left.
            if call is not known and call.started is not None and call.outcome is None:
                call.is_behind_question = True
                self._draw(call, call.state)

    def _draw(self, known: ShownCall, state: CardState) -> None:
        took = 0.0 if known.started is None or known.waits else self._clock() - known.started
        timing = "waiting" if known.waits else elapsed(took) if took >= 1 else ""
        self._transcript.add(
            CardBlock(
                id=known.block_id,
                card=self.renderers.call(known.call, known.result),
                state=state,
                timing=timing,
            )
        )

    def _close_open_calls(self) -> None:
        """Marks open calls as aborted after a run that ended with an internal error."""
        for known in self._calls.values():
            known.started, known.is_over = None, True
            self._draw(known, CardState.ABORTED)
        self._calls.clear()

    # Compaction

    def _show_compaction(self, event: CompactionStart | CompactionProgress | CompactionEnd) -> None:
        match event:
            case CompactionStart():
                self.summary_card.begin(CustomKind.COMPACTION)
            case CompactionProgress(source="branchSummary"):
                self.summary_card.extend(event.delta, CustomKind.BRANCH_SUMMARY)
            case CompactionProgress():
                self.summary_card.extend(event.delta, CustomKind.COMPACTION)
            case CompactionEnd():
                self._end_compaction(event)
            case _:
                assert_never(event)

    def _end_compaction(self, event: CompactionEnd) -> None:
        self.summary_card.end()
        if event.result is not None:
            self._notes += 1
            self._transcript.add(
                replay.compaction_block(
                    f"compaction{self._notes}",
                    event.result,
                    self.renderers,
                    hint=self.offers.get("compacted", ""),
                )
            )
        elif event.error_message:
            self.note(event.error_message, NoteKind.INFO if event.aborted else NoteKind.ERROR)


_STAGED = ", staged"


class StagedCards:
    """Updates the cards of staged changes."""

    def __init__(self, transcript: Transcript, key_label: KeyLabel) -> None:
        self._transcript = transcript
        self._key_label = key_label
        self._blocks: dict[str, str] = {}
        """The blocks of unresolved staged changes, by the change's id."""

    def made(self, block_id: str, details: Mapping[str, Any] | None) -> None:
        """Remembers the block of a call that staged changes."""
        if id := text_detail(details, "pending"):
            self._blocks[id] = block_id

    def note(self, event: Event) -> None:
        if isinstance(event, PendingChanged) and event.resolved is not None:
            self._set_card_text(self._blocks.pop(event.resolved.id, ""), _became(event.resolved))
        elif isinstance(event, AgentSettled | AgentStart):
            keys = self._keys() if isinstance(event, AgentSettled) else ""
            for block_id in self._blocks.values():
                self._set_card_text(block_id, f"{_STAGED}{keys}")

    def _keys(self) -> str:
        """Returns the current keys that apply or discard; the approval bar handles them."""
        once = self._key_label("app.approval.once", "alt+a")
        deny = self._key_label("app.approval.deny", "alt+x")
        told = [f"{key} {does}" for key, does in ((once, "applies"), (deny, "discards")) if key]
        return f": {', '.join(told)}" if told else ""

    def _set_card_text(self, block_id: str, words: str) -> None:
        block = self._transcript.block(block_id) if block_id else None
        if isinstance(block, CardBlock):
            summary = block.card.summary.partition(_STAGED)[0] + words
            card = msgspec.structs.replace(block.card, summary=summary)
            self._transcript.add(msgspec.structs.replace(block, card=card))


def _became(outcome: PendingOutcome) -> str:
    if not outcome.is_done:
        return ", not applied"
    return ", applied" if outcome.action == "apply" else ", discarded"
