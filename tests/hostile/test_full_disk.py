"""The disk is full in the middle of an answer: the answer survives, the reason is shown, work continues later."""

import json
import re
import resource
import shutil
import stat
import sys
from pathlib import Path

import pytest

from app.engine.agent_runner import AgentRunner
from app.engine.models.model_requests import ModelRequests
from app.providers.scripted import say
from app.values.events import MessageEnd, MessageStart, Notice
from tests.engine.scripted_session import ScriptedSession, kinds
from tests.hostile.setups import (
    COLD_BAYOU,
    LIMITED,
    MODEL,
    answer_body,
    run,
    small_disk,
    tool_call_body,
    use_model_at,
)
from tests.modes.processes import COLD_RPC, lines_until, put, start
from tests.providers.loopback import Loopback, Received, Reply, loopback
from tests.support.warm_bayou import BAYOU
from tools.files.private_folders import fallback_temporary_folder

ANSWER = "The answer that must not be lost. " * 400


@pytest.fixture
async def server():
    async with loopback() as running:
        use_model_at(running)
        yield running


def answers_once_full(fill, body: bytes = answer_body(ANSWER)):
    def answer(received: Received) -> Reply:
        fill()
        return Reply(body=body)

    return answer


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def entries_of(folder: Path) -> list[dict]:
    (file,) = folder.glob("**/*.jsonl")
    return [json.loads(line) for line in file.read_text().splitlines()]


def texts(entries: list[dict]) -> list[str]:
    return [
        "".join(part.get("text", "") for part in entry["message"]["content"])
        for entry in entries
        if entry["type"] == "message" and entry["message"]["role"] in ("user", "assistant")
    ]


async def test_an_answer_is_printed_and_the_full_disk_is_named_at_the_end(server: Loopback, tmp_path: Path):
    with small_disk(tmp_path / "disk") as disk:
        server.reply(answers_once_full(disk.fill))
        code, out, err = await run(
            *BAYOU, *MODEL, "--session-dir", str(disk.place), "-p", "Say it", cwd=tmp_path
        )
        assert out.strip() == ANSWER.strip()
        assert code == 1
        assert f"no space left on device (the disk at {disk.place} is full)" in err
    (named,) = re.findall(r"The whole session was saved to (\S+):", err)
    kept = Path(named)
    assert texts(entries_of(kept.parent)) == ["Say it", ANSWER]
    assert [mode_of(path) for path in (kept, kept.parent, kept.parent.parent)] == [0o600, 0o700, 0o700]
    assert kept.parent.parent == fallback_temporary_folder()
    shutil.rmtree(kept.parent)


@pytest.mark.parametrize("mode", ["-p", "--mode=json"])
async def test_the_same_where_files_may_not_grow(server: Loopback, tmp_path: Path, mode: str):
    server.reply(Reply(body=answer_body("x" * 100_000)))
    code, out, err = await run(
        sys.executable, "-c", LIMITED, "40000", *COLD_BAYOU, *MODEL, mode, "Say it", cwd=tmp_path
    )
    assert "x" * 100_000 in out
    assert code == 1
    assert "file too large" in err


async def test_rpc_ends_what_it_began_and_goes_on_when_there_is_room(server: Loopback, tmp_path: Path):
    with small_disk(tmp_path / "disk") as disk:
        server.reply(answers_once_full(disk.fill))
        process = await start(tmp_path, *MODEL, "--session-dir", str(disk.place))
        put(process, type="prompt", message="Say it")
        events = await lines_until(process, type="agent_settled")
        said = [event["message"] for event in events if event["type"] == "message_end"][-1]
        assert said["role"] == "assistant" and said["content"][0]["text"] == ANSWER
        assert [event["type"] for event in events if event["type"] in ("turn_end", "agent_end")] == [
            "turn_end",
            "agent_end",
        ]
        told = [event["text"] for event in events if event["type"] == "notice"]
        assert len(told) == 1 and f"the disk at {disk.place} is full" in told[0]
        put(process, type="prompt", id="again", message="Go on")
        refused = (await lines_until(process, id="again"))[-1]
        assert not refused["success"] and "the disk at" in refused["error"]
        put(process, type="get_messages")
        kept = (await lines_until(process, command="get_messages"))[-1]["data"]["messages"]
        assert kept[-1]["content"][0]["text"] == ANSWER
        disk.make_room()
        server.reply(Reply(body=answer_body("More.")))
        put(process, type="prompt", message="Go on")
        await lines_until(process, type="agent_settled")
        assert texts(entries_of(disk.place)) == ["Say it", ANSWER, "Go on", "More."]
        assert process.stdin is not None
        process.stdin.close()
        assert await process.wait() == 0


