"""The application with a scripted model in `~/project`, without animations."""

import asyncio
import contextlib
import textwrap
from collections.abc import AsyncIterator, Callable, Iterable
from pathlib import Path

from textual.pilot import Pilot

from app.assembly.command_line_options import CommandLineOptions
from app.assembly.session_builder import assemble_session
from app.providers.scripted import QueuedResponse, ScriptedModel
from app.resources.paths import BayouPaths, shipped_styles_dir
from app.tui.app import BayouApp
from app.tui.features.extensions.trust_screen import TRUST_KEY_GRACE_SECONDS, ProjectTrustScreen
from app.tui.startup import TuiStartOptions, make_extension_loader
from app.values.events import AgentSettled, Event
from tests.support.clock import Clock
from tests.support.idle import text_of
from tools.tool_definition import Tool


class ScriptedApp(BayouApp):
    """Adds what tests wait for: the event of a run that has settled, and the screen as text."""

    settled_count = 0
    time: Clock
    """What it takes for the time."""

    def note_events(self) -> None:
        """Notes what happens in the session, behind the presenter."""
        self._happened = asyncio.Event()
        self.session.subscribe(self._note)

    def _note(self, event: Event) -> None:
        if isinstance(event, AgentSettled):
            self.settled_count += 1
        self._happened.set()

    async def something_happened(self) -> None:
        await self._happened.wait()
        self._happened.clear()

    @contextlib.asynccontextmanager
    async def settling(self, pilot: Pilot[int]) -> AsyncIterator[None]:
        """A limit for a loop that waits until something is so; then the page shows it."""
        async with asyncio.timeout(10):
            yield
        await pilot.pause()

    async def settling_until(self, pilot: Pilot[int], is_so: Callable[[], bool]) -> None:
        """Looks again after each paint; for what tells no event."""
        async with asyncio.timeout(10):
            while not is_so():
                await pilot.pause()

    @property
    def screen_text(self) -> str:
        return text_of(self.screen)


def make_app(
    home: Path,
    *responses: QueuedResponse,
    tools: Iterable[Tool] = (),
    theme: str = "bayou-dark",
    options: CommandLineOptions | None = None,
    extension: str = "",
    project: str = "project",
) -> ScriptedApp:
    """A session in `home/project`; without responses the offline model answers. `extension` is the code of one
    that the person has installed; bayou's own are loaded with it."""
    folder = home / project
    folder.mkdir(parents=True, exist_ok=True)
    paths = BayouPaths.from_env({"HOME": str(home)}, folder)
    if extension:
        code = paths.agent_dir / "extensions" / "mine.py"
        code.parent.mkdir(parents=True, exist_ok=True)
        code.write_text(textwrap.dedent(extension), encoding="utf-8")
    options = options or CommandLineOptions(no_session=True, use_theme=theme)
    assembled = assemble_session(options, paths, {})
    session = assembled.session
    if responses:
        script = ScriptedModel(responses)
        assembled.model_choice.set_model(script.register(assembled.registry))
    for tool in tools:
        session.tools.register_tool(tool, owner="test")
    opening = TuiStartOptions(
        load_extensions=make_extension_loader(assembled, options, paths) if extension else None
    )
    clock = Clock()
    app = ScriptedApp(
        assembled,
        opening=opening,
        home=home,
        clock=clock,
        css_path=sorted(shipped_styles_dir().glob("*.tcss")),
    )
    app.time = clock
    app.animation_level = "none"
    app.note_events()
    return app


async def wait_for_runs(app: ScriptedApp, pilot: Pilot[int], count: int = 1) -> None:
    """Waits until this many runs have settled and the page shows it."""
    async with asyncio.timeout(10):
        while app.settled_count < count:
            await app.something_happened()
    app.transcript.arriving.flush()
    await pilot.pause()


async def submit(app: ScriptedApp, pilot: Pilot[int], text: str) -> None:
    app.editor.set_text(text)
    await pilot.press("enter")


async def accept_trust(app: ScriptedApp, pilot: Pilot[int]) -> None:
    """Accepts the trust question, after its grace period."""
    async with app.settling(pilot):
        while not isinstance(app.screen, ProjectTrustScreen):
            await pilot.pause()
    app.time.now += TRUST_KEY_GRACE_SECONDS
    await pilot.press("ctrl+y")
