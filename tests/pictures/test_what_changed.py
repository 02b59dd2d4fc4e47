"""What a run changed in files: the line behind its answer, the prompts of the tree, and the files one by one."""

import pytest

from app.providers.scripted import Scripted, call, say
from tests.support.photographs import Photographs
from tests.support.screens import Screen


@pytest.fixture(autouse=True)
def no_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    for place in ("app.tui.features.tree.entries", "app.tui.entry_texts", "widgets.lists.tree_rows"):
        monkeypatch.setattr(f"{place}.time_of_day", lambda stamp: "09:30")
    # On a busy machine a picture takes long enough for the model to be told silent.
    monkeypatch.setattr(
        "app.engine.models.model_requests.ModelRequests._on_state", lambda self, state, seconds: None
    )


async def test_what_changed(screen: Screen, photographs: Photographs) -> None:
    script = Scripted(
        [
            call("write", path="oars.py", content="def row(strokes: int) -> int:\n    return strokes * 2\n"),
            say("A module for oars."),
            call(
                "edit",
                path="oars.py",
                edits=[{"oldText": "strokes * 2", "newText": "strokes * 2 if strokes else 0"}],
            )
            + call("write", path="anchor.md", content="# Anchor\n\nDown.\n"),
            say("It does not row without strokes, and there is an anchor."),
        ]
    )
    async with photographs.of(screen.app(theme=photographs.theme, script=script)) as tour:
        await tour.say("make oars")
        await tour.idle()
        await tour.say("mind no strokes at all, and add an anchor")
        await tour.idle()
        await tour.photograph("line")
        await tour.press("alt+g")
        await tour.until("prompt 2 of 2")
        await tour.press("n")
        await tour.until("strokes else 0")
        await tour.photograph("prompt")
        await tour.photograph_small("prompt")
        await tour.press("shift+tab")
        await tour.until("Changed by this session")
        await tour.photograph("session")


async def test_a_change_before_it_is_made(screen: Screen, photographs: Photographs) -> None:
    edits = [{"oldText": "oars: int = 2", "newText": "oars: int = 4"}]
    script = Scripted([call("edit", path="boats/fleet.py", edits=edits), say("It has two oars still.")])
    app = screen.app("--permissions", "ask", theme=photographs.theme, script=script)
    async with photographs.of(app) as tour:
        await tour.say("give it four oars")
        await tour.until("Change boats/fleet.py?")
        await tour.press("alt+v")
        await tour.until("x exclude")
        await tour.photograph("asked")
        await tour.photograph_small("asked")
        await tour.press("e")
        await tour.until("ctrl+s save")
        await tour.photograph("lines")
        await tour.press("escape")
        await tour.until("x exclude")
        await tour.press("escape")
        await tour.heard()
        await tour.press("alt+x")
        await tour.idle()
