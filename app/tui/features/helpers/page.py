"""The page for `/tasks`: the helper agents and background jobs of a session. A helper opens full screen, with its
running conversation and an input line for messages to it."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar

from textual.binding import BindingType

from app.engine.helpers.helper_results import helper_usage_footer
from app.engine.helpers.helper_run import HelperAgentRun
from app.engine.session import Session
from app.sessions.session_log import SessionLog
from app.tui.features.jobs.page import job_output_block
from app.tui.features.shared_dialogs import ask_with_refreshed_picker
from app.tui.page_protocols import AskOnScreen, KeyLabel, ShowMessage
from app.tui.transcript.message_blocks import transcript_blocks_of_branch
from app.tui.transcript.presenter import TranscriptPresenter
from app.tui.transcript.renderers import EntryRenderers
from app.tui.transcript.turn_end import TurnEndCollector
from app.values.events import Event, MessageEnd, MessageStart, MessageUpdate
from app.values.user_errors import UserError
from tools.number_formatting import format_age
from tools.text_sanitizing import one_line
from widgets.lists.list_rows import ListRow, RowBadge, RowTone, make_column_heads
from widgets.screens.block import BlockScreen
from widgets.screens.conversation_screen import AgentConversationScreen
from widgets.screens.picker import PickerAction, PickerScreen, picker_bindings
from widgets.screens.preview_pane import PreviewParagraph, PreviewText
from widgets.transcript.transcript_blocks import AppNoteKind
from widgets.transcript.view import Transcript

_HELPER_STATE_TONES: dict[str, RowTone] = {
    "running": "accent",
    "waiting": "accent",
    "done": "success",
    "failed": "error",
    "stopped": "warning",
}


class HelperAgentsScreen(PickerScreen):
    """A picker of a session's helper agents and its other background jobs."""

    ACTIONS = (
        PickerAction(
            id="app.tasks.stop",
            keys="ctrl+x",
            label="stop",
            help="Stop the helper or job",
            closes=False,
            importance=7,
        ),
    )
    BINDINGS: ClassVar[list[BindingType]] = picker_bindings(ACTIONS)

    def __init__(self, rows: Sequence[ListRow], done: Callable[[ListRow], PreviewText]) -> None:
        super().__init__(
            "Helpers and jobs",
            rows,
            order="given",
            choose="open",
            empty="no helpers or jobs",
            heads=make_column_heads("Task", badges=("state",), right="time"),
            preview=done,
        )

    def show_tasks(self, rows: Sequence[ListRow]) -> None:
        if tuple(rows) != self._rows:
            self.show_rows(rows)
        self.refresh_preview()


class MidAnswerPresenter:
    """Passes session events to a presenter that began in the middle of an answer. Parts of that answer are skipped; it
    is shown when it ends."""

    def __init__(self, presenter: TranscriptPresenter) -> None:
        self._presenter = presenter
        self._has_message_started = False

    def __call__(self, event: Event) -> None:
        if isinstance(event, MessageStart):
            self._has_message_started = True
        if self._has_message_started or not isinstance(event, MessageUpdate | MessageEnd):
            self._presenter.show_event(event)
        elif isinstance(event, MessageEnd):
            self._presenter.rebuild_transcript()
            self._has_message_started = True


class HelperConversation:
    """Shows the conversation of one helper agent while the helper runs."""

    def __init__(
        self,
        session: Session,
        helper: HelperAgentRun,
        key_label: KeyLabel,
        renderers: EntryRenderers,
        open_log: Callable[[Path], SessionLog],
    ) -> None:
        self._session = session
        self._find_helper = helper
        self._key_label = key_label
        self._renderers = renderers
        self._open_log = open_log
        self._live_session: Session | None = None
        self._unsubscribe: Callable[[], None] = lambda: None
        self._presenter: TranscriptPresenter | None = None
        self._has_log = False

    def title(self) -> str:
        return one_line(f"{self._find_helper.id} {self._find_helper.label}")[:100]

    def footer(self) -> str:
        helper = self._find_helper
        return f"{helper.current_tool or helper.state} · {helper_usage_footer(helper)}"

    def show_new_messages(self, transcript: Transcript) -> None:
        working = self._find_helper.session
        if isinstance(working, Session):
            if working is not self._live_session:
                self.stop_showing()
                self._live_session = working
                self._presenter = presenter = TranscriptPresenter(
                    working, transcript, lambda event: None, self._key_label
                )
                presenter.rebuild_transcript()
                presenter.show_earlier_blocks()
                self._unsubscribe = working.subscribe(MidAnswerPresenter(presenter))
            elif self._presenter is not None:
                self._presenter.update_elapsed_times()
        elif self._live_session is None and not self._has_log:
            self._show_saved_conversation(transcript)

    def _show_saved_conversation(self, transcript: Transcript) -> None:
        """Shows the conversation of a helper that has ended."""
        helper = self._find_helper
        log = helper.log
        if log is None and helper.session_file is not None:
            log = self._open_log(helper.session_file)
        if log is None:
            return
        transcript.replace_all(
            transcript_blocks_of_branch(log.path_to(), self._renderers, TurnEndCollector())
        )
        self._has_log = True
        if log is not helper.log:
            log.close()

    def stop_showing(self) -> None:
        self._unsubscribe()
        self._unsubscribe = lambda: None
        self._live_session = self._presenter = None

    async def send_message(self, text: str) -> str:
        try:
            await self._session.helpers.send_message(self._find_helper.id, text)
        except UserError as problem:
            return str(problem)
        return ""

    async def stop(self) -> None:
        await self._session.helpers.stop_helper(self._find_helper.id)


