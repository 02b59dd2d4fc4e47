"""A simulated user with everything that a page receives, without the application.

    async with at_the_keyboard() as person:
        page = ContextWindowPage(harness.session, person.ask, person.say, person.write, person.key_told, …)
        async with person.asked(page.open()):
            await person.press("end", "ctrl+x")
            assert "dropped" in person.sees
        assert person.heard == […]

Screens are the real ones, over an empty terminal. What a page says, writes and copies is noted.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from typing import Any

from textual import on
from textual.pilot import Pilot
from textual.screen import Screen
from textual.widget import Widget

from app.tui.background_tasks import BackgroundTasks
from app.tui.page_parts import ScreenOpener
from app.tui.page_protocols import HandleRequest
from tests.support.clock import Clock
from tests.support.sizes import resize
from tests.widgets.host import Host, screen_text
from widgets.key_labels import normalize_key_name_in_text
from widgets.screens.screen_request import ScreenRequest
from widgets.transcript.transcript_blocks import AppNoteKind
from widgets.transcript.view import Transcript

PATIENCE = 30
"""Seconds to wait before a test fails, enough for a busy machine."""


class _Terminal(Host):
    def __init__(self, shown: Iterable[Widget]) -> None:
        super().__init__(lambda: shown)
        self.faults: list[Exception] = []
        self.refusals: list[str] = []
        self.tasks = BackgroundTasks(
            fault=self.faults.append,
            refused=lambda problem: self.refusals.append(str(problem)),
            done=lambda: None,
        )
        self.screens = ScreenOpener(self, self.tasks, Transcript())

    @on(ScreenRequest)
    def _asked_in_a_screen(self, request: ScreenRequest) -> None:
        self.screens.route_request(request)


class Person:
    def __init__(self, terminal: _Terminal, pilot: Pilot[Any]) -> None:
        self.terminal = terminal
        self._pilot = pilot
        self.heard: list[str] = []
        """The messages shown to the user."""
        self.warned: list[str] = []
        """The messages above the level of information."""
        self.written: list[str] = []
        """The texts written into the editor."""
        self.copied: list[tuple[str, str]] = []
        self.kept: dict[str, Any] = {}
        """The saved defaults."""
        self.show_progress: list[str] = []
        self.awaited: list[str] = []
        """The notifications."""
        self.clock = Clock()

    # What pages are handed

    async def ask(self, screen: Screen[Any], *, on_request: HandleRequest | None = None) -> Any:
        return await self.terminal.screens.ask(screen, on_request=on_request)

    def say(self, text: str, kind: AppNoteKind = AppNoteKind.INFO) -> None:
        self.heard.append(text)
        if kind is not AppNoteKind.INFO:
            self.warned.append(text)

    def await_answer(self, question: str, answer: "asyncio.Future[Any] | None" = None) -> None:
        self.awaited.append(question)

    def write(self, text: str, *, focus: bool = False) -> None:
        self.written.append(text)

    def copy(self, text: str, what: str) -> None:
        self.copied.append((text, what))

    def keep(self, name: str, value: Any) -> None:
        self.kept[name] = value

    def key_label(self, action: str, usual: str) -> str:
        return normalize_key_name_in_text(usual)

    def spawn(self, work: Awaitable[Any]) -> None:
        self.terminal.tasks.spawn(work)

    # What they do

    @contextlib.asynccontextmanager
    async def asked(self, work: Awaitable[Any]) -> AsyncIterator[None]:
        """Runs a page's work in the block, and waits for its end."""
        doing = asyncio.ensure_future(work)
        try:
            async with asyncio.timeout(PATIENCE):
                await self.until(lambda: doing.done() or len(self.terminal.screen_stack) > 1)
                await self._pilot.pause()
                yield
                await doing
                await self._pilot.pause()
            assert self.terminal.faults == []
        finally:
            doing.cancel()

    async def press(self, *keys: str) -> None:
        await self._pilot.press(*keys)
        await self._pilot.pause()

    async def click(self, x: int, y: int) -> None:
        await self._pilot.click(offset=(x, y))
        await self._pilot.pause()

    async def resize(self, width: int, height: int) -> None:
        await resize(self._pilot, width, height)
        await self._pilot.pause()

    async def sees_soon(self, *texts: str) -> None:
        await self.until(lambda: all(text in self.sees for text in texts))

    async def until(self, is_so: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not is_so():
                await self._pilot.pause()

    @property
    def sees(self) -> str:
        return screen_text(self.terminal)


@contextlib.asynccontextmanager
async def at_the_keyboard(*shown: Widget, size: tuple[int, int] = (100, 30)) -> AsyncIterator[Person]:
    """`shown`: what stands on the page below the screens, where a page needs such a thing."""
    terminal = _Terminal(shown)
    async with terminal.run_test(size=size) as pilot:
        yield Person(terminal, pilot)
