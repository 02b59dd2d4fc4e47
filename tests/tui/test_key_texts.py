"""Texts name the keys that are in force: some are given others, some are taken away, and the page is read."""

import json
from pathlib import Path

import pytest

from app.assembly.command_line_options import CommandLineOptions
from app.providers.scripted import call, say
from app.tui.features.sessions.feature import SESSIONS_FEATURE
from app.tui.features.sessions.screen import SessionsScreen
from app.tui.features.settings.screen import SettingsScreen
from tests.tui.scripted_app import ScriptedApp, make_app, submit, wait_for_runs


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def with_keys(home: Path, **keys: str | list[str]) -> None:
    file = home / ".bayou" / "agent" / "keybindings.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({name.replace("_", "."): key for name, key in keys.items()}))


def page(home: Path, *responses) -> ScriptedApp:
    return make_app(home, *(responses or (say("x"),)))


async def test_the_key_that_stops(home: Path) -> None:
    with_keys(home, app_interrupt="f9")
    app = page(home)
    async with app.run_test(size=(100, 30)) as pilot:
        await app.is_ready.wait()
        app.status.show_stoppable_activity("Compacting")
        await pilot.pause()
        assert "Compacting" in app.screen_text and "f9 stop" in app.screen_text


async def test_without_one_nothing_is_said_of_it(home: Path) -> None:
    with_keys(home, app_interrupt=[])
    app = page(home)
    async with app.run_test(size=(100, 30)) as pilot:
        await app.is_ready.wait()
        app.status.show_stoppable_activity("Compacting")
        await pilot.pause()
        assert "Compacting" in app.screen_text and "stop" not in app.screen_text


async def test_the_way_back_to_what_was_not_sent(home: Path) -> None:
    with_keys(home, tui_editor_cursorUp="alt+k")
    silent = make_app(home, say("x"), options=CommandLineOptions(use_theme="bayou-dark"))
    async with silent.run_test(size=(100, 30)):
        silent.editor.set_text("half a thought")
        silent.prompt.unsent_draft.save()
    again = make_app(home, say("x"), options=CommandLineOptions(use_theme="bayou-dark"))
    async with again.run_test(size=(100, 30)) as pilot:
        await again.is_ready.wait()
        await again.settling_until(pilot, lambda: "press alt+k" in again.screen_text)


async def test_the_search_of_older_prompts(home: Path) -> None:
    """`Up` was taken away, so the search is the way."""
    with_keys(home, tui_editor_cursorUp=[], tui_editor_historySearch="alt+h")
    silent = make_app(home, say("x"), options=CommandLineOptions(use_theme="bayou-dark"))
    async with silent.run_test(size=(100, 30)):
        silent.editor.set_text("half a thought")
        silent.prompt.unsent_draft.save()
    again = make_app(home, say("x"), options=CommandLineOptions(use_theme="bayou-dark"))
    async with again.run_test(size=(100, 30)) as pilot:
        await again.is_ready.wait()
        await again.settling_until(pilot, lambda: "from last time: alt+h searches it" in again.screen_text)


async def test_the_way_to_the_end(home: Path) -> None:
    with_keys(home, tui_altScreen_bottom="alt+g")
    app = page(home, say("\n\n".join(f"line {number}" for number in range(80))), say("more"))
    async with app.run_test(size=(100, 20)) as pilot:
        await submit(app, pilot, "go")
        await wait_for_runs(app, pilot)
        app.transcript.keyboard.go_home()
        await pilot.pause()
        app.presenter.add_note("something new")
        await pilot.pause()
        assert "new · alt+g" in app.screen_text


async def test_hints_of_screens(home: Path) -> None:
    with_keys(home, app_settings_reset="ctrl+r", tui_select_confirm="f2")
    app = page(home)
    async with app.run_test(size=(120, 30)) as pilot:
        await submit(app, pilot, "/settings")
        await app.settling_until(pilot, lambda: isinstance(app.screen, SettingsScreen))
        await pilot.press(*"interruptMode", "f2")
        await app.settling_until(pilot, lambda: "• immediate" in app.screen_text)
        last = app.screen_text.rstrip().splitlines()[-1]
        assert "f2 change" in last and "ctrl+r reset to default" in last and "enter" not in last


async def test_resume_keys_and_empty_lists_name_their_keys(home: Path) -> None:
    with_keys(home, app_session_undelete="f4", app_session_togglePath="f7")
    app = page(home, call("echo", text="x"), say("done"))
    async with app.run_test(size=(120, 30)) as pilot:
        await app.is_ready.wait()
        assert app.feature_register.page(SESSIONS_FEATURE).key_label("app.session.undelete", "ctrl+z") == "f4"
        screen = SessionsScreen([])
        await app.push_screen(screen)
        await pilot.pause()
        assert "no session matches; f7 searches all folders" in app.screen_text


async def test_what_is_refused_because_something_runs(home: Path) -> None:
    with_keys(home, app_interrupt="f9")
    app = page(home)
    async with app.run_test(size=(100, 30)) as pilot:
        await app.is_ready.wait()
        await submit(app, pilot, "!sleep 5")
        await app.settling_until(pilot, lambda: app.session.state.is_shell_running)
        await submit(app, pilot, "!echo two")
        await app.settling_until(
            pilot, lambda: "A command is already running. f9 stops it." in app.screen_text
        )
        app.session.shell.abort()
        await app.settling_until(pilot, lambda: not app.session.state.is_shell_running)
