"""Pages to look at and lists to pick from besides the main ones: jobs, older prompts, a block in full, two branches."""

import asyncio

from app.engine.jobs import Job
from app.tui.asking import ask
from app.tui.extended import show_widget_of
from app.tui.pickers import age
from app.tui.stage import Stage
from app.values.messages import now_ms
from tools.files.paths import display
from tools.results import Card, MapBlock, TextBlock
from widgets import clipboard
from widgets.editor.chips import Draft
from widgets.screens.block import BlockScreen
from widgets.screens.catalogue import history_screen
from widgets.screens.jobs import JobRow, JobsScreen
from widgets.screens.picker import Picked
from widgets.screens.symbols import SymbolsScreen
from widgets.terminal_manners import edit_externally, editor_command
from widgets.transcript.blocks import CardBlock, CardState

JOBS_SECONDS = 0.5
"""Between two looks at the jobs, while their panel is open."""


async def paste(app: Stage) -> None:
    """What the system's clipboard holds: an image as a chip, or text."""
    found = await asyncio.to_thread(clipboard.paste, env=app.env)
    if found is None:
        app.presenter.note("The clipboard is empty, or cannot be read here.")
    elif isinstance(found, str):
        app.editor.paste(found)
    else:
        app.editor.attach(found)


async def show_block(app: Stage, block_id: str) -> None:
    """The whole of it; for an extension's own widget, that."""
    if app.transcript.block(block_id) is None or await show_widget_of(app, block_id):
        return
    await ask(app, BlockScreen("In full", lambda: app.transcript.block(block_id)))


def ask_for_lines(app: Stage, path: str, first: int, last: int) -> None:
    """The request for these lines, ready to be sent or changed."""
    app.editor.set_text(f"read {display(path, app.session.cwd)}:{first}-{last}")
    app.editor.focus()


async def choose_symbol(app: Stage, block: MapBlock) -> None:
    picked = await ask(app, SymbolsScreen(display(block.path, app.session.cwd), block))
    if picked is None:
        return
    symbol = block.symbols[int(picked.row.id)]
    if picked.action == "choose":
        ask_for_lines(app, block.path, symbol.first_line, symbol.last_line)
    else:
        place = f"{display(block.path, app.session.cwd)}:{symbol.first_line}-{symbol.last_line}"
        app.copy(place, "the place of the symbol")


def open_link(app: Stage, address: str) -> None:
    """In the person's browser; where that would be on another machine, or not a page, the address is copied."""
    is_remote = app.env.get("SSH_CONNECTION") or app.env.get("SSH_TTY")
    if is_remote or not address.startswith(("http://", "https://")):
        app.copy(address, "address")
    else:
        app.open_url(address)


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


def job_block(job: Job) -> CardBlock:
    """A job's output as a card; while it runs, the end of it."""
    text = job.result.text if job.result is not None else job.tail()
    states = {"running": CardState.RUNNING, "done": CardState.DONE, "failed": CardState.FAILED}
    return CardBlock(
        id=job.id,
        card=Card(title=job.title, blocks=(TextBlock(text=text or "(no output yet)", tail=True),)),
        state=states.get(job.state, CardState.ABORTED),
    )


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


def act_on_job(app: Stage, action: str, job_id: str, screen: JobsScreen) -> None:
    if action == "app.jobs.stop":
        app.session.jobs.kill(job_id, tell=True)
    elif action == "app.jobs.pin":
        job = app.session.jobs.get(job_id)
        app.session.jobs.pin(job_id, not job.is_pinned)
    elif action == "app.jobs.copy":
        app.copy(app.session.jobs.get(job_id).tail(), "output")
    screen.show_jobs(job_rows(app))


async def search_history(app: Stage, entries: tuple[Draft, ...]) -> None:
    picked: Picked | None = await ask(app, history_screen(entries))
    if picked is not None:
        app.editor.restore(entries[int(picked.row.id)])


def edit_elsewhere(app: Stage, text: str) -> None:
    """The prompt in the person's own editor. Everything waits: the terminal belongs to that program."""
    command = editor_command(app.assembled.settings.interaction.external_editor or "", app.env)
    edited, problem = edit_externally(app, text, command)
    if edited is None:
        app.presenter.note(problem)
    else:
        app.editor.set_text(edited.rstrip("\n"))
