"""A clock that is set while bayou runs, back and forward: how long something took, when it is tried again, which
session is the last one and whether a token still holds do not follow it.
"""

import json
import os
import sys
import time
from email.utils import formatdate
from pathlib import Path
from typing import Any

import msgspec
import pytest

from app.engine.tree.tree_commands import get_tree
from app.providers import scripted
from app.providers.adapters import google_identity
from app.providers.credentials import Credentials
from app.providers.errors import read_retry_after_ms
from app.sessions.session_library import latest_session, list_sessions, session_folder_of_project
from app.sessions.session_log import SessionLog
from app.values.codec import encode
from tests.engine.scripted_session import ScriptedSession
from tests.hostile.setups import MODEL, answer_body, run, tool_call_body, use_model_at, write_user_settings
from tests.providers.loopback import Received, Reply, loopback
from tests.providers.test_signin import json_reply, pkce
from tests.sessions.make_entries import assistant_entry, user_entry

DAY = 86_400
JUMPS = [-DAY, DAY, -20 * 365 * DAY, 50 * 365 * DAY]
UNDER_A_CLOCK = """
import datetime, os, runpy, sys, time
real, real_ns, plain = time.time, time.time_ns, datetime.datetime
def shift():
    try:
        return int(open(os.environ["CLOCK"]).read())
    except (OSError, ValueError):
        return 0
time.time = lambda: real() + shift()
time.time_ns = lambda: real_ns() + shift() * 10**9
class Moment(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return plain.fromtimestamp(time.time(), tz)
datetime.datetime = Moment
runpy.run_module("app", run_name="__main__", alter_sys=True)
"""
"""bayou, with a wall clock that a file shifts by so many seconds. Clocks that cannot be set go on."""
PROGRAM = (sys.executable, "-P", "-c", UNDER_A_CLOCK)


@pytest.fixture
def clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = tmp_path / "clock"
    monkeypatch.setenv("CLOCK", str(file))
    return file


def lines(out: str, kind: str) -> list[dict[str, Any]]:
    return [line for line in map(json.loads, out.splitlines()) if line["type"] == kind]


@pytest.mark.parametrize("jump", JUMPS)
async def test_a_run_goes_on_as_if_the_clock_had_not_been_set(tmp_path: Path, clock: Path, jump: int):
    def setting_the_clock(seconds: int, reply: Reply):
        async def made(received: Received) -> Reply:
            clock.write_text(str(seconds))
            return reply

        return made

    async with loopback() as server:
        use_model_at(server)
        write_user_settings(retry={"enabled": True, "baseDelayMs": 50})
        server.reply(
            setting_the_clock(jump, Reply(status=503, headers={"retry-after-ms": "300"})),
            setting_the_clock(
                0, Reply(body=tool_call_body("bash", command=f"sleep 0.3; echo {jump} > '{clock}'"))
            ),
            Reply(body=answer_body("done")),
        )
        sessions = ("--session-dir", str(tmp_path / "s"))
        begun = time.monotonic()
        code, out, err = await run(*PROGRAM, *MODEL, *sessions, "--mode", "json", "go", cwd=tmp_path)
        took = time.monotonic() - begun
        assert code == 0, err
        (retry,) = lines(out, "auto_retry_start")
        assert retry["delayMs"] == 300 and took < 20
        durations = [line["message"].get("durationMs") for line in lines(out, "message_end")]
        assert all(0 <= duration <= took * 1000 for duration in durations if duration is not None)
        assert sum(duration is not None for duration in durations) >= 2
        (result,) = (line for line in lines(out, "tool_execution_end"))
        assert 0 <= result["result"]["details"]["seconds"] <= took
        clock.write_text("0")
        server.reply(Reply(body=answer_body("again")))
        code, out, err = await run(*PROGRAM, *MODEL, *sessions, "--continue", "-p", "more", cwd=tmp_path)
        assert (code, out, err) == (0, "again\n", "")
        messages = server.requests[-1].json["messages"]
        said = json.dumps([message for message in messages if message["role"] != "system"])
        assert said.index("go") < said.index("done") < said.index("more")
    (file,) = (tmp_path / "s").glob("*.jsonl")
    entries = [json.loads(line) for line in file.read_text().splitlines()][1:]
    stamps = [entry["message"]["timestamp"] for entry in entries if entry["type"] == "message"]
    assert max(stamps) - min(stamps) > DAY * 900, "the clock was set"
    assert [entry["parentId"] for entry in entries[1:]] == [entry["id"] for entry in entries[:-1]]


def a_session(root: Path, cwd: Path, words: str, written: float) -> Path:
    log = SessionLog.create(session_folder_of_project(root, cwd), cwd)
    log.append(user_entry(words))
    log.append(assistant_entry("yes"))
    log.close()
    assert log.path is not None
    milliseconds = str(round(written * 1000))
    text = log.path.read_text()
    for line in text.splitlines()[1:]:
        stamp = str(json.loads(line)["message"]["timestamp"])
        text = text.replace(stamp, milliseconds)
    log.path.write_text(text)
    os.utime(log.path, (written, written))
    return log.path


