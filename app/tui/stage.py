"""What every part of the full-screen face stands on: the session, the widgets of the page, what is shown where.

Pages and habits are built on it (`desk` has them all); it knows none of them.
"""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from textual.app import App

from app.assembly.build import Assembled
from app.assembly.extending import Extended
from app.engine.choice import NoModel
from app.engine.commands.base import CommandError
from app.engine.intake import Refused
from app.engine.session import Session
from app.engine.shell import ShellBusy
from app.providers.select import ModelNotFound
from app.sessions.errors import SessionError
from app.tui.keys.keymap import KeyMap
from app.tui.prompt.remembered import Remembered
from app.tui.prompt.unsent import Unsent
from app.tui.status.status_lines import Status
from app.tui.terminal.programs import TerminalHost
from app.tui.theme_in_force import ThemeInForce
from app.tui.transcript.presenter import Presenter
from app.values.events import Event
from tools.running.own_programs import find_own_program
from widgets import clipboard
from widgets.editor.prompt import PromptEditor
from widgets.status.footer import StatusFooter
from widgets.status.header import StatusHeader
from widgets.status.queue import QueueView
from widgets.textual_inside import driver_of, tell_fault
from widgets.transcript.blocks import NoteKind
from widgets.transcript.searchbar import SearchBar
from widgets.transcript.view import Transcript

EXPECTED = (CommandError, Refused, NoModel, ShellBusy, SessionError, ModelNotFound)
"""Failures whose words are for the person."""
PLACEHOLDER = "Ask anything · / commands · @ files · ! shell"


class Stage(App[int]):
    """One session on one screen, before anything is done with it."""

    def __init__(
        self,
        assembled: Assembled,
        *,
        home: Path | None = None,
        env: Mapping[str, str] | None = None,
        clock: Callable[[], float] = time.monotonic,
        css_path: list[Path] | None = None,
    ) -> None:
        super().__init__(css_path=[str(path) for path in css_path or ()])
        self.assembled = assembled
        self.looks = ThemeInForce(self, assembled)
        self.theme_problem = self.looks.begin()
        self.session: Session = assembled.session
        self.session.toolbox.workspace.pty_host = TerminalHost(self)
        self.clock = clock
        self.home = home or Path.home()
        self.env = os.environ if env is None else env
        self.transcript = Transcript(id="transcript", clock=clock)
        self.editor = PromptEditor(placeholder=PLACEHOLDER, id="editor")
        self.header = StatusHeader(id="header")
        self.footer = StatusFooter(id="footer")
        self.queue_view = QueueView(id="queue")
        self.search_bar = SearchBar(self.transcript, id="search")
        self.presenter = Presenter(self.session, self.transcript, self.note_event, clock)
        self.drafts = Unsent(self.session, lambda: (self.editor.text, self.editor.attachments))
        self.remembered = Remembered(
            assembled.prompt.paths, most_prompts=lambda: assembled.settings.editor.history_size
        )
        self.status = Status(
            assembled,
            header=self.header,
            footer=self.footer,
            editor=self.editor,
            home=self.home,
            tick=self.presenter.tick,
        )
        self.keymap = KeyMap()
        """The person's own keys, as far as they are others than the defaults."""
        self.extended: Extended | None = None
        """What the session's extensions add, once they are loaded."""
        self.is_ready = asyncio.Event()
        """Set when everything that waits for the first paint has been done."""
        self._tasks: set[asyncio.Task[Any]] = set()

    def note_event(self, event: Event) -> None:
        """Told of each event behind the transcript."""

    def spawn(self, work: Awaitable[Any]) -> None:
        """Does it beside everything else. A fault in it is the application's."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._finished)

    @property
    def tasks(self) -> frozenset["asyncio.Task[Any]"]:
        """What is being done beside everything else."""
        return frozenset(self._tasks)

    def _finished(self, task: "asyncio.Task[Any]") -> None:
        self._tasks.discard(task)
        if task.cancelled():
            return
        try:
            task.result()
        except Exception as problem:  # noqa: BLE001  (whatever it is, it is told)
            if self.is_ready.is_set() and not self.is_running:
                return  # its screen has been taken down under it: that is no fault
            tell_fault(self, problem)

    async def chosen(self, work: Awaitable[None]) -> None:
        """What a person chose: when it cannot be had, they are told why."""
        try:
            await work
        except EXPECTED as problem:
            self.presenter.note(str(problem), NoteKind.ERROR)
        self.status.refresh_all()

    def copy(self, text: str, what: str) -> None:
        self.spawn(self._copy(text, what))

    async def _copy(self, text: str, what: str) -> None:
        """A native tool may take its time, so it runs beside the event loop."""
        driver = driver_of(self)
        write = driver.write if driver is not None else None
        fallback = self.assembled.prompt.paths.cache_dir / "clipboard.txt"
        copied = await asyncio.to_thread(
            clipboard.copy, text, write, fallback=fallback, env=self.env, find=self.own_program
        )
        self.notify(f"{copied.text}: {what}", markup=False)

    def own_program(self, name: str) -> str | None:
        """A program of the machine, never one of the folder's."""
        return find_own_program(name, outside=self.session.cwd, env=self.env)
