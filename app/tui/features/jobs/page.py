"""The page for `/jobs`, `/kill` and `/pin`: background jobs with the end of their output."""

from collections.abc import Callable, Sequence
from typing import ClassVar, Literal

import msgspec
from textual.binding import BindingType

from app.engine.jobs.background_jobs import BackgroundJob
from app.engine.session import Session
from app.tui.features.shared_dialogs import ask_with_refreshed_picker
from app.tui.page_protocols import AskOnScreen, CopyText, ShowMessage
from tools.number_formatting import format_age
from tools.tool_result_values import Card, TextBlock
from widgets.lists.list_rows import ListRow, RowBadge, RowTone, make_column_heads
from widgets.screens.block import BlockScreen
from widgets.screens.picker import PickerAction, PickerScreen, picker_bindings
from widgets.screens.preview_pane import Preview, PreviewParagraph, PreviewText
from widgets.transcript.transcript_blocks import CardState, ToolCallBlock


class BackgroundJobsScreen(PickerScreen):
    """A picker of background jobs; Enter opens a job's whole output, other keys stop it, pin it or copy its output."""

    ACTIONS = (
        PickerAction(id="app.jobs.stop", keys="ctrl+x", label="stop", closes=False, importance=7),
        PickerAction(id="app.jobs.pin", keys="ctrl+t", label="pin", closes=False),
        PickerAction(id="app.jobs.copy", keys="ctrl+y", label="copy output", closes=False),
    )
    BINDINGS: ClassVar[list[BindingType]] = picker_bindings(ACTIONS)

    def __init__(self, rows: Sequence[ListRow], tail: Callable[[ListRow], PreviewText]) -> None:
        """Creates the list. `tail`: returns the end of a job's output, for the preview."""
        super().__init__(
            "Jobs",
            rows,
            order="given",
            choose="open output",
            empty="no jobs are running",
            heads=make_column_heads("Job", prefix="  ", badges=("state",), right="time"),
            preview=tail,
        )
        self.add_class("jobs")

    def show_jobs(self, rows: Sequence[ListRow]) -> None:
        """Updates the list of jobs and the preview; nothing is drawn if nothing changed."""
        pane = self.query_one("#preview", Preview)
        before = (self._rows, pane.shown)
        if tuple(rows) != self._rows:
            self.show_rows(rows)
        self.refresh_preview()
        if (self._rows, pane.shown) != before:
            pane.call_after_refresh(pane.scroll_end, animate=False)

    def _fit(self) -> None:
        super()._fit()
        if not self.has_class("beside") and self.app.size.height >= 20:
            self.add_class("below")
            self.query_one("#body").styles.height = min(len(self._rows) + 8, self.app.size.height * 3 // 5)
        else:
            self.remove_class("below")


_JobOutcome = Literal["running", "done", "failed", "stopped"]
_OUTCOME_LOOKS: dict[_JobOutcome, tuple[str, RowTone, CardState]] = {
    "running": ("●", "accent", CardState.RUNNING),
    "done": ("✓", "success", CardState.DONE),
    "failed": ("✗", "error", CardState.FAILED),
    "stopped": ("⊘", "warning", CardState.ABORTED),
}
"""The mark and tone of each outcome in the list, and the state of its card."""


class BackgroundJobsPage(msgspec.Struct, frozen=True):
    """Shows, ends and pins the background jobs of one session."""

    session: Session
    ask: AskOnScreen
    show_message: ShowMessage
    copy: CopyText
    background_key: Callable[[], str]
    """Returns the key that moves a tool to the background; empty if there is none."""

    async def open(self) -> None:
        """Shows the list of jobs with the end of their output."""
        if not self.session.jobs.all():
            key = self.background_key()
            puts_there = f" {key} moves the running tool there." if key else ""
            self.show_message(f"This session has no background jobs.{puts_there}")
            return
        screen = BackgroundJobsScreen(self._rows(), self._output_tail)
        picked = await ask_with_refreshed_picker(
            self.ask, screen, lambda: screen.show_jobs(self._rows()), self._handle_request
        )
        if picked is not None:
            job = self.session.jobs.get(picked.row.id)
            await self.ask(BlockScreen(f"Output of {job.id}", lambda: job_output_block(job)))

    def _handle_request(self, request: BackgroundJobsScreen.ActionRequested) -> None:
        screen, row = request.screen, request.row
        if not isinstance(screen, BackgroundJobsScreen) or row is None:
            return
        match request.action:
            case "app.jobs.stop":
                self.session.jobs.kill(row.id, tell=True)
            case "app.jobs.pin":
                self.session.jobs.set_job_pinned(row.id, not self.session.jobs.get(row.id).is_pinned)
            case "app.jobs.copy":
                self.copy(self.session.jobs.get(row.id).read_output_tail(), "output")
        screen.show_jobs(self._rows())

    async def kill(self, job_id: str) -> None:
        """Stops the background job with this id (`/kill JOB`)."""
        job = self.session.jobs.kill(job_id, tell=True)
        self.show_message(f"Stopping {job.id}.")

    async def pin(self, job_id: str) -> None:
        """Pins or unpins a job (`/pin JOB`); a pinned job continues after the session ends."""
        job = self.session.jobs.get(job_id)
        self.session.jobs.set_job_pinned(job.id, not job.is_pinned)
        goes_on = "keeps running when you leave this session" if job.is_pinned else "ends with this session"
        self.show_message(f"{job.id} {goes_on}.")

    def _rows(self) -> list[ListRow]:
        return [_job_row(job) for job in self.session.jobs.all()]

    def _output_tail(self, row: ListRow) -> PreviewText:
        job = next((job for job in self.session.jobs.all() if job.id == row.id), None)
        if job is None:
            return PreviewText()
        text = job.result.text[-2000:] if job.result is not None else job.read_output_tail()
        return PreviewText(parts=(PreviewParagraph(text=text or "no output yet", tone="muted"),))


def _outcome_of(job: BackgroundJob) -> _JobOutcome:
    """Returns how a job stands for a person, to whom it does not matter whether its end was told to the agent."""
    if job.state == "killed":
        return "stopped"
    if job.state == "delivered":
        return "failed" if job.result is None or job.result.is_error else "done"
    return job.state


def _job_row(job: BackgroundJob) -> ListRow:
    outcome = _outcome_of(job)
    mark, tone, _ = _OUTCOME_LOOKS[outcome]
    return ListRow(
        id=job.id,
        title=job.title,
        lead_word=f"{mark} ",
        lead_tone=tone,
        badges=(RowBadge(text=outcome, tone=tone),),
        detail="pinned" if job.is_pinned and job.state == "running" else "",
        right=format_age(job.seconds),
    )


def job_output_block(job: BackgroundJob) -> ToolCallBlock:
    """Returns a transcript block with a job's output; for a running job with only the end of it."""
    text = job.result.text if job.result is not None else job.read_output_tail()
    return ToolCallBlock(
        id=job.id,
        card=Card(title=job.title, blocks=(TextBlock(text=text or "(no output yet)", tail=True),)),
        state=_OUTCOME_LOOKS[_outcome_of(job)][2],
    )