def test_a_session_of_the_future_is_not_the_last_one(tmp_path: Path):
    """It was written before the clock was set back."""
    now = time.time()
    a_session(tmp_path / "s", tmp_path, "tomorrow", now + DAY)
    last = a_session(tmp_path / "s", tmp_path, "now", now)
    a_session(tmp_path / "s", tmp_path, "yesterday", now - DAY)
    assert latest_session(session_folder_of_project(tmp_path / "s", tmp_path)) == last
    listed = [one.first_prompt for one in list_sessions(tmp_path / "s", tmp_path)]
    assert listed == ["now", "yesterday", "tomorrow"]


def test_where_all_sessions_are_of_the_future_the_last_of_them_is_it(tmp_path: Path):
    """A machine that begins with 1970 and knows no better yet."""
    now = time.time()
    a_session(tmp_path / "s", tmp_path, "first", now + DAY)
    last = a_session(tmp_path / "s", tmp_path, "second", now + 2 * DAY)
    assert latest_session(session_folder_of_project(tmp_path / "s", tmp_path)) == last


@pytest.mark.parametrize("off", [-DAY, 0, DAY])
def test_a_date_to_try_again_is_reckoned_by_the_servers_clock(off: int):
    now = time.time() + off
    headers = {"date": formatdate(now, usegmt=True), "retry-after": formatdate(now + 30, usegmt=True)}
    assert read_retry_after_ms(headers) == 30_000
    assert (
        read_retry_after_ms({"retry-after": formatdate(now - 30, usegmt=True), "date": headers["date"]}) == 0
    )


async def test_a_token_that_a_clock_keeps_alive_is_fresh_after_the_server_refused_it(tmp_path: Path):
    """The sign-in was made while the clock was years ahead."""
    entry = {
        "type": "oauth",
        "access": "old",
        "refresh": "r-1",
        "expires": (time.time() + 9 * 365 * DAY) * 1000,
    }
    (tmp_path / "auth.json").write_text(json.dumps({"test": entry}))
    async with loopback() as server:
        server.reply(json_reply({"access_token": "new", "expires_in": 3600}))
        credentials = Credentials(tmp_path, {}, sign_ins={"test": pkce(server)})
        held = await credentials.resolve_credential("test")
        assert held is not None and held.key == "old"
        await credentials.mark_token_refused("test", held)
        another = Credentials(tmp_path, {}, sign_ins={"test": pkce(server)})
        found = await another.resolve_credential("test")
        assert found is not None and found.key == "new"
        await another.mark_token_refused(
            "test", held
        )  # told late: the one that was refused is not the one there is
        assert (await another.resolve_credential("test")) == found
        assert len(server.requests) == 1


async def test_an_answer_of_401_makes_the_next_request_ask_for_a_fresh_token(tmp_path: Path):
    async with loopback() as server:
        folder = Path(os.environ["BAYOU_AGENT_DIR"])
        use_model_at(server, apiKey=None)
        write_user_settings(retry={"enabled": False})
        entry = {"type": "oauth", "access": "old", "refresh": "r", "expires": (time.time() + DAY) * 1000}
        (folder / "auth.json").write_text(json.dumps({"mine": entry}))
        (folder / "auth.json").chmod(0o600)
        server.reply(Reply(status=401, headers={}))
        code, _, _ = await run(sys.executable, "-P", "-m", "app", *MODEL, "-p", "hi", cwd=tmp_path)
        assert code == 6 and server.requests[0].headers["authorization"] == "Bearer old"
        assert json.loads((folder / "auth.json").read_text())["mine"]["expires"] == 0


async def test_a_token_of_google_ends_by_whichever_clock_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    wall, machine, asked = [1e9], [1e3], []
    file = tmp_path / "adc.json"
    file.write_text("{}")
    monkeypatch.setattr(google_identity.time, "time", lambda: wall[0])
    monkeypatch.setattr(google_identity.time, "monotonic", lambda: machine[0])
    monkeypatch.setattr(
        google_identity, "_fetch_access_token", lambda path: (asked.append(path) or f"t{len(asked)}", 3600.0)
    )
    env = {"GOOGLE_APPLICATION_CREDENTIALS": str(file)}
    assert await google_identity.google_access_token(env) == "t1"
    wall[0], machine[0] = wall[0] - DAY, machine[0] + 60
    assert await google_identity.google_access_token(env) == "t1"
    machine[0] += 3600
    assert await google_identity.google_access_token(env) == "t2"
    wall[0] += 2 * DAY
    assert await google_identity.google_access_token(env) == "t3"


async def test_the_tree_keeps_the_order_in_which_it_was_written(tmp_path: Path):
    harness = ScriptedSession(tmp_path, scripted.say("one"))
    await harness.prompt("first")
    log = harness.session.log
    root = log.entries[0].id
    for words, stamp in (("written first", "2030"), ("written last", "2020")):
        log.move_leaf(root)
        log.append(msgspec.structs.replace(user_entry(words), timestamp=f"{stamp}-01-01T00:00:00.000Z"))
    (top,) = json.loads(encode(await get_tree(harness.session)))["tree"]
    told = json.dumps(top["children"])
    assert told.index("written first") < told.index("written last")