class HelperAgentsPage:
    """Lists the helper agents and background jobs of one session and opens them."""

    def __init__(
        self,
        session: Session,
        ask: AskOnScreen,
        say: ShowMessage,
        key_label: KeyLabel,
        renderers: EntryRenderers,
        open_log: Callable[[Path], SessionLog],
    ) -> None:
        self._session = session
        self._ask = ask
        self._show_message = say
        self._key_label = key_label
        self._renderers = renderers
        self._open_log = open_log
        self._stop_tasks: set[asyncio.Future[HelperAgentRun]] = set()

    async def open(self) -> None:
        """Lists a session's helpers and jobs, and opens the chosen one."""
        if not self._rows():
            self._show_message("This session has no helpers or jobs.")
            return
        screen = HelperAgentsScreen(self._rows(), self._progress_preview)
        picked = await ask_with_refreshed_picker(
            self._ask, screen, lambda: screen.show_tasks(self._rows()), self._handle_request
        )
        if picked is None:
            return
        helper = self._find_helper(picked.row.id)
        if helper is not None:
            await self._open_conversation(helper)
        else:
            job = self._session.jobs.get(picked.row.id)
            await self._ask(BlockScreen(f"Output of {job.id}", lambda: job_output_block(job)))

    async def open_helper_of_card(self, block_id: str) -> bool:
        """Shows the conversation of the helper agent that a tool card belongs to; returns False if it belongs to
        none."""
        call_id = block_id.partition("/")[2]
        helper = next((one for one in self._session.helpers.known_helpers() if one.call_id == call_id), None)
        if helper is None or not call_id:
            return False
        await self._open_conversation(helper)
        return True

    async def _open_conversation(self, helper: HelperAgentRun) -> None:
        followed = HelperConversation(self._session, helper, self._key_label, self._renderers, self._open_log)
        await self._ask(AgentConversationScreen(followed, followed.send_message))

    def _find_helper(self, row_id: str) -> HelperAgentRun | None:
        return next((one for one in self._session.helpers.known_helpers() if one.id == row_id), None)

    def _handle_request(self, request: HelperAgentsScreen.ActionRequested) -> None:
        screen, row = request.screen, request.row
        if not isinstance(screen, HelperAgentsScreen) or row is None:
            return
        if self._find_helper(row.id) is not None:
            self._stop_tasks.add(stopping := asyncio.ensure_future(self._session.helpers.stop_helper(row.id)))
            stopping.add_done_callback(self._stop_tasks.discard)
        else:
            try:
                self._session.jobs.kill(row.id, tell=True)
            except UserError as problem:
                self._show_message(str(problem), AppNoteKind.WARNING)
        screen.show_tasks(self._rows())

    def _rows(self) -> list[ListRow]:
        helpers = self._session.helpers.known_helpers()
        of_helpers = {helper.job_id for helper in helpers}
        jobs = [job for job in self._session.jobs.all() if job.id not in of_helpers]
        rows = [
            _task_row(one.id, one.label, one.state, helper_usage_footer(one), one.seconds) for one in helpers
        ]
        return rows + [_task_row(job.id, job.title, job.state, "", job.seconds) for job in jobs]

    def _progress_preview(self, row: ListRow) -> PreviewText:
        """Returns a preview of what a helper or a background job has done so far."""
        helper = self._find_helper(row.id)
        if helper is not None:
            text = helper.answer_text or "\n".join(helper.progress_lines[-20:])
        else:
            job = next((job for job in self._session.jobs.all() if job.id == row.id), None)
            text = (
                ""
                if job is None
                else job.result.text[-2000:]
                if job.result is not None
                else job.read_output_tail()
            )
        return PreviewText(parts=(PreviewParagraph(text=text or "no output yet", tone="muted"),))


def _task_row(id: str, title: str, state: str, detail: str, seconds: float) -> ListRow:
    badge = RowBadge(text=state, tone=_HELPER_STATE_TONES.get(state, "success"))
    return ListRow(id=id, title=one_line(title), badges=(badge,), detail=detail, right=format_age(seconds))
