"""Programs and extensions open other session files; problems of the files are reported."""

from pathlib import Path

import pytest

from app.engine.core.prompt_intake import SessionRequestRefused
from app.engine.tree.tree_commands import switch_session
from app.providers.scripted import say
from app.sessions.errors import SessionError, SessionLocked
from app.sessions.session_log import SessionLog
from app.values.events import Notice
from tests.engine.scripted_session import ScriptedSession
from tests.sessions.make_entries import assistant_entry
from tests.sessions.make_entries import user_entry as said


def a_session(harness: ScriptedSession, cwd: Path) -> Path:
    log = SessionLog.create(harness.folder / "sessions", cwd)
    log.append(said("hello"))
    log.append(assistant_entry("there"))
    log.close()
    assert log.path is not None
    return log.path


async def test_a_session_whose_folder_is_gone_is_refused_with_the_remedies(tmp_path: Path) -> None:
    harness = ScriptedSession(tmp_path, say("x"))
    path, before = a_session(harness, tmp_path / "gone"), harness.session.log
    with pytest.raises(SessionError, match="--fork"):
        await switch_session(harness.session, str(path))
    assert harness.session.log is before
    SessionLog.open(path).close()  # it is not locked


async def test_a_locked_session_is_refused_and_one_stays(tmp_path: Path) -> None:
    harness = ScriptedSession(tmp_path, say("x"))
    path, before = a_session(harness, tmp_path), harness.session.log
    other = SessionLog.open(path)
    with pytest.raises(SessionLocked, match="process"):
        await switch_session(harness.session, str(path))
    assert harness.session.log is before
    other.close()


async def test_a_read_only_session_takes_no_prompt_and_no_model(tmp_path: Path) -> None:
    harness = ScriptedSession(tmp_path, say("x"))
    path = a_session(harness, tmp_path)
    content, model = path.read_bytes(), harness.choice.model
    await harness.session.branches.open_session(SessionLog.open(path, read_only=True), "resume")
    with pytest.raises(SessionRequestRefused, match="read-only"):
        await harness.session.prompt("go on")
    assert model is not None
    with pytest.raises(SessionError, match="read-only"):
        await harness.session.models.use_model(model)
    assert path.read_bytes() == content


async def test_what_was_repaired_is_reported_when_a_session_is_opened_while_running(tmp_path: Path) -> None:
    harness = ScriptedSession(tmp_path, say("x"))
    path = a_session(harness, tmp_path)
    with path.open("ab") as file:
        file.write(b'{"type":"mess')
    await switch_session(harness.session, str(path))
    await harness.session.events.wait_until_delivered()
    told = [event.text for event in harness.events if isinstance(event, Notice)]
    assert any("was incomplete" in text for text in told)


async def test_lines_of_another_program_are_told(tmp_path: Path) -> None:
    harness = ScriptedSession(tmp_path, say("one"), say("two"))
    await harness.session.prompt("hello")
    await harness.session.wait_until_idle()
    path = harness.session.log.path
    assert path is not None
    with path.open("ab") as file:
        file.write(b'{"type":"label","id":"aaaa1111","parentId":null,"targetId":"x","timestamp":""}\n')
    await harness.session.prompt("again")
    await harness.session.wait_until_idle()
    await harness.session.events.wait_until_delivered()
    told = [event.text for event in harness.events if isinstance(event, Notice)]
    assert told == ["Another program added 1 entries to this session; /tree shows them."]
