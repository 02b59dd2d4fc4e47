"""The other themes on a page with most of what has a colour; the lint of `test_look` reads these pictures too."""

import asyncio

import pytest

from app.providers.scripted import ScriptedModel, call, say, think
from tests.support.clock import Clock
from tests.support.photographs import Photographs
from tests.support.screens import Screen
from tests.support.snapshots import Pictures

OTHERS = ("ansi", "high-contrast", "nord", "gruvbox-dark", "catppuccin-mocha", "tokyo-night")
ANSWER = (
    "A boat has **four** oars, see `launch` and [the harbour](https://harbour.example).\n\n- fast\n- light\n"
)


async def test_without_colours(screen: Screen, pictures: Pictures, monkeypatch: pytest.MonkeyPatch) -> None:
    """Marks, words, bold and reversed ones tell what colours would: where one is, what failed, what was found."""
    monkeypatch.setenv("NO_COLOR", "1")
    script = ScriptedModel([call("bash", command="echo no such boat; exit 3"), say(ANSWER)])
    album = Photographs(pictures, "bayou-dark")
    async with album.of(screen.app(theme="bayou-dark", script=script)) as tour:
        await tour.say("look after the boat")
        await tour.idle()
        await tour.photograph_small("work", (100, 30))
        await tour.say("/theme")
        await tour.press("down")
        assert any(line.startswith("› ") for line in tour.words().split("\n"))
        await tour.photograph_small("list", (100, 30))
    assert not album.different


async def test_where_one_is_without_colours(
    screen: Screen, pictures: Pictures, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the queue and among the rules that would answer: the row is reversed, as in every list."""
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr(
        "app.engine.models.model_requests.ModelRequests._on_connection_state",
        lambda self, state, seconds: None,
    )
    gate = asyncio.Event()
    script = ScriptedModel([say("First the hull.", gate=gate), call("bash", command="npm ci"), say("Done.")])
    album = Photographs(pictures, "bayou-dark")
    app = screen.app("--permissions", "ask", theme="bayou-dark", script=script)
    async with album.of(app) as tour:
        await tour.say("look after the boat")
        await tour.until("First the hull.")
        await tour.say("leave out the mast")
        await tour.say("and the rudder")
        await tour.press("alt+q", "down")
        await tour.photograph_small("queue", (100, 30))
        await tour.press("escape")
        gate.set()
        await tour.until(lambda: app.approval_bar.asked is not None)
        assert isinstance(app.clock, Clock)
        before = app.clock.now
        await tour.heard()
        await tour.press("alt+w")
        app.clock.now = before
        await tour.photograph_small("rules", (100, 30))
        await tour.press("escape", "escape")
        app.editor.set_text("look after the boat")
        await tour.press(*["shift+left"] * 4)
        await tour.photograph_small("selected", (100, 30))
    assert not album.different


@pytest.mark.parametrize("theme", OTHERS)
async def test_a_page_of_work(theme: str, screen: Screen, pictures: Pictures) -> None:
    script = ScriptedModel(
        [
            call(
                "edit",
                path="boats/fleet.py",
                edits=[{"oldText": "oars: int = 2", "newText": "oars: int = 4"}],
            )
            + call("bash", command="echo no such boat; exit 3"),
            think("Wood is light.") + say(ANSWER),
        ]
    )
    album = Photographs(pictures, theme)
    async with album.of(screen.app(theme=theme, script=script)) as tour:
        await tour.say("give it four oars")
        await tour.idle()
        await tour.photograph_small("work", (100, 30))
        await tour.say("/theme")
        await tour.photograph_small("list", (100, 30))
    assert not album.different
