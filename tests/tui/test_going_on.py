"""Leaving a session whose jobs run: what ends is asked about, and a resumed agent knows that no result comes."""

from pathlib import Path

import msgspec
from textual.events import Paste

from app.assembly.command_line_options import CommandLineOptions
from app.providers.scripted import call, say
from app.sessions.session_log import SessionLog
from app.values.content import text_of
from app.values.messages import UserMessage
from tests.tui.scripted_app import ScriptedApp, make_app, submit, wait_for_runs

JOB = call("bash", command="sleep 60", background=True)


def app_with_job(home: Path) -> ScriptedApp:
    options = CommandLineOptions(permissions="full", approve=True, use_theme="bayou-dark")
    return make_app(home, JOB, say("It runs."), options=options)


async def test_new_asks_about_jobs_and_keeps_them(tmp_path: Path) -> None:
    app = app_with_job(tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await app.is_ready.wait()
        await submit(app, pilot, "start it")
        await wait_for_runs(app, pilot)
        await submit(app, pilot, "/new")
        await app.settling_until(
            pilot, lambda: "Leave this session? 1 job would be stopped" in app.screen_text
        )
        assert "sleep 60" in app.screen_text
        await pilot.press("escape")
        await app.settling_until(pilot, lambda: len(app.screen_stack) == 1)
        assert "It runs." in app.screen_text, "the session stays"
        await submit(app, pilot, "/new")
        await app.settling_until(pilot, lambda: "Keep the jobs running" in app.screen_text)
        await pilot.press("1")
        await app.settling_until(pilot, lambda: "It runs." not in app.screen_text)
        (job,) = app.session.jobs.running_jobs()
        assert job.is_pinned


async def test_quitting_asks_and_the_session_knows_that_no_result_comes(tmp_path: Path) -> None:
    app = app_with_job(tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await app.is_ready.wait()
        await submit(app, pilot, "start it")
        await wait_for_runs(app, pilot)
        await pilot.press("ctrl+d")
        await app.settling_until(pilot, lambda: "Quit bayou? 1 job would be stopped" in app.screen_text)
        await pilot.press("3")
        await app.settling_until(pilot, lambda: len(app.screen_stack) == 1)
        assert app.is_running
        await pilot.press("ctrl+d")
        await app.settling_until(pilot, lambda: "Quit and stop the jobs" in app.screen_text)
        await pilot.press("1")
    file = app.session.state.file
    await app.session.close()
    assert file is not None and "so it has no result" in file.read_text()
    assert SessionLog.open(file) is not None


async def test_the_todo_list_is_on_the_page_when_a_session_goes_on(tmp_path: Path) -> None:
    phases = [{"name": "Look", "tasks": ["Read the cart", "Read the tests"]}]
    options = CommandLineOptions(permissions="full", approve=True, use_theme="bayou-dark")
    todo = call("todo", op="set", phases=phases)
    app = make_app(tmp_path, todo, say("Noted."), options=options)
    async with app.run_test(size=(80, 24)) as pilot:
        await app.is_ready.wait()
        await submit(app, pilot, "make a list")
        await wait_for_runs(app, pilot)
        await app.settling_until(pilot, lambda: "Read the tests" in app.screen_text)
    await app.session.close()
    again = make_app(tmp_path, say("x"), options=msgspec.structs.replace(options, continue_=True))
    async with again.run_test(size=(80, 24)) as pilot:
        await again.settling_until(pilot, lambda: "○ Read the tests" in again.screen_text)
    await again.session.close()


async def test_a_long_paste_is_folded_when_it_is_sent_and_when_its_session_goes_on(tmp_path: Path) -> None:
    paste = "".join(f"line {number}\n" for number in range(1, 5_001))
    options = CommandLineOptions(approve=True, use_theme="bayou-dark")
    app = make_app(tmp_path, say("A lot."), options=options)
    async with app.run_test(size=(80, 24)) as pilot:
        await app.is_ready.wait()
        app.editor.post_message(Paste(paste))
        await app.settling_until(pilot, lambda: not app.editor.model.is_blank)
        await pilot.press("enter")
        await wait_for_runs(app, pilot)
        assert "line 8" in app.screen_text and "… 4,990 more lines" in app.screen_text
        (sent,) = (one for one in app.session.messages if isinstance(one, UserMessage))
        assert paste.strip() in text_of(sent.content)
    await app.session.close()
    again = make_app(tmp_path, say("x"), options=msgspec.structs.replace(options, continue_=True))
    async with again.run_test(size=(80, 24)) as pilot:
        await again.settling_until(pilot, lambda: "… 4,990 more lines" in again.screen_text)
    await again.session.close()
