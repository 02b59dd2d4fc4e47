"""What stands around the page: the footer's segments, git, jobs with what they say, and what is left after the end."""

import asyncio
import subprocess
from pathlib import Path

import msgspec
import pytest

from app.assembly.command_line_options import CommandLineOptions
from app.providers.scripted import call, fail, say, think
from app.resources.settings.settings_file import write_setting_to_file
from app.tui.feature_services import CacheMissReporter
from app.tui.main_screen import MainScreen
from app.tui.run import print_closing_message
from app.tui.status.status_lines import parse_git_status, query_git_state
from app.values.events import MessageEnd, ProviderRequestPrepared, ProviderWaiting
from app.values.messages import AssistantMessage
from app.values.usage import Usage
from tests.tui.scripted_app import ScriptedApp, make_app, submit, wait_for_runs
from widgets.transcript.transcript_blocks import AppNoteKind


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def wish(home: Path, key: str, value: object) -> None:
    file = home / ".bayou" / "agent" / "settings.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    write_setting_to_file(file, key, value)


def footer_line(app: ScriptedApp) -> str:
    return app.screen_text.splitlines()[-1].strip()


def in_editor(app: ScriptedApp) -> list[str]:
    return [segment.text for segment in app.editor.surface.status]


def repository(folder: Path) -> None:
    git = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*git, "init", "-q", "-b", "harbour"], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "x"], check=True)


async def test_the_footer_shows_what_is_wished_in_that_order(home: Path) -> None:
    wish(home, "footer.segments", ["session", "path", "tokens", "model"])
    wish(home, "footer.header", False)
    app = make_app(home, say("done"))
    async with app.run_test(size=(100, 30)) as pilot:
        await submit(app, pilot, "/name My work")
        await submit(app, pilot, "go")
        await wait_for_runs(app, pilot)
        words = footer_line(app).split()
        assert words[:3] == ["My", "work", "~/project"]
        assert in_editor(app) == ["script"]
        assert any(word.startswith("↑") for word in words)


async def test_another_choice_counts_at_once(home: Path) -> None:
    app = make_app(home, say("done"))
    async with app.run_test(size=(100, 30)) as pilot:
        assert "~/project" in app.screen_text.splitlines()[0]
        app.assembled.effective_settings.save_value("footer.segments", ["git", "model"])
        await pilot.pause()
        assert in_editor(app) == ["script"] and not app.page.footer.segments


async def test_narrow_terminals_keep_what_matters_most(home: Path) -> None:
    app = make_app(home, say("done"))
    async with app.run_test(size=(40, 12)) as pilot:
        await submit(app, pilot, "/name a long name of a session that goes on")
        await pilot.pause()
        assert "script" in in_editor(app) and "script" in app.screen_text
        assert "goes on" not in footer_line(app)


async def test_the_branch_with_a_star_when_something_is_not_committed(home: Path) -> None:
    project = home / "project"
    project.mkdir(parents=True)
    repository(project)
    assert await query_git_state(project, home=project, is_vouched=lambda: False) == "harbour"
    (project / "new.txt").write_text("x", encoding="utf-8")
    app = make_app(home, say("done"))
    async with app.run_test(size=(100, 30)) as pilot:
        await app.settling_until(pilot, lambda: "harbour*" in footer_line(app))


async def test_outside_of_a_repository_git_is_not_asked(tmp_path: Path) -> None:
    assert await query_git_state(tmp_path, home=tmp_path, is_vouched=lambda: False) == ""


def test_a_detached_head_is_shown_by_its_commit() -> None:
    assert parse_git_status("# branch.oid 0123456789abcdef\n# branch.head (detached)\n? new") == "0123456*"


