"""`/tasks`: the helpers and background jobs of a session. A helper opens full screen: its conversation as it goes on,
and a line with which it is told something."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar

from textual.binding import BindingType

from app.engine.helpers.helper_results import helper_footer
from app.engine.helpers.helper_run import HelperRun
from app.engine.session import Session
from app.sessions.session_log import SessionLog
from app.tui.features.helpers.screen import HelperScreen
from app.tui.features.jobs.page import job_block
from app.tui.features.shared_dialogs import ask_live
from app.tui.page_protocols import AskPerson, KeyLabel, ShowMessage
from app.tui.transcript.changes_line import ChangesLine
from app.tui.transcript.presenter import Presenter
from app.tui.transcript.renderers import Renderers
from app.tui.transcript.replay import blocks_of
from app.values.events import Event, MessageEnd, MessageStart, MessageUpdate
from app.values.user_errors import UserError
from tools.amounts import age
from tools.text import one_line
from widgets.lists.rows import Badge, ListRow, Tone
from widgets.screens.block import BlockScreen
from widgets.screens.picker import PickerAction, PickerScreen, bindings_of
from widgets.screens.preview import PreviewPart, PreviewText
from widgets.transcript.blocks import NoteKind
from widgets.transcript.view import Transcript

_TONES: dict[str, Tone] = {
    "running": "accent",
    "waiting": "accent",
    "done": "success",
    "failed": "error",
    "stopped": "warning",
}


class HelpersScreen(PickerScreen):
    """Lists helpers, and the background jobs that are none."""

    ACTIONS = (PickerAction(id="app.tasks.stop", keys="ctrl+x", label="stop", closes=False, importance=7),)
    BINDINGS: ClassVar[list[BindingType]] = bindings_of(ACTIONS)

    def __init__(self, rows: Sequence[ListRow], done: Callable[[ListRow], PreviewText]) -> None:
        super().__init__(
            "Helpers and jobs",
            rows,
            order="given",
            choose="open",
            empty="no helper has been started",
            preview=done,
        )

    def show_tasks(self, rows: Sequence[ListRow]) -> None:
        if tuple(rows) != self._rows:
            self.show_rows(rows)
        self.refresh_preview()


class FromTheNextMessage:
    """Passes a session's events on to a presenter that came in the middle of an answer, which is shown at its end."""

    def __init__(self, presenter: Presenter) -> None:
        self._presenter = presenter
        self._is_in_time = False

    def __call__(self, event: Event) -> None:
        if isinstance(event, MessageStart):
            self._is_in_time = True
        if self._is_in_time or not isinstance(event, MessageUpdate | MessageEnd):
            self._presenter.show(event)
        elif isinstance(event, MessageEnd):
            self._presenter.show_all()
            self._is_in_time = True


class HelperConversation:
    """Follows a helper of one session on its screen."""

    def __init__(
        self,
        session: Session,
        helper: HelperRun,
        key_label: KeyLabel,
        renderers: Renderers,
        open_log: Callable[[Path], SessionLog],
    ) -> None:
        self._session = session
        self._helper = helper
        self._key_label = key_label
        self._renderers = renderers
        self._open_log = open_log
        self._live: Session | None = None
        self._leave: Callable[[], None] = lambda: None
        self._presenter: Presenter | None = None
        self._has_log = False

    def title(self) -> str:
        return one_line(f"{self._helper.id} {self._helper.name}")[:100]

    def footer(self) -> str:
        helper = self._helper
        return f"{helper.current or helper.state} · {helper_footer(helper)}"

    def follow(self, transcript: Transcript) -> None:
        working = self._helper.session
        if isinstance(working, Session):
            if working is not self._live:
                self.leave()
                self._live = working
                self._presenter = presenter = Presenter(
                    working, transcript, lambda event: None, self._key_label
                )
                presenter.show_all()
                presenter.show_earlier()
                self._leave = working.subscribe(FromTheNextMessage(presenter))
            elif self._presenter is not None:
                self._presenter.tick()
        elif self._live is None and not self._has_log:
            self._show_log(transcript)

    def _show_log(self, transcript: Transcript) -> None:
        """Shows the conversation of a helper that has ended."""
        helper = self._helper
        log = helper.log
        if log is None and helper.session_file is not None:
            log = self._open_log(helper.session_file)
        if log is None:
            return
        transcript.replace_all(blocks_of(log.path_to(), self._renderers, ChangesLine(self._key_label)))
        self._has_log = True
        if log is not helper.log:
            log.close()

    def leave(self) -> None:
        self._leave()
        self._leave = lambda: None
        self._live = self._presenter = None

    async def tell(self, text: str) -> str:
        try:
            await self._session.helpers.tell(self._helper.id, text)
        except UserError as problem:
            return str(problem)
        return ""

    async def stop(self) -> None:
        await self._session.helpers.end(self._helper.id)


