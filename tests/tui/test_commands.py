"""What is written with a slash: known, mistyped, a path; the list of all of them; what the first screen proposes."""

from pathlib import Path

import pytest

from app.providers.scripted import fail, say
from app.sessions.session_log import SessionLog
from app.tui.terminal.terminal_parts import show_confirmation
from app.tui.transcript.welcome_page import suggested_first_requests
from app.values.messages import UserMessage
from tests.agent.scripted_loop import plain
from tests.sessions.make_entries import assistant_entry
from tests.sessions.make_entries import user_entry as said
from tests.support.screens import Screen
from tests.tui.scripted_app import make_app, submit, wait_for_runs


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


async def test_a_command_that_does_not_exist_is_reported_and_not_sent(home: Path) -> None:
    app = make_app(home, say("sent"))
    async with app.run_test(size=(100, 30)) as pilot:
        app.editor.set_text("/zzzexport now")
        await pilot.press("enter")
        await app.settling_until(pilot, lambda: "There is no command /zzzexport" in app.screen_text)
        assert "Did you mean /export?" in app.screen_text
        assert app.editor.text == "/zzzexport now"
        assert app.session.stats.user_messages == 0


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("share", "Did you mean /export?"),
        ("config", "Did you mean /settings?"),
        ("editor", "ctrl+g opens the prompt"),
    ],
)
async def test_what_another_program_calls_it_is_understood(typed: str, meant: str, home: Path) -> None:
    app = make_app(home, say("sent"))
    async with app.run_test(size=(100, 30)) as pilot:
        app.editor.set_text(f"/{typed}")
        await pilot.press("enter")
        await app.settling_until(pilot, lambda: meant in app.screen_text)


@pytest.mark.parametrize(
    ("typed", "page", "shown"), [("cost", "usage", "Usage"), ("tools", "context", "Context")]
)
async def test_a_page_of_another_program_opens_the_one_that_has_it(
    typed: str, page: str, shown: str, home: Path
) -> None:
    app = make_app(home, say("sent"))
    async with app.run_test(size=(100, 30)) as pilot:
        await app.is_ready.wait()
        app.editor.set_text(f"/{typed}")
        await pilot.press("enter")
        await app.settling_until(pilot, lambda: shown in app.screen_text.split("\n")[0])
        await pilot.press("escape")
        await app.settling_until(pilot, lambda: f"In bayou this command is /{page}." in app.screen_text)


async def test_everything_that_can_be_written_is_reported(home: Path) -> None:
    wanted = {
        *("settings", "model", "tree", "thinking", "scoped-models", "export", "import", "copy", "name"),
        *("session", "hotkeys", "fork", "clone", "trust", "login", "logout", "new", "compact", "resume"),
        *("reload", "quit", "context", "jobs", "map", "theme", "keys", "help"),
    }
    app = make_app(home, say("sent"), extension="def extension(api): pass")
    async with app.run_test(size=(100, 30)) as pilot:
        await app.is_ready.wait()
        known = dict(app.action_table.slash_command_descriptions())
        assert wanted <= known.keys()
        assert all(known.values()), "each says what it does"
        await pilot.pause()
        rows = app.action_table.palette_rows()
        assert {f"/{name}" for name in known if name != "keys"} <= {
            word for row in rows for word in (row.id, row.detail)
        }


async def test_a_question_mark_is_help_and_exit_leaves(home: Path) -> None:
    app = make_app(home)
    async with app.run_test(size=(100, 30)) as pilot:
        await submit(app, pilot, "?")
        await app.settling_until(pilot, lambda: "Commands" in app.screen_text)
        await pilot.press("escape")
        await submit(app, pilot, "Exit")
        await app.settling_until(pilot, lambda: not app.is_running)
    assert not app.session.messages


@pytest.mark.parametrize("text", ["/etc/hosts: what is in it?", "/a.py is broken"])
async def test_what_only_looks_like_a_command_is_sent(home: Path, text: str) -> None:
    app = make_app(home, say("sent"))
    async with app.run_test(size=(100, 30)) as pilot:
        await submit(app, pilot, text)
        await wait_for_runs(app, pilot)
        assert "sent" in app.screen_text


async def test_help_lists_the_commands_and_begins_one(home: Path) -> None:
    app = make_app(home, say("sent"))
    async with app.run_test(size=(100, 30)) as pilot:
        await submit(app, pilot, "/help")
        await app.settling_until(pilot, lambda: "Commands" in app.screen_text)
        await pilot.press(*"export", "enter")
        await app.settling_until(pilot, lambda: app.editor.text == "/export ")


