"""`/jobs`: what runs in the background, with the end of its output; stopped, pinned and copied from there."""

from app.engine.jobs import Job
from app.tui.pages.asking import ask
from app.tui.pages.entry_texts import age
from app.tui.stage import Stage
from app.values.messages import now_ms
from tools.results import Card, TextBlock
from widgets.screens.block import BlockScreen
from widgets.screens.jobs import JobRow, JobsScreen
from widgets.screens.picker import Picked
from widgets.transcript.blocks import CardBlock, CardState

JOBS_SECONDS = 0.5
"""Between two looks at the jobs, while their panel is open."""


async def show_jobs(app: Stage) -> None:
    """The jobs with the end of their output."""
    screen = JobsScreen(job_rows(app))

    def keep_live() -> None:
        if screen.is_attached:
            screen.show_jobs(job_rows(app))
            app.set_timer(JOBS_SECONDS, keep_live)

    app.set_timer(JOBS_SECONDS, keep_live)
    picked: Picked | None = await ask(app, screen)
    if picked is None:
        return
    job = app.session.jobs.get(picked.row.id)
    await ask(app, BlockScreen("Job", lambda: job_block(job)))


def act_on_job(app: Stage, action: str, job_id: str, screen: JobsScreen) -> None:
    if action == "app.jobs.stop":
        app.session.jobs.kill(job_id, tell=True)
    elif action == "app.jobs.pin":
        job = app.session.jobs.get(job_id)
        app.session.jobs.pin(job_id, not job.is_pinned)
    elif action == "app.jobs.copy":
        app.copy(app.session.jobs.get(job_id).tail(), "output")
    screen.show_jobs(job_rows(app))


def job_rows(app: Stage) -> list[JobRow]:
    now = now_ms()
    return [
        JobRow(
            id=job.id,
            title=job.title,
            state="running" if job.state == "running" else "failed" if job.state == "failed" else "done",
            age=age(round(now - job.seconds * 1000), now),
            note=_note(job),
            tail=job.result.text[-2000:] if job.result is not None else job.tail(),
        )
        for job in app.session.jobs.all()
    ]


def _note(job: Job) -> str:
    words = ["pinned"] if job.is_pinned and job.state == "running" else []
    return ", ".join(words if job.state in ("running", "done") else [*words, job.state])


def job_block(job: Job) -> CardBlock:
    """A job's output as a card; while it runs, the end of it."""
    text = job.result.text if job.result is not None else job.tail()
    states = {"running": CardState.RUNNING, "done": CardState.DONE, "failed": CardState.FAILED}
    return CardBlock(
        id=job.id,
        card=Card(title=job.title, blocks=(TextBlock(text=text or "(no output yet)", tail=True),)),
        state=states.get(job.state, CardState.ABORTED),
    )
