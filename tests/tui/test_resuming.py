"""Going on with session files that cannot simply be opened: the person is asked, and nothing is lost or pretended."""

import asyncio
import errno
import fcntl
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from textual.pilot import Pilot

from app.assembly.assembled_session import AssembledSession
from app.assembly.command_line_options import CommandLineOptions
from app.assembly.session_builder import assemble_session
from app.engine.tree.session_paths import SessionPaths
from app.providers.scripted import say
from app.resources.paths import BayouPaths, shipped_styles_dir
from app.sessions.errors import SessionLocked, SessionTooNew
from app.sessions.file.partial_answer import PartialAnswerFile
from app.sessions.session_log import SessionLog
from app.tui.features.extensions.trust_screen import ProjectTrustScreen
from app.tui.features.sessions.feature import RESUME_FEATURE, SESSIONS_FEATURE
from app.tui.startup import TuiStartOptions
from app.values.content import Text
from app.values.messages import AssistantMessage
from tests.sessions.make_entries import assistant_entry
from tests.sessions.make_entries import user_entry as said
from tests.tui.scripted_app import ScriptedApp, make_app
from widgets.screens.dialogs import QuestionScreen


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home" / "project").mkdir(parents=True)
    return tmp_path / "home"


def paths_of(home: Path) -> BayouPaths:
    return BayouPaths.from_env({"HOME": str(home)}, home / "project")


def a_session(home: Path, text: str, cwd: Path | None = None) -> Path:
    paths = paths_of(home)
    places = SessionPaths(default_root=paths.sessions_dir, cwd=paths.cwd)
    log = SessionLog.create(places.project_folder, cwd or paths.cwd)
    log.append(said(text))
    log.append(assistant_entry(f"{text}, answered"))
    log.close()
    assert log.path is not None
    return log.path


@pytest.fixture
def locked(home: Path) -> Iterator[Path]:
    """A session that another process writes."""
    path = a_session(home, "written elsewhere")
    with path.open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield path


@pytest.fixture
def orphan(home: Path) -> Path:
    """A session whose folder is gone."""
    return a_session(home, "from a folder that is gone", home / "gone")


def started(home: Path, *words: str) -> tuple[ScriptedApp, AssembledSession]:
    assembled = assemble_session(
        CommandLineOptions(session=words[0], offline=True), paths_of(home), {}, can_ask=True
    )
    app = ScriptedApp(
        assembled, opening=TuiStartOptions(), home=home, css_path=sorted(shipped_styles_dir().glob("*.tcss"))
    )
    app.animation_level = "none"
    app.note_events()
    return app, assembled


async def until(pilot: Pilot[int], is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not is_so():
            await pilot.pause()
    await pilot.pause()


async def asked(app: ScriptedApp, pilot: Pilot[int]) -> None:
    await until(pilot, lambda: isinstance(app.screen, QuestionScreen))


async def test_a_session_that_is_written_elsewhere_can_be_read(home: Path, locked: Path) -> None:
    app, _ = started(home, str(locked))
    async with app.run_test(size=(100, 30)) as pilot:
        await asked(app, pilot)
        assert "rocess" in app.screen_text and "Open read-only" in app.screen_text
        await pilot.press("1")
        await pilot.pause()
        assert app.session.log.is_read_only and "read-only" in app.screen_text
        assert "written elsewhere, answered" in app.screen_text
        app.editor.set_text("go on")
        await pilot.press("enter")
        await pilot.pause()
        assert "Continue in a copy" in app.screen_text.replace("\n  ", " ")
        assert app.editor.text == "go on", "what could not be sent is still there"
    assert b"go on" not in locked.read_bytes()


async def test_or_forked_and_the_other_file_stays_as_it_is(home: Path, locked: Path) -> None:
    before = locked.read_bytes()
    app, _ = started(home, str(locked))
    async with app.run_test(size=(100, 30)) as pilot:
        await asked(app, pilot)
        await pilot.press("2")
        await until(pilot, lambda: app.session.log.path != locked)
        assert app.session.log.header.parent_session == str(locked)
        assert not app.session.log.is_read_only and "written elsewhere, answered" in app.screen_text
    assert locked.read_bytes() == before


async def test_a_session_in_use_can_be_left_alone(home: Path, locked: Path) -> None:
    folder = sorted(locked.parent.iterdir())
    app, _ = started(home, str(locked))
    async with app.run_test(size=(100, 30)) as pilot:
        await asked(app, pilot)
        await pilot.press("escape")
        await pilot.pause()
    assert app.return_code == 0 and sorted(locked.parent.iterdir()) == folder


def test_without_a_user_it_is_an_error_with_remedies(home: Path, locked: Path) -> None:
    with pytest.raises(SessionLocked, match="--fork"):
        assemble_session(CommandLineOptions(session=str(locked), offline=True), paths_of(home), {})


@pytest.mark.parametrize(("key", "is_copy"), [("1", False), ("2", True)])
async def test_a_session_whose_folder_is_gone_goes_on_here(
    key: str, is_copy: bool, home: Path, orphan: Path
) -> None:
    app, _ = started(home, str(orphan))
    async with app.run_test(size=(100, 30)) as pilot:
        await asked(app, pilot)
        assert "~/gone" in app.screen_text
        await pilot.press(key)
        await until(pilot, lambda: (app.session.log.path != orphan) is is_copy)
        assert (app.session.log.path != orphan) is is_copy
        assert "from a folder that is gone, answered" in app.screen_text


async def test_a_session_of_a_newer_bayou_can_be_looked_at(home: Path) -> None:
    path = a_session(home, "from the future")
    path.write_bytes(path.read_bytes().replace(b'"version":3', b'"version":9', 1))
    before = path.read_bytes()
    app, _ = started(home, str(path))
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: "written by a newer bayou" in " ".join(app.screen_text.split()))
        assert "from the future, answered" in app.screen_text and app.session.log.is_read_only
    other = make_app(home, say("hello"), options=CommandLineOptions(offline=True))
    async with other.run_test(size=(100, 30)) as pilot:
        await other.tasks.run_action(other.feature_register.page(RESUME_FEATURE).open(path))
        await until(pilot, lambda: "written by a newer bayou" in " ".join(other.screen_text.split()))
    with pytest.raises(SessionTooNew, match="Update bayou"):
        assemble_session(CommandLineOptions(session=str(path), offline=True), paths_of(home), {})
    assert path.read_bytes() == before


