"""Print and JSON mode end when everything is answered: what goes on in the background is waited for, and told."""

import asyncio
import os
from pathlib import Path

from tests.modes.test_print_and_json import bayou
from tests.support.warm_bayou import BAYOU

JOBS = str(Path(__file__).parent / "extensions" / "jobs.py")


async def test_print_waits_for_a_job_and_the_agent_hears_of_its_end(tmp_path: Path) -> None:
    done = await bayou("-p", "-e", JOBS, "sleep 0.3; echo built > built; echo 42", cwd=tmp_path)
    assert done.code == 0
    assert (
        done.out == "Heard: Background job1 (sleep 0.3; echo built > built; echo 42) has ended: done.\n\n42\n"
    )
    assert done.err == "bayou: Waiting for background job1: sleep 0.3; echo built > built; echo 42\n"
    assert (tmp_path / "built").read_text() == "built\n"


async def test_json_waits_too_and_every_run_settles_once(tmp_path: Path) -> None:
    done = await bayou("--mode", "json", "-e", JOBS, "sleep 0.3; echo 42", cwd=tmp_path)
    kinds = [line["type"] for line in done.lines]
    states = [line["state"] for line in done.lines if line["type"] == "job_changed"]
    assert (done.code, states) == (0, ["running", "done", "delivered"])
    assert kinds.count("agent_start") == kinds.count("agent_settled") == 2
    assert kinds[-1] == "agent_settled"


async def test_a_prompt_behind_one_with_a_job_is_answered_and_the_job_waited_for(tmp_path: Path) -> None:
    done = await bayou("--mode", "json", "-e", JOBS, "sleep 0.3; echo 42", "then this", cwd=tmp_path)
    said = [
        line["message"]["content"][0]["text"]
        for line in done.lines
        if line["type"] == "message_end" and line["message"]["role"] == "assistant"
        if line["message"]["stopReason"] == "stop"
    ]
    assert [text.split(" ")[0] for text in said] == ["I", "then", "Heard:"]


async def test_what_never_ends_by_itself_can_be_ended_with_what_the_model_is_reported(tmp_path: Path) -> None:
    done = await bayou("-p", "-e", JOBS, "sleep 1000 and end it", cwd=tmp_path)
    assert done.code == 0
    assert "Heard: Background job1 (sleep 1000) has ended: failed." in done.out


async def test_where_a_session_goes_on_nothing_is_said_of_its_end(tmp_path: Path) -> None:
    from bayou.client import RpcClient

    async with RpcClient(cwd=tmp_path, arguments=["-e", JOBS]) as client:
        await client.prompt_and_wait("sleep 1000")
        text = await client.get_last_assistant_text()
        assert text is not None and "cannot end before" not in text


async def test_a_signal_ends_the_waiting_and_the_job(tmp_path: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        *BAYOU, "-p", "-e", JOBS, "echo $$ > number; exec sleep 1000",
        cwd=tmp_path, stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert process.stderr is not None
    await asyncio.wait_for(process.stderr.readuntil(b"exec sleep 1000\n"), 30)
    process.terminate()
    assert await asyncio.wait_for(process.wait(), 30) == 143
    number = int((tmp_path / "number").read_text())
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return
    raise AssertionError(f"{number} still runs")
