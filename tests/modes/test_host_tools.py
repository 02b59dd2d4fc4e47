"""Tools that the client carries out: told of, called, reported on, failed, cancelled, and gone with the client."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from bayou.client import RpcClient
from bayou.values import Event, SystemMessage, ToolExecutionEnd, ToolExecutionUpdate, text_of
from tests.modes.processes import STAGE, lines_until, put, scripted_client, start

WEATHER = {
    "name": "weather",
    "description": "The weather",
    "parameters": {"type": "object", "properties": {}},
}


@pytest.fixture
async def bayou(tmp_path: Path) -> AsyncIterator[RpcClient]:
    async with scripted_client(tmp_path) as client:
        yield client


def ended(events: list[Event]) -> ToolExecutionEnd:
    [end] = [event for event in events if isinstance(event, ToolExecutionEnd)]
    return end


async def test_a_call_is_carried_out_and_its_news_are_passed_on(bayou: RpcClient) -> None:
    async def sunny(arguments: Mapping[str, Any], tell: Any) -> Any:
        await tell("asking the window")
        await tell({"content": [{"type": "text", "text": "the window opens"}], "details": {"far": 2}})
        return {"content": [{"type": "text", "text": "sunny"}], "details": {"degrees": 21}}

    assert await bayou.set_host_tools([WEATHER], {"weather": sunny}) == ["weather"]
    events = await bayou.prompt_and_wait("call weather")
    news = [event.partial_result for event in events if isinstance(event, ToolExecutionUpdate)]
    assert text_of(news[-1].content) == "the window opens"  # each replaces the one before
    assert news[-1].details == {"far": 2}
    end = ended(events)
    assert (text_of(end.result.content), end.result.details, end.is_error) == (
        "sunny",
        {"degrees": 21},
        False,
    )
    [system] = [message for message in await bayou.get_messages() if isinstance(message, SystemMessage)]
    assert "weather" in [tool.name for tool in system.tools_added or ()]


async def test_a_failure_is_the_tools_error(bayou: RpcClient) -> None:
    async def broken(arguments: Mapping[str, Any], tell: Any) -> str:
        raise RuntimeError("The window is stuck.")

    await bayou.set_host_tools([WEATHER], {"weather": broken})
    end = ended(await bayou.prompt_and_wait("call weather"))
    assert (end.is_error, text_of(end.result.content)) == (True, "The window is stuck.")


async def test_an_abort_cancels_the_call_at_the_client(bayou: RpcClient) -> None:
    begun, cancelled = asyncio.Event(), asyncio.Event()

    async def slow(arguments: Mapping[str, Any], tell: Any) -> str:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        return ""

    await bayou.set_host_tools([WEATHER], {"weather": slow})
    await bayou.prompt("call weather")
    await asyncio.wait_for(begun.wait(), 20)
    await bayou.abort()
    await asyncio.wait_for(cancelled.wait(), 20)
    assert (await bayou.get_state())["isStreaming"] is False


async def test_a_new_set_replaces_the_old_one_and_uncovers_what_it_covered(
    bayou: RpcClient, tmp_path: Path
) -> None:
    (tmp_path / "a.py").write_text("x = 41\n")

    async def mine(arguments: Mapping[str, Any], tell: Any) -> str:
        return "mine"

    await bayou.set_host_tools([{**WEATHER, "name": "ls"}], {"ls": mine})
    assert text_of(ended(await bayou.prompt_and_wait("call ls")).result.content) == "mine"
    assert await bayou.set_host_tools([WEATHER], {"weather": mine}) == ["weather"]
    assert "a.py" in text_of(ended(await bayou.prompt_and_wait("call ls")).result.content)
    assert await bayou.set_host_tools([], {}) == []
    assert ended(await bayou.prompt_and_wait("call weather")).is_error


async def test_the_frames_as_they_are_on_the_wire(tmp_path: Path) -> None:
    process = await start(tmp_path, "-e", STAGE)
    put(process, type="set_host_tools", tools=[WEATHER], id="t")
    put(process, type="prompt", message="call weather", id="p")
    called = (await lines_until(process, type="host_tool_call"))[-1]
    assert called == {
        "type": "host_tool_call", "id": called["id"], "toolCallId": "call_1_0", "toolName": "weather", "arguments": {},
    }  # fmt: skip
    put(
        process,
        type="host_tool_update",
        id=called["id"],
        partialResult={"content": [{"type": "text", "text": "…"}]},
    )
    await lines_until(process, type="tool_execution_update")
    put(process, type="host_tool_result", id=called["id"], result={"content": []}, isError=True)
    end = (await lines_until(process, type="tool_execution_end"))[-1]
    assert end["isError"] and end["result"]["content"][0]["text"] == "Host tool execution failed"
    await lines_until(process, type="agent_settled")
    put(process, type="prompt", message="call weather", id="q")
    again = (await lines_until(process, type="host_tool_call"))[-1]
    put(process, type="abort", id="a")
    cancelled = (await lines_until(process, type="host_tool_cancel"))[-1]
    assert (cancelled["targetId"], cancelled["id"] != again["id"]) == (again["id"], True)
    put(process, type="prompt", message="call weather", id="r")
    await lines_until(process, id="r", success=True)
    await lines_until(process, type="host_tool_call")
    out, _ = await process.communicate(b"")  # the client goes with a call open
    last = {line["type"]: line for line in map(json.loads, out.splitlines()[-2:])}
    assert last["agent_settled"] == {"type": "agent_settled", "aborted": True}
    assert last["prompt_result"]["status"] == "aborted"
    assert process.returncode == 0