async def test_an_invalid_session_file_is_reported_and_the_session_stays(home: Path) -> None:
    broken = home / "broken.jsonl"
    broken.write_text("nothing like it\n")
    app = make_app(home, say("hello"), options=CommandLineOptions(offline=True))
    async with app.run_test(size=(100, 30)) as pilot:
        where = app.session.log
        await app.tasks.run_action(app.feature_register.page(RESUME_FEATURE).open(broken))
        await pilot.pause()
        assert app.session.log is where and "✗" in app.screen_text and "broken.jsonl" in app.screen_text


async def test_entries_refused_by_a_full_disk_stay_visible_and_are_written_later(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int, data: bytes) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    app = make_app(home, say("an answer"), say("another"), options=CommandLineOptions(offline=True))
    async with app.run_test(size=(100, 30)) as pilot:
        with monkeypatch.context() as disk:
            disk.setattr("app.sessions.file.session_file._write_all", full)
            app.editor.set_text("a long plan")
            await pilot.press("enter")
            await until(pilot, lambda: app.settled_count == 1)
            app.transcript.arriving.flush()
            await pilot.pause()
            assert "no space left on device" in app.screen_text.replace("\n  ", " ")
            assert "an answer" in app.screen_text
            app.editor.set_text("go on")
            await pilot.press("enter")
            await until(
                pilot, lambda: "No requests are sent until then" in app.screen_text.replace("\n  ", " ")
            )
            assert app.settled_count == 1
        await pilot.press("up")
        assert app.editor.text == "go on"
        await pilot.press("enter")
        await until(pilot, lambda: app.settled_count == 2)
        file = app.session.log.path
        assert file is not None
        written = file.read_text()
        assert all(words in written for words in ("a long plan", "an answer", "go on", "another"))


async def test_half_an_answer_is_there_again_after_resuming_from_within(home: Path) -> None:
    path = a_session(home, "a question")
    log = SessionLog.open(path)
    log.append(said("another"))
    partial = PartialAnswerFile(log, interval=0.0)
    partial.write_now(
        AssistantMessage(content=(Text(text="as far as it came"),), stop_reason="pending"), log.leaf_id
    )
    log.close()
    app = make_app(home, say("hello"), options=CommandLineOptions(offline=True))
    async with app.run_test(size=(100, 30)) as pilot:
        await app.tasks.run_action(app.feature_register.page(RESUME_FEATURE).open(path))
        await pilot.pause()
        assert "as far as it came" in app.screen_text
        assert "the part that had arrived is kept" in app.screen_text


async def test_queued_messages_stay_in_their_session_and_drafts_move_along(home: Path) -> None:
    first, second = a_session(home, "first"), a_session(home, "second")
    app = make_app(home, say("hello"), options=CommandLineOptions(session=str(first), offline=True))
    async with app.run_test(size=(100, 30)) as pilot:
        app.editor.set_text("left in first")
        app.prompt.unsent_draft.save()
        app.session.log.close()
    other = make_app(home, say("hello"), options=CommandLineOptions(session=str(second), offline=True))
    async with other.run_test(size=(100, 30)) as pilot:
        other.editor.set_text("written in second")
        await other.tasks.run_action(other.feature_register.page(RESUME_FEATURE).open(first))
        await pilot.pause()
        assert other.editor.text == "written in second\n\nleft in first"


