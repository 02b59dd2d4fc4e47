"""What fills the window, a summary that is read before it counts, and the way back to the full history."""

import asyncio
from pathlib import Path

import msgspec
import pytest

from app.providers.scripted import fail, say
from app.values.entries import CompactionEntry
from tests.support.sizes import resize
from tests.tui.scripted_app import ScriptedApp, make_app, submit, wait_for_runs

LONG = "a long story " * 400
SUMMARY = "## Goal\nTo be read first"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


async def until(app: ScriptedApp, pilot, *texts: str) -> None:
    async with app.settling(pilot):
        while not all(text in app.screen_text for text in texts):
            await pilot.pause()


async def talked(app: ScriptedApp, pilot, count: int = 2) -> None:
    """So many prompts with their answers; only the last answer has to stay word for word."""
    app.assembled.effective_settings.set("compaction.keepRecentTokens", 200)
    for number in range(count):
        await submit(app, pilot, f"prompt {number}")
        await wait_for_runs(app, pilot, number + 1)


def compactions(app: ScriptedApp) -> list[CompactionEntry]:
    return [entry for entry in app.session.log.path_to() if isinstance(entry, CompactionEntry)]


async def test_one_key_goes_back_to_the_full_history(home: Path) -> None:
    app = make_app(home, say(LONG), say("b"), say(SUMMARY), say("d"))
    async with app.run_test(size=(100, 30)) as pilot:
        await talked(app, pilot)
        before = app.session.messages
        await submit(app, pilot, "/compact")
        await until(app, pilot, "compaction from")
        assert app.session.messages != before
        await pilot.press("alt+u")
        await until(app, pilot, "The full history is restored")
        assert app.session.messages == before


async def test_a_full_window_is_reported_once_with_the_key_and_stays_in_the_footer(home: Path) -> None:
    app = make_app(home, say(LONG), say("b"))
    async with app.run_test(size=(120, 40)) as pilot:
        app.assembled.effective_settings.set("compaction.mode", "remind")
        await talked(app, pilot, 1)
        app.assembled.effective_settings.set("compaction.keepRecentTokens", 200)
        model = app.session.state.model
        assert model is not None
        await app.session.models.use_model(msgspec.structs.replace(model, context_window=6_000))
        await submit(app, pilot, "and on")
        await wait_for_runs(app, pilot, 2)
        await until(app, pilot, "alt+s lets you edit the summary first", "context nearly full: /compact")
        assert app.screen_text.count("The context window is nearly full") == 1
        assert not compactions(app)


@pytest.mark.parametrize("how", ["done", "failed", "stopped"])
async def test_the_border_shows_a_compaction_until_it_ends(home: Path, how: str) -> None:
    gate = asyncio.Event()
    failing = fail("no", status=400, gate=gate)
    ends = {"done": say(SUMMARY, gate=gate), "failed": failing, "stopped": say("s", gate=gate)}
    app = make_app(home, say(LONG), say("b"), ends[how])
    async with app.run_test(size=(100, 30)) as pilot:
        await talked(app, pilot)
        await submit(app, pilot, "/compact")
        await until(app, pilot, "● Compacting")
        if how == "stopped":
            await pilot.press("escape")
        else:
            gate.set()
        words = {"done": "compaction from", "failed": "no", "stopped": "Compaction cancelled"}[how]
        await until(app, pilot, words)
        await app.settling_until(pilot, lambda: "Compacting" not in app.screen_text)
        assert "is being written" not in app.screen_text
        assert bool(compactions(app)) is (how == "done")


async def test_the_summary_is_on_the_page_while_it_is_written(home: Path) -> None:
    gate = asyncio.Event()
    app = make_app(home, say(LONG), say("b"), say(SUMMARY, gate=gate))
    async with app.run_test(size=(100, 30)) as pilot:
        await talked(app, pilot)
        await submit(app, pilot, "/compact")
        await until(app, pilot, "writing a summary")
        gate.set()
        await until(app, pilot, "compaction from")


async def test_the_footer_tells_the_hit_rate_of_the_prompt_cache(home: Path) -> None:
    app = make_app(home, say(LONG), say("b"), say("c"))
    async with app.run_test(size=(100, 30)) as pilot:
        await talked(app, pilot, 3)
        usage = app.session.stats.last_usage
        assert usage is not None and usage.cache_read
        share = 100 * usage.cache_read / (usage.input + usage.cache_read + usage.cache_write)
        await until(app, pilot, f"cache {share:.0f} %")
        assert "cache ↑" not in app.screen_text
        await resize(pilot, 200, 30)  # the side panel says how much of the session came from the cache
        await app.settling_until(pilot, lambda: "from the cache" in app.screen_text)
        assert f"cache {share:.0f} %" not in app.screen_text