async def test_a_retry_is_counted_down_and_a_silence_told(home: Path) -> None:
    app = make_app(home, fail("overloaded", status=529), say("there"))
    async with app.run_test(size=(110, 30)) as pilot:
        await submit(app, pilot, "go")
        await app.settling_until(pilot, lambda: "Retrying 1 of 3 in 2 s" in app.screen_text)
        app.session.retry_countdown.retry_now()
        await wait_for_runs(app, pilot)
        assert "Retrying" not in app.screen_text
        app.status.handle_event(ProviderRequestPrepared(request_id="r", session_id="s", message_ids=()))
        app.status.handle_event(ProviderWaiting(state="stalled", seconds=30))
        await pilot.pause()
        assert "No further response from scripted, times out in 30 s" in app.screen_text
        app.status.handle_event(ProviderWaiting(state="flowing", seconds=0))
        await pilot.pause()
        assert "No further response" not in app.screen_text


async def test_jobs_are_seen_working_and_ended_from_their_panel(home: Path) -> None:
    command = "printf 'be%s' gun; until [ -e gate ]; do sleep 0.02; done; printf 'en%s' ded; sleep 600"
    app = make_app(home, call("bash", command=command, background=True), say("ok"))
    async with app.run_test(size=(100, 30)) as pilot:
        await submit(app, pilot, "go")
        await wait_for_runs(app, pilot)
        assert "1 job" in footer_line(app)
        await submit(app, pilot, "/jobs")
        await app.settling_until(pilot, lambda: "begun" in app.screen_text)
        (home / "project" / "gate").touch()
        await app.settling_until(pilot, lambda: "begunended" in app.screen_text)
        await pilot.press("ctrl+x")
        await app.settling_until(pilot, lambda: not app.session.state.running_jobs)
        await pilot.press("escape")


async def test_a_tool_goes_to_the_background_with_ctrl_b(home: Path) -> None:
    app = make_app(home, call("bash", command="sleep 600"), say("it goes on"))
    async with app.run_test(size=(100, 30)) as pilot:
        await submit(app, pilot, "go")
        await app.settling_until(pilot, lambda: "sleep 600" in app.screen_text and app.session.is_running)
        async with asyncio.timeout(10):
            while not app.session.state.running_jobs:
                await pilot.press("ctrl+b")
                await pilot.pause()
        await wait_for_runs(app, pilot)
        assert "1 job" in footer_line(app)
        await app.session.jobs.close()