async def test_an_answer_that_is_tried_again_leaves_one_line(home: Path) -> None:
    app = make_app(home, fail("overloaded", status=529), say("there"))
    async with app.run_test(size=(100, 30)) as pilot:
        await submit(app, pilot, "go")
        await app.settling_until(pilot, lambda: "Retrying: 1 of 3" in app.screen_text)
        assert app.screen_text.count("reported a problem") == 1
        app.session.retry_countdown.retry_now()
        await wait_for_runs(app, pilot)
        assert "reported a problem" not in app.screen_text


def test_what_is_proposed_at_first_works_in_this_folder(tmp_path: Path) -> None:
    assert [typed for typed, _ in suggested_first_requests(tmp_path)] == ["list", "run git status", "tour"]
    (tmp_path / "README.rst").write_text("x", encoding="utf-8")
    assert [typed for typed, _ in suggested_first_requests(tmp_path)] == [
        "read README.rst",
        "run git status",
        "tour",
    ]
    assert suggested_first_requests(tmp_path / "nowhere")


async def test_a_number_asks_for_what_the_first_screen_proposes(screen: Screen) -> None:
    app = screen.app("--offline")
    async with app.run_test(size=(80, 24)) as pilot:
        await app.is_ready.wait()
        app.editor.set_text("1")
        await pilot.press("enter")
        await app.session.wait_until_idle()
        await app.session.prompt("thanks")
        await app.session.wait_until_idle()
        app.editor.set_text("1")
        await pilot.press("enter")
        await app.session.wait_until_idle()
        asked = [plain(one) for one in app.session.messages if isinstance(one, UserMessage)]
    assert asked == ["read README.md", "thanks", "1"]


async def test_the_tour_goes_on_by_its_command_and_by_a_number(screen: Screen) -> None:
    app = screen.app("--offline")
    async with app.run_test(size=(80, 24)) as pilot:
        await app.is_ready.wait()
        for typed in ("/tour", "1", "list", "/tour"):
            app.editor.set_text(typed)
            await pilot.press("enter")
            await pilot.pause()
            await app.session.wait_until_idle()
            app.session.permissions.rules.set_mode("full")
        asked = [plain(one) for one in app.session.messages if isinstance(one, UserMessage)]
    assert asked == ["tour", "tour searching", "list", "tour changing"]


async def test_the_tour_needs_the_offline_guide(home: Path) -> None:
    app = make_app(home, say("sent"))
    async with app.run_test(size=(100, 30)) as pilot:
        await app.is_ready.wait()
        await submit(app, pilot, "/tour")
        await app.settling_until(pilot, lambda: "/model offline/guide" in app.screen_text)
        assert not app.session.messages


async def test_the_editor_says_when_nothing_can_be_sent(home: Path, screen: Screen) -> None:
    written = SessionLog.create(home, screen.project)
    written.append(said("how deep?"))
    written.append(assistant_entry("Four fathoms."))
    written.close()
    app = screen.app("--offline", is_kept=True)
    async with app.run_test(size=(80, 24)) as pilot:
        await app.is_ready.wait()
        assert written.path is not None
        await app.session.branches.open_session(SessionLog.open(written.path, read_only=True), "resume")
        await pilot.pause()
        assert "Read-only" in app.editor.surface.placeholder
        await app.session.branches.start_new_session()
        await pilot.pause()
        assert "Ask anything" in app.editor.surface.placeholder


async def test_clear_and_exit_do_what_hands_have_learnt(home: Path) -> None:
    app = make_app(home, say("The answer."))
    async with app.run_test(size=(100, 30)) as pilot:
        await submit(app, pilot, "hello")
        await wait_for_runs(app, pilot)
        before = app.session.log.session_id
        await submit(app, pilot, "/clear")
        await app.settling_until(pilot, lambda: app.session.log.session_id != before)
        assert not app.session.messages
        await submit(app, pilot, "/exit")
        await app.settling_until(pilot, lambda: app.return_code is not None)


async def test_a_new_notice_replaces_the_previous_one(home: Path) -> None:
    app = make_app(home)
    async with app.run_test(size=(100, 30), notifications=True) as pilot:
        for text in ("copied: one", "copied: two"):
            show_confirmation(app, text)
            await pilot.pause()
        assert "copied: two" in app.screen_text and "copied: one" not in app.screen_text
