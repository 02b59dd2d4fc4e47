"""A turn from its first words to its end, with the seconds and tokens of its work, and the tour of the guide."""

import asyncio
from types import SimpleNamespace

import pytest

from app.agent import response_events
from app.providers.scripted import ScriptedModel, call, say
from tests.support.clock import Clock
from tests.support.photographs import Photographs
from tests.support.screens import Screen

EDITS = [{"oldText": "oars: int = 2", "newText": "oars: int = 4"}]
TEST = "def test_oars() -> None:\n    assert Boat('heron').oars == 4\n"
ANSWER = """New boats have **four oars**, and `tests/test_oars.py` counts them:

- `Boat.oars` is 4 unless a boat says otherwise. Boats that were built with two keep two, because the number is only a
  default.
- The test launches one boat of each kind, so that a later change of the default is noticed.

`launch` did not need a change: it never asked for the oars. If the harbour's old boats are to get four oars too, name
them, and I add them to `boats/fleet.py`.
"""


@pytest.fixture(autouse=True)
def no_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    # On a busy machine a picture takes long enough for the model to be told silent.
    monkeypatch.setattr(
        "app.engine.models.model_requests.ModelRequests._on_connection_state",
        lambda self, state, seconds: None,
    )


async def test_a_turn(screen: Screen, photographs: Photographs, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the model writes, with seconds and tokens, and at its end, with the files and their keys."""
    gate = asyncio.Event()
    script = ScriptedModel(
        [
            call("read", path="boats/fleet.py") + call("grep", pattern="oars", path="boats"),
            call("edit", path="boats/fleet.py", edits=EDITS)
            + call("write", path="tests/test_oars.py", content=TEST)
            + call("bash", command="echo 1 passed"),
            say(ANSWER, gate=gate),
        ]
    )
    app = screen.app(theme=photographs.theme, script=script)
    clock = app.clock
    assert isinstance(clock, Clock)
    monkeypatch.setattr(response_events, "time", SimpleNamespace(monotonic=clock))
    async with photographs.of(app) as tour:
        await tour.say("give new boats four oars, and test it")
        await tour.until("add them to")
        clock.now += 14
        app.status.refresh_all()
        await tour.photograph("working")
        gate.set()
        await tour.idle()
        await tour.photograph("done")


async def test_the_tour(screen: Screen, photographs: Photographs) -> None:
    app = screen.app(theme=photographs.theme)
    async with photographs.of(app) as tour:
        for page in range(1, 6):
            await tour.say("tour" if page == 1 else "1")
            await tour.until(f"{page} of 5")
            await tour.idle()
            if page in (1, 5):
                await tour.photograph(f"tour-{page}")
