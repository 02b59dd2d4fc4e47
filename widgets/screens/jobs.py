"""Jobs in the background with the live end of what each says."""

from collections.abc import Sequence
from typing import ClassVar, Literal

import msgspec
from textual.binding import BindingType

from widgets.lists.rows import Badge, ListRow, Tone
from widgets.screens.picker import PickerAction, PickerScreen, bindings_of
from widgets.screens.preview import Preview, PreviewPart, PreviewText

JobState = Literal["running", "done", "failed", "stopped"]
_TONES: dict[JobState, Tone] = {
    "running": "accent",
    "done": "success",
    "failed": "error",
    "stopped": "warning",
}


class JobRow(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    title: str
    """The command, or what the job is for."""
    state: JobState = "running"
    age: str = ""
    note: str = ""
    """`exit 1`, `waits to be told to the model`."""
    tail: str = ""
    """The end of its output."""


class JobsScreen(PickerScreen):
    """Enter opens a job's whole output; `show_jobs` keeps the panel live while it is open."""

    ACTIONS = (
        PickerAction(id="app.jobs.stop", keys="ctrl+x", label="stop", closes=False, importance=7),
        PickerAction(id="app.jobs.pin", keys="ctrl+t", label="pin", closes=False),
        PickerAction(id="app.jobs.copy", keys="ctrl+y", label="copy output", closes=False),
    )
    BINDINGS: ClassVar[list[BindingType]] = bindings_of(ACTIONS)

    def __init__(self, jobs: Sequence[JobRow]) -> None:
        self._jobs = {job.id: job for job in jobs}
        super().__init__(
            "Jobs",
            _rows(jobs),
            order="given",
            choose="open its output",
            empty="no jobs are running",
            preview=self._tail,
        )
        self.add_class("jobs")

    def show_jobs(self, jobs: Sequence[JobRow]) -> None:
        """The jobs as they stand now; nothing is drawn when nothing changed."""
        found = {job.id: job for job in jobs}
        if found == self._jobs:
            return
        self._jobs = found
        self.show_rows(_rows(jobs))
        row = self.row
        pane = self.query_one("#preview", Preview)
        pane.show(self._tail(row) if row else PreviewText())
        pane.call_after_refresh(pane.scroll_end, animate=False)

    def _fit(self) -> None:
        super()._fit()
        if not self.has_class("beside") and self.app.size.height >= 20:
            self.add_class("below")
            self.query_one("#body").styles.height = min(len(self._jobs) + 8, self.app.size.height * 3 // 5)
        else:
            self.remove_class("below")

    def _tail(self, row: ListRow) -> PreviewText:
        job = self._jobs.get(row.id)
        if job is None:
            return PreviewText()
        return PreviewText(parts=(PreviewPart(text=job.tail or "no output yet", tone="muted"),))


def _rows(jobs: Sequence[JobRow]) -> list[ListRow]:
    return [
        ListRow(
            id=job.id,
            title=job.title,
            badges=(Badge(text=job.state, tone=_TONES[job.state]),),
            detail=job.note,
            right=job.age,
        )
        for job in jobs
    ]
