"""`/resume`: the list of sessions under the keys of a person."""

from pathlib import Path

import pytest
from textual.pilot import Pilot

from app.assembly.options import Options
from app.providers.scripted import say
from app.sessions.log import SessionLog
from app.values.entries import MessageEntry
from app.values.messages import AssistantMessage
from app.values.usage import Cost, Usage
from tests.tui.stage import StageApp, make_app, submit
from tests.tui.test_resuming import a_session, until
from widgets.screens.sessions import SessionsScreen


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    (home / "project").mkdir(parents=True)
    a_session(home, "the zebra in the config")
    a_session(home, "a plan for Monday")
    (home / "elsewhere").mkdir()
    a_session(home, "of another folder", home / "elsewhere")
    return home


def page(home: Path) -> StageApp:
    return make_app(home, say("hello"), options=Options(offline=True))


async def opened(app: StageApp, pilot: Pilot[int]) -> SessionsScreen:
    await submit(app, pilot, "/resume")
    await until(pilot, lambda: isinstance(app.screen, SessionsScreen))
    screen = app.screen
    assert isinstance(screen, SessionsScreen)
    return screen


async def test_this_folder_first_and_everything_with_a_key(home: Path) -> None:
    app = page(home)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(app, pilot)
        assert "a plan for Monday" in app.screen_text and "of another folder" not in app.screen_text
        await pilot.press("tab")
        await until(pilot, lambda: "of another folder" in app.screen_text)
        assert "~/elsewhere" in app.screen_text


async def test_what_a_session_cost_stands_in_its_row(home: Path) -> None:
    path = a_session(home, "a dear question")
    log = SessionLog.open(path)
    usage = Usage(output=5, cost=Cost(output=1.5, total=1.5))
    log.append(MessageEntry(parent_id=None, message=AssistantMessage(usage=usage)))
    log.close()
    app = page(home)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(app, pilot)
        assert "3 messages $1.50" in app.screen_text


async def test_any_word_that_was_said_finds_its_session(home: Path) -> None:
    app = page(home)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await opened(app, pilot)
        app.session_texts._reading.join()
        await pilot.press(*"answered")
        await until(pilot, lambda: "zebra in the config, answered" in app.screen_text)
        await pilot.press("ctrl+u", *"monday ans")
        await until(pilot, lambda: screen.row is not None and screen.row.title == "a plan for Monday")
        await pilot.press("enter")
        await until(pilot, lambda: app.session.log.is_on_disk)
        assert "a plan for Monday, answered" in app.screen_text


async def test_what_is_deleted_comes_back_also_in_the_next_run(home: Path) -> None:
    app = page(home)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await opened(app, pilot)
        assert screen.row is not None
        title = screen.row.title
        await pilot.press("ctrl+d")
        await until(pilot, lambda: "ctrl+z brings it back" in app.screen_text)
        assert f"› {title}" not in app.screen_text
    again = page(home)
    async with again.run_test(size=(80, 24)) as pilot:
        await opened(again, pilot)
        await pilot.press("ctrl+z")
        await until(pilot, lambda: f"back again: {title}" in again.screen_text)
        await pilot.press("ctrl+z")
        await until(pilot, lambda: "the trash is empty" in again.screen_text)


async def test_a_name_is_given_from_the_list(home: Path) -> None:
    app = page(home)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(app, pilot)
        await pilot.press("ctrl+r")
        await until(pilot, lambda: "Name of the session" in app.screen_text)
        await pilot.press(*"Big plans", "enter")
        await until(pilot, lambda: "renamed" in app.screen_text)
        assert "Big plans" in app.screen_text
