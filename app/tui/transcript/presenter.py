"""Shows session events in the transcript: one `match` converts each event to calls on the transcript; it decides
nothing and waits for nothing."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import assert_never

import msgspec

from app.engine.session import Session
from app.extensions.extension_catalogue import ExtensionCatalogue
from app.tui.page_protocols import KeyLabel
from app.tui.transcript import message_blocks
from app.tui.transcript.earlier_blocks import EarlierBlockLoader
from app.tui.transcript.failed_answer import FailedAnswerTracker
from app.tui.transcript.renderers import EntryRenderers
from app.tui.transcript.running_commands import RunningUserCommands
from app.tui.transcript.shown_call import ShownToolCall, StreamedToolCalls
from app.tui.transcript.summary_card import StreamedSummaryCard, make_summarised_branch_namer
from app.tui.transcript.turn_end import TurnEndCollector
from app.tui.transcript.turn_end_blocks import TurnEndBars
from app.undo.change_records import FILE_RESTORE_ENTRY_TYPE
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
    ToolResultMessage,
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
from tools.number_formatting import format_elapsed
from widgets.transcript.transcript_blocks import (
    AppNoteBlock,
    AppNoteKind,
    CardState,
    CustomBlock,
    CustomBlockKind,
    ReplyBlock,
    ReplyState,
    ToolCallBlock,
    TurnEndBlock,
)
from widgets.transcript.view import Transcript

_WELCOME_PAGE_EVENTS = (EntryAppended, ModelChanged, ThinkingLevelChanged, McpServersChange, PlanModeChanged)
"""Events after which the first page may say something else."""


class TranscriptPresenter:
    """Shows the events of one session in one transcript. Events about other parts go to `on_other`."""

    def __init__(
        self,
        session: Session,
        transcript: Transcript,
        on_other: Callable[[Event], None],
        key_label: KeyLabel,
        clock: Callable[[], float] = time.monotonic,
        next_step: Callable[[AssistantMessage], str] = lambda _: "",
        spawn: Callable[[Awaitable[None]], object] = asyncio.ensure_future,
        first_page: Callable[[], Sequence[AppNoteBlock]] = tuple,
    ) -> None:
        """Creates the presenter. `first_page`: returns the blocks of the first page, which the first prompt removes."""
        self._session, self._transcript = session, transcript
        self._on_other_session = on_other
        self._first_page = first_page
        self._has_first_page = False
        self._first_blocks: Sequence[AppNoteBlock] = ()
        self._clock = clock
        self._calls: dict[str, ShownToolCall] = {}
        self._by_index: dict[int, ShownToolCall] = {}
        self._arriving_calls = StreamedToolCalls(
            session.previews.has_preview,
            session.previews.preview_call,
            lambda known: self._draw_call(known, known.state),
            spawn,
            clock,
        )
        self._pending_results: dict[str, CustomBlock] = {}
        """Job results that were not sent to the model yet, by job."""
        self._reply_id, self._notes = "", 0
        self._turn_ends, self._turn_bars = TurnEndCollector(), TurnEndBars(session, transcript, key_label)
        self.renderers = EntryRenderers(
            session.tools.draw_call_card,
            key_label,
            next_step,
            make_summarised_branch_namer(session),
            is_staged=lambda id: any(one.id == id for one in session.pending.waiting_actions),
        )
        self._failed = FailedAnswerTracker(transcript, self.renderers, self.add_note)
        self.summary_card = StreamedSummaryCard(transcript)
        self._staged = StagedChangeCards(transcript, self.renderers)
        self.own_commands = RunningUserCommands(transcript)
        self._earlier_blocks = EarlierBlockLoader(transcript, self.renderers, self._turn_bars.add_earlier)
        self.next_step_by_subject: dict[str, str] = {}
        """The page's suggested next step, by the subject of a notice."""

    def rebuild_transcript(self) -> None:
        """Draws the transcript of the whole current branch again, from the session's log."""
        self._calls.clear()
        self._pending_results.clear()
        self.own_commands.forget()
        self._failed.reset()
        self._failed.set_last_answer(self._session.last_answer)
        log = self._session.log
        self._turn_ends = TurnEndCollector()
        entries = self._earlier_blocks.take_entries_to_show_first(log.path_to())
        blocks = message_blocks.transcript_blocks_of_branch(entries, self.renderers, self._turn_ends)
        if not self._session.is_running:
            message_blocks.add_turn_end(blocks, self._turn_ends.unfinished_turn_end())
        self._transcript.replace_all(self._turn_bars.replace_all(blocks))
        self._first_blocks = ()
        if not blocks and self._has_first_page:
            self._show_first_page()

    def show_welcome_page(self) -> None:
        """Shows the first page wherever there is no conversation, now and later."""
        if not self._has_first_page:
            self._has_first_page = True
            self._show_first_page()

    def update_welcome_page(self) -> None:
        """Draws the first page again after something that it names has changed."""
        if self._has_first_page and not self._session.messages and not self._session.is_running:
            self._show_first_page()

    def _show_first_page(self) -> None:
        before, self._first_blocks = self._first_blocks, self._first_page()
        kept = {block.id for block in self._first_blocks}
        last = self._transcript.last_block
        is_at_end = last is None or not before or last in before
        if is_at_end and [block.id for block in before] != [block.id for block in self._first_blocks]:
            kept.clear()  # what was loaded late has its place between the others
        for gone in before:
            if gone.id not in kept:
                self._transcript.remove_block(gone.id)
        known = {block.id for block in before}
        for block in self._first_blocks:
            if block.id not in kept or (block.id in known and block not in before):
                self._transcript.add(block)

    def _leave_first_page(self) -> None:
        """Removes the first page when the first prompt is sent; a block with suggested requests stays."""
        for block in self._first_blocks:
            if not any(row.kind == "choice" and not row.sends.startswith("/") for row in block.rows):
                self._transcript.remove_block(block.id)
        self._first_blocks = ()

    def show_earlier_blocks(self) -> None:
        """Starts to add earlier blocks, which the first paint does not wait for."""
        self._earlier_blocks.start_adding_earlier_blocks()

    def redraw_extension_blocks(self, catalogue: ExtensionCatalogue) -> None:
        """Draws the blocks again that loaded extensions draw differently; all blocks if that is unknown."""
        is_first = self.renderers.catalogue is None
        self.renderers.catalogue = catalogue
        log = self._session.log
        changed = self.renderers.entries_to_redraw(log.path_to()) if is_first else None
        if changed is None:
            self.rebuild_transcript()
        else:
            self._earlier_blocks.redraw_entries(changed)

    def show_event(self, event: Event) -> None:
        if isinstance(event, _WELCOME_PAGE_EVENTS):
            self.update_welcome_page()
        if isinstance(event, QuestionAsked):
            self._on_other_session(event)  # the question's bar before its card: from then on keys answer it
            self._mark_asked_call(event)
        else:
            self._show_session_event(event)
            self._on_other_session(event)

    def _show_session_event(self, event: Event) -> None:
        match event:
            case MessageStart(message=message):
                self._add_turn_end(self._turn_ends.turn_end_before(message))
                self._begin_message(message)
            case MessageUpdate(assistant_message_event=part):
                self._append_delta(part)
            case MessageEnd(message=message):
                self._end_message(message)
                self._add_turn_end(self._turn_ends.turn_end_after(message))
            case ToolExecutionStart() | ToolExecutionUpdate() | ToolExecutionEnd():
                if event.parent_tool_call_id is None and not self.own_commands.handle_event(event):
                    self._show_call(event)
            case SessionReplaced():
                self.rebuild_transcript()
            case AgentStart() | AgentSettled() | PendingChanged() | QueueUpdate():
                self._change_waiting_cards(event)
            case Notice() | ExtensionError() | AnswerInterrupted():
                self._show_notice(event)
            case AutoRetryStart() | AutoRetryEnd():
                self._failed.update_retry(event)
            case CompactionStart() | CompactionProgress() | CompactionEnd():
                self._show_compaction(event)
            case EntryAppended():
                self._show_entry(event.entry)
            case JobChanged():
                self._update_job(event)
            case (
                AgentEnd()
                | TurnStart()
                | TurnEnd()
                | PromptResult()
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
                self.own_commands.add_output(event.delta)
            case _:
                assert_never(event)

    def _update_job(self, event: JobChanged) -> None:
        self._turn_bars.update_waiting_work()
        if event.state == "delivered" and (told := self._pending_results.pop(event.job_id, None)):
            self._transcript.add(message_blocks.mark_job_delivered(told))

    def _change_waiting_cards(self, event: AgentStart | AgentSettled | PendingChanged | QueueUpdate) -> None:
        """Updates the cards of staged changes and the end of the last turn after an event; when the agent has settled,
        ends open calls and the turn."""
        if isinstance(event, AgentSettled):
            self._close_open_calls()
        resolved = event.resolved if isinstance(event, PendingChanged) else None
        if resolved is not None:
            self._staged.show_outcome(resolved)
        if isinstance(event, AgentSettled) or (resolved is not None and not self._session.is_running):
            self._add_turn_end(self._turn_ends.unfinished_turn_end())
        self._turn_bars.update_waiting_work()

    def _show_notice(self, event: Notice | ExtensionError | AnswerInterrupted) -> None:
        if isinstance(event, Notice):
            self.add_note(
                event.text,
                AppNoteKind(event.level),
                next_step=self.next_step_by_subject.get(event.about or "", ""),
            )
        elif isinstance(event, AnswerInterrupted):
            block = self._transcript.find_block(event.message_id)
            shown = isinstance(block, ReplyBlock) and message_blocks.answer_without_actions(
                block, because=message_blocks.ANSWER_STOPPED_BY_RULE_TEXT
            )
            if shown:
                self._transcript.add(shown)
        else:
            self.add_note(f"{event.extension_path} ({event.event}): {event.error}", AppNoteKind.ERROR)

    def add_note(self, text: str, kind: AppNoteKind = AppNoteKind.INFO, *, next_step: str = "") -> str:
        """Adds a message of bayou and returns its block id; a repetition of the last one is not
        added."""
        last = self._transcript.last_block
        if isinstance(last, AppNoteBlock) and (last.text, last.kind, last.next_step) == (
            text,
            kind,
            next_step,
        ):
            return last.id
        self._notes += 1
        block_id = f"note{self._notes}"
        self._transcript.add(AppNoteBlock(id=block_id, text=text, kind=kind, next_step=next_step))
        return block_id

    def update_elapsed_times(self) -> bool:
        """Updates the elapsed times of running calls; returns False if none is running."""
        running = [call for call in self._calls.values() if call.started_at is not None]
        for call in running:
            self._draw_call(call, call.state)
        if running:
            self._transcript.arriving.flush()  # in the same frame as the line above the editor
        return bool(running)

    def running_call_ids(self) -> tuple[str, ...]:
        return tuple(call_id for call_id, call in self._calls.items() if call.started_at is not None)

    # Messages

    def _begin_message(self, message: Message) -> None:
        if isinstance(message, UserMessage):
            self._leave_first_page()
            self._turn_bars.mark_next_turn_begun()
            self._failed.note_prompt_start()
            self._transcript.add(message_blocks.user_message_block(message.id, message, self.renderers))
        elif isinstance(message, AssistantMessage):
            self._failed.note_answer_start()
            self._reply_id = message.id
            self._by_index.clear()
            self._transcript.begin_reply(message.id)

    def _append_delta(self, part: BlockEvent) -> None:
        match part:
            case TextDelta():
                self._transcript.append_text(self._reply_id, part.delta)
            case ThinkingDelta():
                self._transcript.append_thinking(self._reply_id, part.delta)
            case ToolCallStart():
                call = ToolCall(id=part.id, name=part.tool_name, arguments={})
                self._by_index[part.content_index] = self._track_call(call)
            case ToolCallDelta():
                if (known := self._by_index.get(part.content_index)) is not None:
                    self._arriving_calls.add_arguments(known, part.delta)
            case ToolCallEnd():
                known = self._by_index.get(part.content_index)
                if known is None or known.call.id != part.tool_call.id:
                    if known is not None:  # its id came late
                        self._calls.pop(known.call.id, None)
                        self._transcript.remove_block(known.block_id)
                    known = self._track_call(part.tool_call)
                    self._by_index[part.content_index] = known
                known.call = part.tool_call
                self._arriving_calls.draw_complete_call(known)
            case TextStart() | TextEnd() | ThinkingStart() | ThinkingEnd():
                pass
            case _:
                assert_never(part)

    def _track_call(self, call: ToolCall) -> ShownToolCall:
        known = ShownToolCall(
            block_id=message_blocks.make_tool_card_id(self._reply_id, call.id),
            call=call,
        )
        self._calls[call.id] = known
        self._draw_call(known, CardState.PENDING)
        return known

    def _end_message(self, message: Message) -> None:
        if isinstance(message, AssistantMessage):
            self._end_reply(message)
        elif isinstance(message, BashExecutionMessage):
            self.own_commands.remove_temporary_block()
            self._transcript.add(message_blocks.user_command_block(message.id, message))
        elif isinstance(message, CustomMessage) and message.display:
            block = message_blocks.custom_message_block(message.id, message, self.renderers)
            self._transcript.add(block)
            if block.label == message_blocks.PENDING and isinstance(message.details, dict):
                self._pending_results[str(message.details.get("jobId"))] = block

    def _add_turn_end(self, line: TurnEndBlock | None) -> None:
        """Adds the end of a turn to the transcript; does nothing for None."""
        if line is not None:
            self._turn_bars.add(line)

    def _show_entry(self, entry: Entry) -> None:
        self._turn_ends.add_entry(entry)
        if isinstance(entry, CustomEntry) and entry.custom_type == FILE_RESTORE_ENTRY_TYPE:
            self._turn_bars.update_undone_changes()
        if isinstance(entry, CustomEntry) and (block := self.renderers.entry_block(entry)) is not None:
            self._transcript.add(block)

    def _end_reply(self, message: AssistantMessage) -> None:
        state, failure = message_blocks.model_reply_state(message, self.renderers)
        self._failed.set_last_answer(message)
        self._transcript.finish_reply(message.id, state, failure=failure)
        block = message_blocks.model_reply_block(message.id, message, self.renderers)
        if block is None:
            self._transcript.remove_block(message.id)
        elif self.renderers.has_text_transforms:
            self._transcript.add(block)
        if state in (ReplyState.ERROR, ReplyState.ABORTED):
            for call in message.tool_calls:
                if (known := self._calls.pop(call.id, None)) is not None:
                    known.has_ended = True
                    self._draw_call(known, CardState.ABORTED)

    # Tool calls

    def _show_call(self, event: ToolExecutionStart | ToolExecutionUpdate | ToolExecutionEnd) -> None:
        known = self._calls.get(event.tool_call_id)
        if known is None:
            known = self._track_call(ToolCall(id=event.tool_call_id, name=event.tool_name, arguments={}))
        match event:
            case ToolExecutionStart():
                if isinstance(event.args, dict):
                    known.call = msgspec.structs.replace(known.call, arguments=event.args)
                known.started_at = self._clock()
                self._draw_call(known, known.state)
            case ToolExecutionUpdate():
                known.outcome = event.partial_result
                self._draw_call(known, known.state)
            case ToolExecutionEnd():
                known.started_at, known.has_ended = None, True
                del self._calls[event.tool_call_id]
                if event.message is not None:
                    self._transcript.add(
                        message_blocks.tool_result_block(
                            known.block_id, known.call, event.message, self.renderers
                        )
                    )
                    self._staged.remember_call(known.block_id, known.call, event.message)
            case _:
                assert_never(event)

    def _mark_asked_call(self, event: QuestionAsked) -> None:
        """Marks the card of the call that a question is about, and of calls waiting after it, as waiting; their time
        starts with the answer. A call whose server or helper asks has already begun, and holds up no other."""
        known = self._find_asked_call(event)
        if known is None or event.answer is None or event.answer.done():
            return
        has_begun = bool(event.form.server if event.approval is None else event.approval.helper)

        def answered(_: object) -> None:
            known.is_asked_about = False
            for call in self._calls.values():
                if call.started_at is not None and (
                    call is known or (call.is_behind_question and not has_begun)
                ):
                    call.is_behind_question = False
                    call.started_at = call.started_at if has_begun else self._clock()
                    self._draw_call(call, call.state)

        known.is_asked_about = True
        self._draw_call(known, known.state)
        event.answer.add_done_callback(answered)
        for call in () if has_begun else self._calls.values():
            # Calls of one answer begin together, when no question about any of them is left.
            if call is not known and call.started_at is not None and call.outcome is None:
                call.is_behind_question = True
                self._draw_call(call, call.state)

    def _find_asked_call(self, event: QuestionAsked) -> ShownToolCall | None:
        asked = event.approval
        if asked is not None and not asked.helper:
            return self._calls.get(asked.tool_call_id)
        running = [
            call for call in self._calls.values() if call.started_at is not None and call.outcome is None
        ]
        if asked is not None:  # a helper's call: its id begins with that of the call that started the helper
            calls = self._calls.values()
            return next((one for one in calls if asked.tool_call_id.startswith(f"{one.call.id}/")), None)
        return running[0] if event.form is not None and len(running) == 1 else None

    def _draw_call(self, known: ShownToolCall, state: CardState) -> None:
        took = 0.0 if known.started_at is None or known.is_waiting else self._clock() - known.started_at
        timing = "waiting" if known.is_waiting else format_elapsed(took) if took >= 1 else ""
        card = self.renderers.call_card(known.call, known.result)
        if known.is_asked_about and isinstance(known.call.arguments.get("command"), str):
            card = msgspec.structs.replace(card, subject="")  # the question shows the command
        elif state is CardState.ABORTED and known.outcome is None:
            card = message_blocks.card_of_call_not_run(card)
        self._transcript.add(
            ToolCallBlock(
                id=known.block_id,
                card=card,
                state=state,
                timing=timing,
            )
        )

    def _close_open_calls(self) -> None:
        """Marks calls that are still open as aborted after a run that ended with an internal error."""
        for known in self._calls.values():
            known.started_at, known.has_ended = None, True
            self._draw_call(known, CardState.ABORTED)
        self._calls.clear()

    # Compaction

    def _show_compaction(self, event: CompactionStart | CompactionProgress | CompactionEnd) -> None:
        match event:
            case CompactionStart():
                self.summary_card.show_card(CustomBlockKind.COMPACTION)
            case CompactionProgress(source="branchSummary"):
                self.summary_card.extend(event.delta, CustomBlockKind.BRANCH_SUMMARY)
            case CompactionProgress():
                self.summary_card.extend(event.delta, CustomBlockKind.COMPACTION)
            case CompactionEnd():
                self._end_compaction(event)
            case _:
                assert_never(event)

    def _end_compaction(self, event: CompactionEnd) -> None:
        self.summary_card.remove_card()
        if event.result is not None:
            self._notes += 1
            self._transcript.add(
                message_blocks.compaction_block(
                    f"compaction{self._notes}",
                    event.result,
                    self.renderers,
                    hint=self.next_step_by_subject.get("compacted", ""),
                )
            )
        elif event.error_message:
            self.add_note(event.error_message, AppNoteKind.INFO if event.aborted else AppNoteKind.ERROR)


_STAGED_CARD_LABEL = ", staged"


class StagedChangeCards:
    """Updates the cards of calls that staged changes when these are applied or discarded."""

    def __init__(self, transcript: Transcript, renderers: EntryRenderers) -> None:
        self._transcript, self._renderers = transcript, renderers
        self._calls: dict[str, tuple[str, ToolCall, ToolResultMessage]] = {}
        """The blocks, calls and results of unresolved staged changes, by the change's id."""

    def remember_call(self, block_id: str, call: ToolCall, message: ToolResultMessage) -> None:
        if id := message_blocks.staged_changes_id_of(message):
            self._calls[id] = (block_id, call, message)

    def show_outcome(self, outcome: PendingOutcome) -> None:
        """Updates the card of a call whose staged changes were applied or discarded; draws the diff again if they were
        applied."""
        if (known := self._calls.pop(outcome.id, None)) is None:
            return
        block = message_blocks.tool_result_block(*known, self._renderers)
        is_applied = outcome.is_done and outcome.action == "apply"
        told = "applied" if is_applied else "discarded" if outcome.is_done else "not applied"
        card = msgspec.structs.replace(
            block.card,
            summary=f"{block.card.summary.partition(_STAGED_CARD_LABEL)[0]}, {told}",
            blocks=block.card.blocks if is_applied else (),
        )
        self._transcript.add(msgspec.structs.replace(block, card=card))
