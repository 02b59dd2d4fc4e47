"""Themes on the running page: tried before they are chosen, a person's own read again when their file changes."""

import json
from pathlib import Path

import pytest

from app.assembly.command_line_options import CommandLineOptions, UsageError
from app.assembly.session_builder import assemble_session
from app.providers.scripted import say
from app.resources.paths import BayouPaths
from tests.tui.scripted_app import make_app, submit

OWN = {"accent": "#ff0000", "success": "#00ff00", "error": "#ff8888", "warning": "#ffff00"}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def write_theme(home: Path, name: str, text: str) -> Path:
    file = home / ".bayou" / "agent" / "themes" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


async def test_a_theme_is_seen_while_the_cursor_is_on_it_and_kept_with_ctrl_s(home: Path) -> None:
    app = make_app(home, say("x"))
    async with app.run_test(size=(100, 30)) as pilot:
        await submit(app, pilot, "/theme")
        await pilot.pause()
        await pilot.press("down")
        await pilot.pause()
        assert app.theme == "bayou-light"
        await pilot.press("escape")
        await pilot.pause()
        assert app.theme == "bayou-dark"
        await submit(app, pilot, "/theme")
        await pilot.pause()
        await pilot.press(*"nord", "ctrl+s")
        await pilot.pause()
        assert app.theme == "nord"
        assert '"theme": "nord"' in app.assembled.prompt.paths.settings_file.read_text()


async def test_a_changed_theme_file_shows_at_once(home: Path) -> None:
    file = write_theme(home, "mine.json", json.dumps({"name": "mine", "colors": OWN}))
    app = make_app(home, say("x"), theme="mine")
    async with app.run_test(size=(100, 30)) as pilot:
        await app.is_ready.wait()
        before = app.theme_variables["accent"]
        file.write_text(
            json.dumps({"name": "mine", "colors": {**OWN, "accent": "#0000ff", "text": "#eeeeee"}})
        )
        async with app.settling(pilot):
            while app.theme_variables["accent"] == before:
                await pilot.pause(0.05)


async def test_a_theme_that_breaks_while_it_is_in_force_stays_as_it_was_and_is_named(home: Path) -> None:
    file = write_theme(home, "mine.json", json.dumps({"name": "mine", "colors": OWN}))
    app = make_app(home, say("x"), theme="mine")
    async with app.run_test(size=(120, 30)) as pilot:
        await app.is_ready.wait()
        before = app.theme_variables["accent"]
        file.write_text('{"name": "mine", "colors": {"accent": "no colour"}}')
        async with app.settling(pilot):
            while not any("mine" in note.message for note in app._notifications):
                await pilot.pause(0.05)
        assert app.theme_variables["accent"] == before


async def test_the_rules_of_a_tcss_theme_are_added_and_go_with_it(home: Path) -> None:
    colors = "".join(f"${name}: {value};\n" for name, value in OWN.items())
    write_theme(home, "mine.tcss", colors + "StatusFooter { height: 3; }\n")
    app = make_app(home, say("x"), theme="mine")
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.pause()
        assert app.page.footer.size.height == 3
        await submit(app, pilot, "/theme bayou-dark")
        await pilot.pause()
        assert app.page.footer.size.height == 1


async def test_a_rule_that_cannot_be_read_is_named_and_the_theme_is_not_used(home: Path) -> None:
    colors = "".join(f"${name}: {value};\n" for name, value in OWN.items())
    write_theme(home, "mine.tcss", colors + "StatusFooter { heigth: 3; }\n")
    app = make_app(home, say("x"))
    async with app.run_test(size=(120, 30)) as pilot:
        await submit(app, pilot, "/theme mine")
        await pilot.pause()
        words = "".join(app.screen_text.split())
        assert "mine.tcss" in words and "heigth" in words
        assert app.theme == "bayou-dark"


def test_a_theme_that_is_not_there_is_refused_on_the_command_line(home: Path) -> None:
    paths = BayouPaths.from_env({"HOME": str(home)}, home)
    with pytest.raises(UsageError, match="no theme 'neon'"):
        assemble_session(CommandLineOptions(no_session=True, use_theme="neon"), paths, {})


async def test_animations_end_and_begin_with_their_setting(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("textual.constants.TEXTUAL_ANIMATIONS", "full")
    app = make_app(home, say("x"))
    async with app.run_test(size=(100, 30)):
        assert app.animation_level == "full"
        for wanted, level in (("off", "none"), ("reduced", "basic"), ("on", "full")):
            app.assembled.effective_settings.save_value("animations", wanted)
            assert app.animation_level == level
