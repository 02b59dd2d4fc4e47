"""An idle page does nothing: no timer runs, whatever was shown before."""

from pathlib import Path

import pytest
from textual.message_pump import MessagePump

from app.providers.scripted import say
from tests.tui.scripted_app import ScriptedApp, make_app, submit, wait_for_runs


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def ticking(app: ScriptedApp) -> list[str]:
    """Timers that come again and again."""
    pumps: list[MessagePump] = [app, *app.screen_stack, *app.screen.walk_children(with_self=False)]
    return [
        f"{type(pump).__name__} {timer.name}"
        for pump in pumps
        for timer in pump._timers
        if timer._repeat is None and timer._active.is_set()
    ]


async def test_after_an_answer_and_a_screen_nothing_ticks(home: Path) -> None:
    app = make_app(home, say("done"))
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.pause()
        assert ticking(app) == []
        await submit(app, pilot, "go")
        await wait_for_runs(app, pilot)
        await submit(app, pilot, "/hotkeys")
        await pilot.press("escape")
        await pilot.pause()
        assert ticking(app) == []