async def test_a_limit_on_files_is_no_other_and_can_be_lifted(server: Loopback, tmp_path: Path):
    server.reply(Reply(body=answer_body("x" * 100_000)))
    command = (sys.executable, "-c", LIMITED, "40000", *COLD_RPC)
    process = await start(tmp_path, *MODEL, "--session-dir", str(tmp_path / "here"), command=command)
    put(process, type="prompt", message="Say it")
    await lines_until(process, type="agent_end")
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert process.stdin is not None
    await lines_until(process, type="agent_settled")
    process.stdin.close()
    assert await process.wait() == 0
    assert texts(entries_of(tmp_path / "here")) == ["Say it", "x" * 100_000]


async def test_no_tool_runs_once_nothing_can_be_recorded(server: Loopback, tmp_path: Path):
    with small_disk(tmp_path / "disk") as disk:
        server.reply(
            answers_once_full(disk.fill, tool_call_body("bash", command="touch it-ran # " + "x" * 9000))
        )
        code, _, err = await run(
            *BAYOU, *MODEL, "--session-dir", str(disk.place), "-p", "Do it", cwd=tmp_path
        )
    assert code == 1 and "is full" in err
    assert not (tmp_path / "it-ran").exists()
    assert len(server.requests) == 1


async def test_a_full_disk_from_the_beginning_costs_no_answer_either(server: Loopback, tmp_path: Path):
    with small_disk(tmp_path / "disk") as disk:
        disk.fill()
        server.reply(Reply(body=answer_body(ANSWER)))
        code, out, err = await run(
            *BAYOU, *MODEL, "--session-dir", str(disk.place / "s"), "-p", "Say it", cwd=tmp_path
        )
    assert out.strip() == ANSWER.strip()
    assert code == 1 and "is full" in err


@pytest.mark.parametrize("mode", ["-p", "--mode=json"])
async def test_standard_output_on_a_full_disk_is_reported(server: Loopback, tmp_path: Path, mode: str):
    server.reply(Reply(body=answer_body(ANSWER)))
    with Path("/dev/full").open("wb") as full:  # noqa: ASYNC230  (a device)
        code, _, err = await run(*BAYOU, *MODEL, mode, "Say it", cwd=tmp_path, stdout=full)
    assert code == 1
    assert "standard output" in err.lower() and "no space left on device" in err.lower()


@pytest.mark.parametrize(
    ("owner", "part"), [(AgentRunner, "_reset_retries"), (ModelRequests, "handle_event")]
)
async def test_after_any_failure_every_started_event_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, owner: type, part: str
):
    """Faults of bayou's own, wherever a run may have one."""

    def broken(*_: object) -> None:
        raise RuntimeError("a fault of our own")

    harness = ScriptedSession(tmp_path, say("an answer"))
    monkeypatch.setattr(owner, part, broken)
    await harness.prompt("go")
    assert len(harness.all(MessageStart)) == len(harness.all(MessageEnd))
    assert kinds(harness.events)[-2:] == ["agent_end", "agent_settled"]
    assert [notice.text for notice in harness.all(Notice)] == [
        "The run ended early: RuntimeError: a fault of our own. Finished work is kept; send a prompt to continue."
    ]
