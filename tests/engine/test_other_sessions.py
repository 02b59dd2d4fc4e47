"""Going on with other session files, as programs and extensions ask for it: what is not as it should be is told."""

from pathlib import Path

import pytest

from app.engine.core.prompt_intake import RequestRefused
from app.engine.tree.tree_commands import switch_session
from app.providers.scripted import say
from app.sessions.errors import SessionError, SessionLocked
from app.sessions.session_log import SessionLog
from app.values.events import Notice
from tests.engine.stage import Play
from tests.sessions.say import answer
from tests.sessions.say import say as said


def a_session(play: Play, cwd: Path) -> Path:
    log = SessionLog.create(play.folder / "sessions", cwd)
    log.append(said("hello"))
    log.append(answer("there"))
    log.close()
    assert log.path is not None
    return log.path


async def test_a_session_whose_folder_is_gone_is_refused_with_the_remedies(tmp_path: Path) -> None:
    play = Play(tmp_path, say("x"))
    path, before = a_session(play, tmp_path / "gone"), play.session.log
    with pytest.raises(SessionError, match="--fork"):
        await switch_session(play.session, str(path))
    assert play.session.log is before
    SessionLog.open(path).close()  # nobody holds it


async def test_a_locked_session_is_refused_and_one_stays(tmp_path: Path) -> None:
    play = Play(tmp_path, say("x"))
    path, before = a_session(play, tmp_path), play.session.log
    other = SessionLog.open(path)
    with pytest.raises(SessionLocked, match="process"):
        await switch_session(play.session, str(path))
    assert play.session.log is before
    other.close()


async def test_a_read_only_session_takes_no_prompt_and_no_model(tmp_path: Path) -> None:
    play = Play(tmp_path, say("x"))
    path = a_session(play, tmp_path)
    content, model = path.read_bytes(), play.choice.model
    await play.session.branches.open(SessionLog.open(path, read_only=True), "resume")
    with pytest.raises(RequestRefused, match="read-only"):
        await play.session.prompt("go on")
    assert model is not None
    with pytest.raises(SessionError, match="read-only"):
        await play.session.models.use(model)
    assert path.read_bytes() == content


async def test_what_was_repaired_is_told_when_a_session_is_opened_while_running(tmp_path: Path) -> None:
    play = Play(tmp_path, say("x"))
    path = a_session(play, tmp_path)
    with path.open("ab") as file:
        file.write(b'{"type":"mess')
    await switch_session(play.session, str(path))
    await play.session.events.drain()
    told = [event.text for event in play.events if isinstance(event, Notice)]
    assert any("was incomplete" in text for text in told)


async def test_lines_of_another_program_are_told(tmp_path: Path) -> None:
    play = Play(tmp_path, say("one"), say("two"))
    await play.session.prompt("hello")
    await play.session.wait_until_idle()
    path = play.session.log.path
    assert path is not None
    with path.open("ab") as file:
        file.write(b'{"type":"label","id":"aaaa1111","parentId":null,"targetId":"x","timestamp":""}\n')
    await play.session.prompt("again")
    await play.session.wait_until_idle()
    await play.session.events.drain()
    told = [event.text for event in play.events if isinstance(event, Notice)]
    assert told == ["Another program added 1 entries to this session; /tree shows them."]
