"""What fills the window, a summary that is read before it counts, and the way back to the full history."""

from pathlib import Path

import pytest

from app.compaction.budget import Limits
from app.providers.scripted import call, say
from app.sessions.projection import project
from app.values.entries import CompactionEntry
from app.values.messages import ToolResultMessage
from tests.agent.stage import echo
from tests.tui.stage import StageApp, make_app, settled, submit

LONG = "a long story " * 400
SUMMARY = "## Goal\nTo be read first"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


async def until(app: StageApp, pilot, *texts: str) -> None:
    async with app.settling(pilot):
        while not all(text in app.screen_text for text in texts):
            await pilot.pause()


async def talked(app: StageApp, pilot, count: int = 2) -> None:
    """So many prompts with their answers; only the last answer has to stay word for word."""
    app.session.compactor.options.limits = Limits(keep_recent_tokens=200)
    for number in range(count):
        await submit(app, pilot, f"prompt {number}")
        await settled(app, pilot, number + 1)


def compactions(app: StageApp) -> list[CompactionEntry]:
    return [entry for entry in app.session.log.path_to() if isinstance(entry, CompactionEntry)]


async def test_a_summary_is_read_and_changed_before_it_counts(home: Path) -> None:
    app = make_app(home, say(LONG), say("b"), say(SUMMARY))
    async with app.run_test(size=(100, 30)) as pilot:
        await talked(app, pilot)
        await submit(app, pilot, "/compact --preview only the story")
        await until(app, pilot, "Enter makes it count", "To be read first")
        assert not compactions(app)
        await pilot.press(*"X", "enter")
        await until(app, pilot, "compaction from")
        [entry] = compactions(app)
        assert entry.summary.startswith("X") and "To be read first" in entry.summary
        assert "goes back to the full history" in app.screen_text


async def test_escape_at_the_preview_leaves_everything_as_it_was(home: Path) -> None:
    app = make_app(home, say(LONG), say("b"), say(SUMMARY))
    async with app.run_test(size=(100, 30)) as pilot:
        await talked(app, pilot)
        before = app.session.messages
        await pilot.press("alt+s")
        await until(app, pilot, "Enter makes it count")
        await pilot.press("escape")
        await until(app, pilot, "Nothing was compacted.")
        assert app.session.messages == before


async def test_one_key_goes_back_to_the_full_history(home: Path) -> None:
    app = make_app(home, say(LONG), say("b"), say(SUMMARY), say("d"))
    async with app.run_test(size=(100, 30)) as pilot:
        await talked(app, pilot)
        before = app.session.messages
        await submit(app, pilot, "/compact")
        await until(app, pilot, "compaction from")
        assert app.session.messages != before
        await pilot.press("alt+u")
        await until(app, pilot, "This is the full history again")
        assert app.session.messages == before


async def test_without_a_compaction_the_way_back_says_so(home: Path) -> None:
    app = make_app(home, say("a"))
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.press("alt+u")
        await until(app, pilot, "Nothing on this branch has been compacted")


async def test_a_large_result_is_dropped_and_put_back(home: Path) -> None:
    app = make_app(home, call("echo", text=LONG) + say("so"), say("done"), tools=[echo()])
    async with app.run_test(size=(120, 40)) as pilot:
        await talked(app, pilot, 1)
        before = app.session.messages
        await pilot.press("alt+c")
        await until(app, pilot, "Large results", "tokens ·")
        await pilot.press("end", "ctrl+x")
        await until(app, pilot, "dropped")
        [result] = [one for one in app.session.messages if isinstance(one, ToolResultMessage)]
        assert "Taken out of the context by the user" in str(result.content)
        assert project(app.session.log.path_to()).messages != before
        await pilot.press("ctrl+x")
        await until(app, pilot, "put back")
        assert [m.content for m in app.session.messages if isinstance(m, ToolResultMessage)] == [
            m.content for m in before if isinstance(m, ToolResultMessage)
        ]


async def test_a_full_window_is_told_once_with_the_key_and_stays_in_the_footer(home: Path) -> None:
    app = make_app(home, say(LONG), say("b"))
    async with app.run_test(size=(120, 40)) as pilot:
        app.session.compactor.options.mode = "remind"
        await talked(app, pilot, 1)
        app.session.compactor.options.limits = Limits(reserve_tokens=199_500, keep_recent_tokens=200)
        await submit(app, pilot, "and on")
        await settled(app, pilot, 2)
        await until(app, pilot, "Alt+S writes the summary for you", "window nearly full: /compact")
        assert app.screen_text.count("The context window is nearly full") == 1
        assert not compactions(app)