class HelpersPage:
    """Shows the helpers and jobs of one session."""

    def __init__(
        self,
        session: Session,
        ask: AskPerson,
        say: ShowMessage,
        key_label: KeyLabel,
        renderers: Renderers,
        open_log: Callable[[Path], SessionLog],
    ) -> None:
        self._session = session
        self._ask = ask
        self._say = say
        self._key_label = key_label
        self._renderers = renderers
        self._open_log = open_log
        self._stopping: set[asyncio.Future[HelperRun]] = set()

    async def open(self) -> None:
        """Shows the list, and what is chosen in it."""
        if not self._rows():
            self._say("No helper and no job has been started in this session.")
            return
        screen = HelpersScreen(self._rows(), self._done)
        picked = await ask_live(self._ask, screen, lambda: screen.show_tasks(self._rows()), self._requested)
        if picked is None:
            return
        helper = self._helper(picked.row.id)
        if helper is not None:
            await self._show(helper)
        else:
            job = self._session.jobs.get(picked.row.id)
            await self._ask(BlockScreen(f"Output of {job.id}", lambda: job_block(job)))

    async def open_card(self, block_id: str) -> bool:
        """Shows the helper that a card belongs to; returns False for another card."""
        call_id = block_id.partition("/")[2]
        helper = next((one for one in self._session.helpers.known() if one.call_id == call_id), None)
        if helper is None or not call_id:
            return False
        await self._show(helper)
        return True

    async def _show(self, helper: HelperRun) -> None:
        followed = HelperConversation(self._session, helper, self._key_label, self._renderers, self._open_log)
        await self._ask(HelperScreen(followed))

    def _helper(self, row_id: str) -> HelperRun | None:
        return next((one for one in self._session.helpers.known() if one.id == row_id), None)

    def _requested(self, request: HelpersScreen.ActionRequested) -> None:
        screen, row = request.screen, request.row
        if not isinstance(screen, HelpersScreen) or row is None:
            return
        if self._helper(row.id) is not None:
            self._stopping.add(stopping := asyncio.ensure_future(self._session.helpers.end(row.id)))
            stopping.add_done_callback(self._stopping.discard)
        else:
            try:
                self._session.jobs.kill(row.id, tell=True)
            except UserError as problem:
                self._say(str(problem), NoteKind.WARNING)
        screen.show_tasks(self._rows())

    def _rows(self) -> list[ListRow]:
        helpers = self._session.helpers.known()
        of_helpers = {helper.job_id for helper in helpers}
        jobs = [job for job in self._session.jobs.all() if job.id not in of_helpers]
        rows = [_row(one.id, one.name, one.state, helper_footer(one), one.seconds) for one in helpers]
        return rows + [_row(job.id, job.title, job.state, "", job.seconds) for job in jobs]

    def _done(self, row: ListRow) -> PreviewText:
        """Returns what a helper or a job has done so far."""
        helper = self._helper(row.id)
        if helper is not None:
            text = helper.result or "\n".join(helper.lines[-20:])
        else:
            job = next((job for job in self._session.jobs.all() if job.id == row.id), None)
            text = "" if job is None else job.result.text[-2000:] if job.result is not None else job.tail()
        return PreviewText(parts=(PreviewPart(text=text or "nothing yet", tone="muted"),))


def _row(id: str, title: str, state: str, detail: str, seconds: float) -> ListRow:
    badge = Badge(text=state, tone=_TONES.get(state, "success"))
    return ListRow(id=id, title=one_line(title), badges=(badge,), detail=detail, right=age(seconds))