@pytest.mark.parametrize(
    ("wanted", "told"),
    [("last-answer", "The answer.\n\n• one\n"), ("transcript", "what is it?"), ("resume-hint", "")],
)
async def test_what_is_left_on_the_terminal(
    home: Path, wanted: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    wish(home, "fullscreenExitOutput", wanted)
    app = make_app(home, say("The **answer**.\n\n- one"), options=CommandLineOptions(use_theme="bayou-dark"))
    async with app.run_test(size=(100, 30)) as pilot:
        await submit(app, pilot, "what is it?")
        await wait_for_runs(app, pilot)
    print_closing_message(app.assembled)
    left = capsys.readouterr().out
    assert told in left
    assert ("answer" in left) is bool(told)
    assert left.endswith(f"To resume this session: bayou --session {app.session.log.session_id}\n")


async def test_a_session_file_is_copied_in_and_gone_on_with(home: Path) -> None:
    app = make_app(home, say("The answer."), say("more"), options=CommandLineOptions(use_theme="bayou-dark"))
    async with app.run_test(size=(100, 30)) as pilot:
        await submit(app, pilot, "what is it?")
        await wait_for_runs(app, pilot)
        first = app.session.log.path
        await submit(app, pilot, "/new")
        await app.settling_until(pilot, lambda: app.session.log.path != first)
        await submit(app, pilot, f"/import {first}")
        await app.settling_until(pilot, lambda: "Imported and opened" in app.screen_text)
        assert "The answer." in app.screen_text
        assert app.session.log.path not in (None, first)
        await submit(app, pilot, "/import nowhere.jsonl")
        await app.settling_until(pilot, lambda: "nowhere.jsonl" in "".join(app.screen_text.split()))


async def test_thinking_is_one_line_or_all_of_it(home: Path) -> None:
    wish(home, "hideThinkingBlock", False)
    app = make_app(home, think("the tide is low") + say("Wait."))
    async with app.run_test(size=(100, 30)) as pilot:
        await submit(app, pilot, "go")
        await wait_for_runs(app, pilot)
        assert "the tide is low" in app.screen_text
        app.assembled.effective_settings.save_value("hideThinkingBlock", True)
        await pilot.pause()
        assert "the tide is low" not in app.screen_text


async def test_what_the_mouse_selects_is_copied_if_one_wishes(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = make_app(home, say("harbour"))
    async with app.run_test(size=(100, 30)) as pilot:
        copied: list[str] = []
        monkeypatch.setattr(app.terminal.clipboard, "copy", lambda text, what: copied.append(text))
        await submit(app, pilot, "go")
        await wait_for_runs(app, pilot)
        row = next(y for y, line in enumerate(app.screen_text.splitlines()) if "harbour" in line)
        await pilot.click(offset=(5, row), times=2)
        await app.settling_until(pilot, lambda: copied == ["harbour"])
        app.assembled.effective_settings.save_value("fullscreenCopyOnSelect", False)
        await pilot.click(offset=(5, row), times=2)
        await pilot.pause()
        assert copied == ["harbour"]


async def test_a_scroll_bar_can_be_done_without(home: Path) -> None:
    app = make_app(home, say("\n\n".join(f"line {n}" for n in range(60))))
    async with app.run_test(size=(60, 20)) as pilot:
        await submit(app, pilot, "go")
        await wait_for_runs(app, pilot)
        width = app.transcript.viewport.width
        app.assembled.effective_settings.save_value("fullscreenScrollbar", "hidden")
        await app.settling_until(pilot, lambda: app.transcript.viewport.width == width + 1)


def test_a_model_brings_its_own_thinking_level(home: Path) -> None:
    wish(home, "modelThinkingLevels", {"offline/guide": "high"})
    assert make_app(home).session.state.thinking == "high"
    by_hand = make_app(
        home, options=CommandLineOptions(no_session=True, thinking="low", use_theme="bayou-dark")
    )
    assert by_hand.session.state.thinking == "low"


def test_a_missed_prompt_cache_is_shown_if_the_setting_is_on() -> None:
    for is_told in (True, False):
        told: list[str] = []

        def say(text: str, kind: AppNoteKind = AppNoteKind.INFO, told: list[str] = told) -> None:
            told.append(text)

        misses = CacheMissReporter(say, is_told=lambda is_told=is_told: is_told)
        answer = AssistantMessage(timestamp=1_000, usage=Usage(input=20, cache_write=4_000))
        for usage in (Usage(input=10, cache_read=4_000), Usage(input=4_100)):
            misses.handle_event(MessageEnd(message=answer))
            answer = msgspec.structs.replace(answer, timestamp=answer.timestamp + 1_000, usage=usage)
        assert told == []
        misses.handle_event(MessageEnd(message=answer))
        assert told == (["The prompt cache was missed: 4.1k tokens were sent uncached."] if is_told else [])


@pytest.mark.parametrize(("rows", "kind"), [(6, "-short"), (7, "-tall"), (30, "-tall")])
async def test_the_page_is_styled_once_at_the_start_at_any_height(
    rows: int, kind: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    restyled: list[object] = []
    real = MainScreen.update_node_styles

    def noted(screen: MainScreen, animate: bool = True) -> None:
        restyled.append(screen)
        real(screen, animate)

    monkeypatch.setattr(MainScreen, "update_node_styles", noted)
    app = make_app(home, say("done"))
    async with app.run_test(size=(60, rows)) as pilot:
        await pilot.pause()
        assert restyled == []
        assert app.screen.has_class(kind)
        await pilot.resize_terminal(60, 13 - min(rows, 7))
        assert app.screen.has_class("-short" if kind == "-tall" else "-tall")
