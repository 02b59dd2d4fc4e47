"""Going on with a file that cannot simply be opened, from within a session."""

import fcntl
from pathlib import Path

import pytest

from app.engine.tree.session_paths import SessionPaths
from app.sessions.session_log import SessionLog
from app.tui.features.sessions.session_opener import SessionOpener
from tests.engine.scripted_session import ScriptedSession
from tests.tui.pages.person import Person, at_the_keyboard
from tests.tui.pages.test_sessions_page import a_session


def resuming(harness: ScriptedSession, person: Person) -> SessionOpener:
    async def enter(folder: Path) -> None:
        raise AssertionError("only the start enters a folder by itself")

    return SessionOpener(
        harness.session, harness.places, person.ask, person.say, enter_folder=enter, home=harness.folder
    )


async def test_a_file_that_can_be_opened_is_gone_on_with_at_once(tmp_path: Path) -> None:
    path = a_session(tmp_path, "a plan for Monday")
    harness = ScriptedSession(tmp_path)
    async with at_the_keyboard() as person:
        await resuming(harness, person).open(path)
        assert harness.session.log.path == path and person.heard == []


@pytest.mark.parametrize(("key", "is_read"), [("1", True), ("2", False)])
async def test_what_another_process_writes_is_read_or_copied(tmp_path: Path, key: str, is_read: bool) -> None:
    path = a_session(tmp_path, "written elsewhere")
    harness = ScriptedSession(tmp_path)
    with path.open("ab") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        async with at_the_keyboard() as person, person.asked(resuming(harness, person).open(path)):
            await person.sees_soon("This session is open elsewhere", "~/sessions")
            await person.press(key)
        assert harness.session.state.is_read_only is is_read
        assert (harness.session.log.path == path) is is_read
        assert "written elsewhere" in str(harness.session.messages)


@pytest.mark.parametrize(("key", "is_copy"), [("1", False), ("2", True)])
async def test_where_the_folder_is_gone_one_goes_on_here(tmp_path: Path, key: str, is_copy: bool) -> None:
    places = SessionPaths(default_root=tmp_path / "sessions", cwd=tmp_path / "gone")
    path = a_session(tmp_path, "from a folder that is gone", places.cwd)
    harness = ScriptedSession(tmp_path)
    async with at_the_keyboard() as person, person.asked(resuming(harness, person).open(path)):
        await person.sees_soon("The folder of this session does not exist", "~/gone")
        await person.press(key)
    assert (harness.session.log.path != path) is is_copy


@pytest.mark.parametrize(("key", "is_asked_where"), [("1", True), ("2", False)])
async def test_a_copy_of_another_folders_file_goes_on_there_or_here(
    tmp_path: Path, key: str, is_asked_where: bool
) -> None:
    (tmp_path / "harbour").mkdir()
    path = a_session(tmp_path, "of another folder", tmp_path / "harbour")
    harness = ScriptedSession(tmp_path)
    async with at_the_keyboard() as person, person.asked(resuming(harness, person).continue_copy(path)):
        await person.sees_soon("This session belongs to another folder", "~/harbour")
        await person.press(key)
    log = harness.session.log
    assert log.path not in (None, path) and "of another folder" in str(harness.session.messages)
    assert log.cwd == (tmp_path / "harbour" if is_asked_where else tmp_path)


async def test_escape_stays_where_one_was_and_holds_nothing(tmp_path: Path) -> None:
    path = a_session(tmp_path, "from a folder that is gone", tmp_path / "gone")
    harness = ScriptedSession(tmp_path)
    where = harness.session.log
    async with at_the_keyboard() as person, person.asked(resuming(harness, person).open(path)):
        await person.press("escape")
    assert harness.session.log is where
    SessionLog.open(path).close()


async def test_escape_leaves_alone_what_another_process_writes(tmp_path: Path) -> None:
    path = a_session(tmp_path, "written elsewhere")
    harness = ScriptedSession(tmp_path)
    where = harness.session.log
    with path.open("ab") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        async with at_the_keyboard() as person, person.asked(resuming(harness, person).open(path)):
            await person.press("escape")
    assert harness.session.log is where and len(list(path.parent.glob("*.jsonl"))) == 1
