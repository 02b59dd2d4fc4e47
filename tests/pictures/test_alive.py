"""What is seen while something runs, of long results and long names, and of vi's modes and a selection."""

import asyncio

import pytest

from app.providers.scripted import ScriptedAnswer, ScriptedModel, call, say
from app.values.content import Thinking
from tests.support.photographs import Photographs
from tests.support.screens import Screen

FAR = "boats/of_the_north/built_in_the_last_century/and_still_afloat/fleet_of_the_harbour.py"


@pytest.fixture(autouse=True)
def no_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    # On a busy machine a picture takes long enough for the model to be told silent.
    monkeypatch.setattr(
        "app.engine.models.model_requests.ModelRequests._on_connection_state",
        lambda self, state, seconds: None,
    )


async def test_waiting_for_the_first_word_and_thinking(screen: Screen, photographs: Photographs) -> None:
    gates = asyncio.Event(), asyncio.Event()
    thought = Thinking(
        thinking="**Counting the oars**\n\nThe fleet is in boats/fleet.py. There are two oars.\n\n"
    )
    script = ScriptedModel(
        [
            ScriptedAnswer(blocks=(), gate=gates[0]),
            ScriptedAnswer(blocks=(thought,), gate=gates[1]),
        ]
    )
    app = screen.app(theme=photographs.theme, script=script)
    async with photographs.of(app) as tour:
        await tour.say("how many oars?")
        await tour.until("Waiting for")
        await tour.photograph("first-word")
        gates[0].set()
        await tour.idle()
        await tour.say("and in the fleet?")
        await tour.until("Thinking…  There are two oars.")
        await tour.photograph("thinking-aloud")
        gates[1].set()
        await tour.idle()


async def test_long_names_and_colours(screen: Screen, photographs: Photographs) -> None:
    far = screen.project / FAR
    far.parent.mkdir(parents=True)
    far.write_text("sails: int = 2\n")
    shown = "printf '\\033[32mok\\033[0m tests/test_sails.py\\n\\033[31mFAILED\\033[0m tests/test_oars.py\\n'"
    script = ScriptedModel(
        [
            call("edit", path=FAR, edits=[{"oldText": "sails: int = 9", "newText": "sails: int = 8"}])
            + call("grep", pattern=r'class  \w+\(.*\):\s*# "[bold]" of the (north|south)', path="boats")
            + call("bash", command=f"{shown}; exit 2"),
            call("bash", command=f"{shown}; sleep 600"),
        ]
    )
    app = screen.app(theme=photographs.theme, script=script)
    async with photographs.of(app) as tour:
        await tour.say("look at the fleet")
        await tour.until(lambda: tour.words().count("│ FAILED tests/test_oars.py") == 2)
        await tour.photograph("long-names")
        await tour.press("escape")
        await tour.idle()


async def test_a_result_of_a_thousand_lines(screen: Screen, photographs: Photographs) -> None:
    app = screen.app(
        theme=photographs.theme, script=ScriptedModel([call("bash", command="seq 1000"), say("Counted.")])
    )
    async with photographs.of(app) as tour:
        await tour.say("count")
        await tour.idle()
        await tour.photograph("result-closed")
        await tour.press("ctrl+o")
        await tour.photograph("result-preview")
        await tour.press("ctrl+o")
        await tour.photograph("result-all")


async def test_vi_and_a_selection(screen: Screen, photographs: Photographs) -> None:
    app = screen.app(theme=photographs.theme)
    async with photographs.of(app) as tour:
        editor = app.editor
        editor.set_text("Give every boat four oars,\nand tell me what it costs")
        await tour.press("up", "home", "shift+ctrl+right", "shift+ctrl+right")
        await tour.photograph("selected")
        await tour.press("escape")
        editor.set_text("")
        editor.keyboard.vi.set_enabled(True)
        await tour.press(*"Give every boat four oars,")
        await tour.photograph("vi-insert")
        await tour.press("escape", *"2b")
        await tour.photograph("vi-normal")
        await tour.press(*"/boat")
        await tour.photograph("vi-search")
        await tour.press("enter", *"vee")
        await tour.photograph("vi-visual")
        await tour.press("V")
        await tour.photograph("vi-visual-line")