# A session of another folder


@pytest.fixture
def elsewhere(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A session about a folder that is there, beside the one that the person stands in."""
    monkeypatch.chdir(home / "project")  # a session takes the process along, and the test puts it back
    other = home / "elsewhere"
    other.mkdir()
    (other / "AGENTS.md").write_text("Rules of elsewhere.\n")
    return a_session(home, "about elsewhere", other)


async def test_a_session_of_another_folder_is_gone_on_with_there(home: Path, elsewhere: Path) -> None:
    app, _ = started(home, str(elsewhere))
    async with app.run_test(size=(100, 30)) as pilot:
        await asked(app, pilot)
        assert "~/elsewhere" in app.screen_text and "~/project" in app.screen_text
        await pilot.press("1")
        await until(pilot, app.is_ready.is_set)
        assert app.session.cwd == home / "elsewhere" == Path.cwd()
        assert "Rules of elsewhere." in str(app.session.requests.prompt_sections())
        assert app.session.log.path == elsewhere


@pytest.mark.parametrize(("key", "is_copy"), [("2", False), ("3", True)])
async def test_or_here_or_in_a_copy(key: str, is_copy: bool, home: Path, elsewhere: Path) -> None:
    app, _ = started(home, str(elsewhere))
    async with app.run_test(size=(100, 30)) as pilot:
        await asked(app, pilot)
        await pilot.press(key)
        await until(pilot, app.is_ready.is_set)
        assert app.session.cwd == home / "project" == Path.cwd()
        assert "Rules of elsewhere." not in str(app.session.requests.prompt_sections())
        assert (app.session.log.path != elsewhere) is is_copy
        assert app.session.log.cwd == home / ("project" if is_copy else "elsewhere")


@pytest.mark.parametrize(("key", "folder"), [("1", "elsewhere"), ("2", "project"), ("3", "project")])
async def test_resuming_one_from_within_asks_the_same(
    key: str, folder: str, home: Path, elsewhere: Path
) -> None:
    app = make_app(home, say("hello"), options=CommandLineOptions(offline=True))
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, app.is_ready.is_set)
        resuming = asyncio.ensure_future(
            app.tasks.run_action(app.feature_register.page(RESUME_FEATURE).open(elsewhere))
        )
        await asked(app, pilot)
        await pilot.press(key)
        await resuming
        assert app.session.cwd == home / folder == Path.cwd()
        assert ("Rules of elsewhere." in str(app.session.requests.prompt_sections())) is (
            folder == "elsewhere"
        )
        assert app.assembled.session_paths.cwd == home / folder
        await until(pilot, lambda: f"~/{folder}" in app.screen_text)
        assert "about elsewhere, answered" in app.screen_text


async def test_staying_where_one_is_leaves_everything(home: Path, elsewhere: Path) -> None:
    app = make_app(home, say("hello"), options=CommandLineOptions(offline=True))
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, app.is_ready.is_set)
        resuming = asyncio.ensure_future(
            app.tasks.run_action(app.feature_register.page(RESUME_FEATURE).open(elsewhere))
        )
        await asked(app, pilot)
        await pilot.press("escape")
        await resuming
        assert app.session.cwd == home / "project"
        assert app.session.log.path != elsewhere
    SessionLog.open(elsewhere).close()  # it is not locked


@pytest.mark.parametrize(("key", "folder"), [("1", "elsewhere"), ("2", "project")])
async def test_an_imported_session_is_about_the_folder_that_is_chosen(
    key: str, folder: str, home: Path, elsewhere: Path
) -> None:
    app = make_app(home, say("hello"), options=CommandLineOptions(offline=True))
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, app.is_ready.is_set)
        importing = asyncio.ensure_future(
            app.tasks.run_action(
                app.feature_register.page(SESSIONS_FEATURE).import_session_file(str(elsewhere))
            )
        )
        await asked(app, pilot)
        await pilot.press(key)
        await importing
        assert app.session.cwd == app.session.log.cwd == home / folder
        assert app.session.log.path != elsewhere


async def test_what_the_other_folder_brings_along_is_asked_about_on_arrival(
    home: Path, elsewhere: Path
) -> None:
    (home / "elsewhere" / ".bayou").mkdir()
    (home / "elsewhere" / ".bayou" / "settings.json").write_text('{"shellCommandPrefix": "echo mine;"}')
    app, _ = started(home, str(a_session(home, "here")))
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, app.is_ready.is_set)
        resuming = asyncio.ensure_future(
            app.tasks.run_action(app.feature_register.page(RESUME_FEATURE).open(elsewhere))
        )
        await asked(app, pilot)
        await pilot.press("1")
        await resuming
        await until(pilot, lambda: isinstance(app.screen, ProjectTrustScreen))
        assert "~/elsewhere contains" in app.screen_text
        assert not app.assembled.effective_settings.settings.shell.shell_command_prefix
