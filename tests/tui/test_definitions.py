"""From a name in the transcript to its definition and uses; the map of the repository; what the page tells of maps."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from textual.pilot import Pilot

from app.engine.context_breakdown import break_down_context
from app.providers.scripted import call, say
from app.tui.features.map.screen import RepositoryMapScreen
from tests.tui.scripted_app import ScriptedApp, make_app, wait_for_runs
from tests.tui.test_extensions import ready, submit, until

BOATS = (
    "class Boat:\n    def launch(self):\n        return 1\n\n\ndef moor(boat):\n    return boat.launch()\n"
)


@pytest.fixture
async def page(tmp_path: Path) -> AsyncIterator[tuple[ScriptedApp, Pilot[int]]]:
    """An answer that names two symbols of the folder."""
    home = tmp_path / "home"
    (home / "project" / "src").mkdir(parents=True)
    (home / "project" / "src" / "boats.py").write_text(BOATS)
    app = make_app(
        home,
        say("Call `launch` of a Boat in the morning."),
        call("locate", about="moor"),
        say("done"),
        extension="def extension(api): pass",
    )
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(app, pilot)
        await submit(app, pilot, "how does it go")
        await wait_for_runs(app, pilot)
        yield app, pilot


async def test_keys_at_a_block_go_to_a_name_of_it(page) -> None:
    app, pilot = page
    app.transcript.focus()
    await pilot.press("G", "d")
    await until(app, pilot, "Definition of")
    await pilot.press(*"launch", "enter")
    await until(app, pilot, "def launch(self):")
    await pilot.press("escape")
    await until(app, pilot, "Definition of")
    await pilot.press("escape", "u")
    await until(app, pilot, "Uses of")
    await pilot.press(*"launch", "enter")
    await until(app, pilot, "1 use, matched by name")
    assert "boats.py:7  in moor" in app.screen_text
    await pilot.press("escape", "escape")


async def test_a_click_with_control_goes_to_the_name_under_it(page) -> None:
    app, pilot = page
    rows = app.screen_text.split("\n")
    row = next(number for number, line in enumerate(rows) if "Boat in" in line)
    await pilot.click(offset=(rows[row].index("Boat"), row), control=True)
    await until(app, pilot, "class Boat:")
    await pilot.press("escape")


async def test_the_map_opens_over_the_page_and_a_symbol_is_mentioned(page) -> None:
    app, pilot = page
    await submit(app, pilot, "/map")
    await until(app, pilot, "▸ src/")
    assert isinstance(app.screen, RepositoryMapScreen)
    await pilot.press(*"moor")
    await until(app, pilot, "function moor")
    await pilot.press("down", "enter")
    await until(app, pilot, "@src/boats.py:moor")
    assert app.editor.text == "@src/boats.py:moor "


async def test_a_folders_map_is_a_message_and_maps_have_a_line_of_their_own(page) -> None:
    app, pilot = page
    await submit(app, pilot, "/map src")
    await until(app, pilot, "map src")
    await until(app, pilot, "class Boat [1-3]")
    await submit(app, pilot, "where is it")
    await wait_for_runs(app, pilot, 2)
    parts = {part.title: (part.group, part.count_items) for part in break_down_context(app.session).parts}
    assert parts["repository maps"] == ("messages", 1)
    assert parts["maps"] == ("results", 1)


async def test_the_outline_of_a_file_with_secrets_is_for_the_person_alone(page) -> None:
    app, pilot = page
    (app.session.cwd / ".env").write_text("ANCHOR_TOKEN=1\n")
    await submit(app, pilot, "/map .env")
    await until(app, pilot, "The map was not sent to the model: reading its file needs approval")
    assert "ANCHOR_TOKEN" in app.screen_text
    await pilot.press("escape")
    await until(app, pilot, "in the morning")
    assert "ANCHOR_TOKEN" not in app.screen_text
    assert "ANCHOR_TOKEN" not in repr(app.session.messages)


async def test_the_footer_tells_how_far_a_long_indexing_is(page, monkeypatch) -> None:
    app, pilot = page
    maps = app.session.repository
    monkeypatch.setattr(type(maps), "indexing_progress", property(lambda maps: (4120, 16151)))
    maps._workspace.on_map_progress()
    await until(app, pilot, "indexing 4,120/16,151")
    monkeypatch.setattr(type(maps), "indexing_progress", property(lambda maps: None))
    maps._workspace.on_map_progress()
    await app.settling_until(pilot, lambda: "indexing" not in app.screen_text)
