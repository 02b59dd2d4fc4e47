"""What a program can rely on: each prompt settles once and has its answer, each line that was read is answered."""

import asyncio
import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from bayou.client import RpcClient
from bayou.values import (
    AgentEnd,
    AgentSettled,
    AnswerInterrupted,
    AssistantMessage,
    ContextEditEntry,
    MessageEnd,
    PromptResult,
)
from tests.modes.processes import STAGE, lines_until, put, scripted_client, start
from tests.support.warm_bayou import BAYOU


@pytest.fixture
def rule() -> None:
    """The person's own: no notes are left behind."""
    folder = Path(os.environ["BAYOU_AGENT_DIR"]) / "rules"
    folder.mkdir(parents=True)
    (folder / "no-notes.md").write_text("---\ncondition: FIX[M]E\n---\nLeave no notes behind.")


@pytest.mark.usefixtures("rule")
async def test_a_prompt_whose_answer_breaks_a_rule_settles_once_with_the_answer(tmp_path: Path) -> None:
    async with scripted_client(tmp_path) as client:
        events = await client.prompt_and_wait("Here is a FIX" + "ME for later")
        assert [type(event) for event in events].count(AgentSettled) == 1
        settled = [event for event in events if not isinstance(event, PromptResult)][-1]
        assert isinstance(settled, AgentSettled) and not settled.aborted
        interrupted = next(event for event in events if isinstance(event, AnswerInterrupted))
        assert interrupted.details["rule"] == "no-notes"
        answers = [
            event.message
            for event in events
            if isinstance(event, MessageEnd) and isinstance(event.message, AssistantMessage)
        ]
        assert [answer.stop_reason for answer in answers] == ["aborted", "stop"]
        entries = (await client.get_entries())["entries"]
        left_out = [entry.target_id for entry in entries if isinstance(entry, ContextEditEntry)]
        assert left_out == [interrupted.message_id]
        assert [event.will_retry for event in events if isinstance(event, AgentEnd)] == [True, False]
        assert await client.get_last_assistant_text() == answers[-1].text == "Done."
        later = await client.prompt_and_wait("hello again")
        assert [type(event) for event in later].count(AgentSettled) == 1
        assert await client.get_last_assistant_text() == "hello again"


@pytest.mark.usefixtures("rule")
async def test_print_begins_again_too(tmp_path: Path) -> None:
    from tests.modes.test_print_and_json import bayou

    done = await bayou("-p", "-e", STAGE, "Here is a FIX" + "ME for later", cwd=tmp_path)
    assert (done.code, done.out) == (0, "Done.\n")


LINES = (
    {"type": "prompt", "message": "hang"},
    {"type": "prompt", "message": "/forever"},
    {"type": "bash", "command": "sleep 1000"},
    {"type": "get_state"},
    {"type": "get_tree"},
    {"type": "export_html"},
    {"type": "wait_for_job", "jobId": "job1"},
    {"type": "compact"},
    {"type": "get_messages"},
)


@pytest.mark.parametrize("is_file", [False, True])
async def test_every_line_that_was_read_is_answered_when_the_input_ends(
    tmp_path: Path, is_file: bool
) -> None:
    lines = b"".join(
        json.dumps({"id": str(number), **line}).encode() + b"\n" for number, line in enumerate(LINES)
    )
    file = tmp_path / "lines"
    file.write_bytes(lines)
    with file.open("rb") as given:
        process = await asyncio.create_subprocess_exec(
            *BAYOU, "--mode", "rpc", "-e", STAGE, cwd=tmp_path,
            stdin=given if is_file else asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        out, error = await asyncio.wait_for(process.communicate(None if is_file else lines), 30)
    assert process.returncode == 0, error.decode()
    answers = responses(out)
    assert sorted(answers) == [str(number) for number in range(len(LINES))]
    assert answers["1"]["success"] is False
    assert "this request was not finished" in answers["1"]["error"]
    assert answers["2"]["data"]["cancelled"] is True
    assert answers["3"]["success"] and answers["4"]["success"] and answers["5"]["success"]


async def test_what_is_open_when_a_signal_ends_bayou_is_answered(tmp_path: Path) -> None:
    process = await start(tmp_path, "-e", STAGE)
    put(process, id="1", type="prompt", message="/forever")
    put(process, id="2", type="get_state")
    before = await lines_until(process, id="2")
    process.send_signal(signal.SIGTERM)
    assert process.stdout is not None
    out = await asyncio.wait_for(process.stdout.read(), 30)
    assert await process.wait() == 143
    assert "1" not in [line.get("id") for line in before]
    assert responses(out)["1"]["success"] is False


async def test_the_state_has_the_prompt_and_the_tools_with_their_schemas(tmp_path: Path) -> None:
    async with RpcClient(cwd=tmp_path, arguments=["--tools", "read,bash"]) as client:
        state = await client.get_state()
        tools = {tool.name: tool for tool in state["tools"]}
        assert set(tools) == {"read", "bash"}
        assert tools["read"].parameters["properties"]["path"]["type"] == "string"
        assert tools["read"].description
        assert "Run shell commands" in state["systemPrompt"]
        assert str(tmp_path) in state["systemPrompt"]
        await client.prompt_and_wait("help")
        assert (await client.get_state())["systemPrompt"] == state["systemPrompt"]


def responses(out: bytes) -> dict[str, dict[str, Any]]:
    """By id; an answer that comes twice is a fault."""
    found: dict[str, dict[str, Any]] = {}
    for line in map(json.loads, filter(None, out.split(b"\n"))):
        if line["type"] == "response":
            assert line["id"] not in found
            found[line["id"]] = line
    return found
