"""Pictures of one running application: each place it comes to, in two sizes.

    async def test_the_pages(screen, photographs):
        async with photographs.of(screen.app(theme=photographs.theme)) as tour:
            await tour.say("/theme")
            await tour.photograph("theme")

Starting the application costs more than a picture, so one start serves many. The whole tour runs in the dark
theme and once more in the light one, which costs less than changing the theme for each picture. All differences
are reported at the end of the test; the pictures are in the review of the run like every other picture.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable

from textual.pilot import Pilot

from app.tui.app import BayouApp
from tests.support.clock import Clock
from tests.support.screens import settled, text_of
from tests.support.sizes import resize
from tests.support.snapshots import Pictures
from widgets.status.input_guard import MIN_QUESTION_VISIBLE_SECONDS

SIZES = {"80x24": (80, 24), "120x40": (120, 40)}


class Photographs:
    """Takes the pictures of one test."""

    def __init__(self, pictures: Pictures, theme: str) -> None:
        self.theme = theme
        self._pictures = pictures
        self.different: list[str] = []

    @contextlib.asynccontextmanager
    async def of(self, app: BayouApp) -> AsyncIterator["Tour"]:
        async with app.run_test(size=SIZES["80x24"], notifications=True) as pilot:
            yield Tour(self, pilot, app)

    def compare(self, name: str, svg: str) -> None:
        if not self._pictures.is_as_stored(svg, name):
            self.different.append(name)


class Tour:
    """Drives one application from place to place."""

    def __init__(self, album: Photographs, pilot: Pilot[int], app: BayouApp) -> None:
        self._album = album
        self.pilot = pilot
        self.app = app

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await settled(self.pilot)

    async def say(self, text: str) -> None:
        """Puts the text into the editor and presses Enter."""
        self.app.editor.set_text(text)
        await self.press("enter")

    async def until(self, is_so: Callable[[], bool] | str) -> None:
        """Waits until a condition holds or a text is shown."""
        async with asyncio.timeout(20):
            while not (is_so in text_of(self.app) if isinstance(is_so, str) else is_so()):
                await self.pilot.pause()
        await settled(self.pilot)

    async def answer(self, key: str, seconds: float = MIN_QUESTION_VISIBLE_SECONDS) -> None:
        """Answers a question that appeared by itself, after its grace period."""
        assert isinstance(self.app.clock, Clock)
        self.app.clock.now += seconds
        await self.press(key)
        self.app.clock.now -= seconds

    async def heard(self) -> None:
        """Waits until the approval bar accepts keys."""
        bar, clock = self.app.approval_bar, self.app.clock
        assert isinstance(clock, Clock)
        async with asyncio.timeout(20):
            while not bar.accepts_keys:
                if not bar.arming.is_armed(clock.now):
                    clock.now += 0.1
                    bar.arming.update_armed(clock.now)
                await settled(self.pilot)  # a bar that was painted only now starts its wait again

    async def idle(self) -> None:
        async with asyncio.timeout(20):
            await self.app.session.wait_until_idle()
        self.app.transcript.arriving.flush()
        await settled(self.pilot)

    def words(self) -> str:
        """Returns the screen as text."""
        return text_of(self.app)

    async def photograph(self, name: str) -> None:
        for size, cells in reversed(SIZES.items()):
            await self._resize(cells)
            await self._take(f"{name}-{size}")

    async def _take(self, name: str) -> None:
        """Takes a picture when no map is being built; a question is shown in the state in which it accepts keys."""
        await self.until(lambda: "indexing " not in self.words())
        clock = self.app.clock
        assert isinstance(clock, Clock)
        before = clock.now
        if self.app.approval_bar.asked is not None:
            await self.heard()
        self._album.compare(name, self.app.export_screenshot())
        clock.now = before

    async def photograph_small(self, name: str, cells: tuple[int, int] = (40, 10)) -> None:
        await self._resize(cells)
        await self._take(f"{name}-{cells[0]}x{cells[1]}")
        await self._resize(SIZES["80x24"])

    async def _resize(self, cells: tuple[int, int]) -> None:
        await resize(self.pilot, *cells)
        await settled(self.pilot)
