"""What a person sees of compaction: the window, a summary while it is written and when it counts, the way back."""

import asyncio
from pathlib import Path

import msgspec
import pytest

from app.providers.scripted import ScriptedModel, call, say
from app.resources.system_prompt import build_system_prompt
from tests.support.photographs import Photographs
from tests.support.screens import Screen

STORY = "The harbour lies in the north, and every boat in it has two oars. " * 60
SUMMARY = """## Goal
Every boat gets four oars.

## Progress
- The fleet was read; `launch` says that a boat is afloat.

## Next steps
1. Change `oars` in boats/fleet.py
"""


@pytest.fixture(autouse=True)
def no_clock_and_no_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the prompt says of folders counts in the window; they are others on every machine."""
    monkeypatch.setattr(
        "app.engine.models.model_requests.ModelRequests._on_connection_state",
        lambda self, state, seconds: None,
    )
    monkeypatch.setattr(
        "app.engine.models.prompt_sources.build_system_prompt",
        lambda parts: build_system_prompt(
            msgspec.structs.replace(parts, cwd=Path("/home/me/project"), docs_dir="/usr/share/bayou/docs")
        ),
    )


async def test_compaction(screen: Screen, photographs: Photographs) -> None:
    gate = asyncio.Event()
    script = ScriptedModel(
        [
            call("read", path="boats/fleet.py") + call("bash", command=f"echo '{STORY}'"),
            say(STORY),
            say("They have two oars."),
            say(SUMMARY),
            say(SUMMARY, gate=gate),
        ]
    )
    app = screen.app(theme=photographs.theme, script=script)
    async with photographs.of(app) as tour:
        app.assembled.effective_settings.set("compaction.keepRecentTokens", 200)
        await tour.say("read the fleet, then tell me of the harbour")
        await tour.idle()
        await tour.say("how many oars has a boat?")
        await tour.idle()
        await tour.press("alt+c")
        await tour.until("tool descriptions")
        await tour.photograph("window")
        await tour.photograph_small("window")
        await tour.press("end", "ctrl+x")
        await tour.until("dropped")
        await tour.photograph("window-dropped")
        await tour.press("ctrl+x", "escape")
        await tour.press("alt+s")
        await tour.until("enter applies it")
        await tour.photograph("preview")
        await tour.press("escape")
        await tour.until("Nothing was compacted.")
        await tour.say("/compact")
        await tour.until("writing a summary")
        await tour.until("29 words")
        await tour.photograph("being-written")
        gate.set()
        await tour.until("restores the full history")
        await tour.photograph("compacted")
        await tour.press("alt+u")
        await tour.until("The full history is restored")
        await tour.photograph("full-again")


async def test_a_window_that_is_nearly_full(screen: Screen, photographs: Photographs) -> None:
    app = screen.app(theme=photographs.theme, script=ScriptedModel([say(STORY), say("They have two oars.")]))
    async with photographs.of(app) as tour:
        effective_settings = app.assembled.effective_settings
        effective_settings.set("compaction.mode", "remind")
        await tour.say("tell me of the harbour")
        await tour.idle()
        window = app.assembled.model_choice.require_model().context_window
        effective_settings.set("compaction.reserveTokens", window - 500)
        effective_settings.set("compaction.keepRecentTokens", 200)
        await tour.say("how many oars has a boat?")
        await tour.idle()
        await tour.photograph("nearly-full")
