"""The real process over pipes: every command answers, every fault gets words, and the process stays alive."""

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

import pytest

from app.resources.settings.settings_file import write_setting_to_file
from bayou.client import RpcClient, RpcError
from bayou.values import (
    AgentSettled,
    AssistantMessage,
    CompactionSummaryMessage,
    CustomMessage,
    MessageEnd,
    MessageUpdate,
    PromptResult,
    ToolExecutionEnd,
    ToolResultMessage,
    UserMessage,
    text_of,
)
from tests.support.warm_bayou import BAYOU

FAST = {"BAYOU_OFFLINE_PACE": "0"}


@pytest.fixture
async def bayou(tmp_path: Path) -> AsyncIterator[RpcClient]:
    (tmp_path / "a.py").write_text("print('hello')\n")
    async with RpcClient(cwd=tmp_path, env={**os.environ, **FAST}) as client:
        yield client


async def raw(*lines: bytes, cwd: Path) -> list[dict[str, Any]]:
    """Writes lines, closes the input, returns everything that came back."""
    process = await asyncio.create_subprocess_exec(
        *BAYOU, "--mode", "rpc",
        cwd=cwd, env={**os.environ, **FAST},
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    out, error = await asyncio.wait_for(process.communicate(b"\n".join(lines) + b"\n"), 30)
    assert process.returncode == 0, error.decode()
    return [json.loads(line) for line in out.split(b"\n") if line]


async def test_a_prompt_is_answered_with_real_tools(bayou: RpcClient) -> None:
    events = await bayou.prompt_and_wait("read a.py")
    assert isinstance([event for event in events if not isinstance(event, PromptResult)][-1], AgentSettled)
    ended = [event for event in events if isinstance(event, ToolExecutionEnd)]
    assert [event.tool_name for event in ended] == ["read"]
    messages = await bayou.get_messages()
    results = [message for message in messages if isinstance(message, ToolResultMessage)]
    assert "print('hello')" in text_of(results[0].content)
    assert isinstance(messages[-1], AssistantMessage)
    assert await bayou.get_last_assistant_text() == messages[-1].text


async def test_what_is_wrong_with_the_settings_is_told_at_the_start_and_when_they_change(
    tmp_path: Path,
) -> None:
    file = Path(os.environ["BAYOU_AGENT_DIR"]) / "settings.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    rule = {"pattern": "(", "tool": "bash", "message": "never"}
    file.write_text(json.dumps({"bash": {"interceptor": {"rules": [rule]}}}))
    heard: list[str] = []
    async with RpcClient(cwd=tmp_path, env={**os.environ, **FAST}) as client:
        client.on_event(
            lambda data: heard.append(str(data.get("text"))) if data["type"] == "notice" else None
        )
        await client.get_state()
        file.write_text(json.dumps({"bash": {"interceptor": {"rules": [rule, {**rule, "pattern": "["}]}}}))
        await client.prompt_and_wait("hello")
    assert sum("the pattern of rule 1 is not a valid regular expression" in text for text in heard) == 2
    assert sum("the pattern of rule 2 is not a valid regular expression" in text for text in heard) == 1


async def test_maps_of_large_files_are_messages_behind_the_results_in_call_order(
    bayou: RpcClient, tmp_path: Path
) -> None:
    for name in "xy":
        text = "".join(f"def {name}_{number}(a):\n    return a\n\n\n" for number in range(900))
        (tmp_path / f"{name}.py").write_text(text)
    events = await bayou.prompt_and_wait("read x.py\nread y.py")
    ended = [event.message for event in events if isinstance(event, MessageEnd)]
    turn = [message for message in ended if isinstance(message, ToolResultMessage | CustomMessage)]
    assert [type(message) for message in turn] == [ToolResultMessage] * 2 + [CustomMessage] * 2
    maps = [message for message in turn if isinstance(message, CustomMessage)]
    details = [cast(Any, message.details) for message in maps]
    assert [message.custom_type for message in maps] == ["file-map"] * 2
    assert [Path(detail["filePath"]).name for detail in details] == ["x.py", "y.py"]
    assert all(detail["symbolCount"] == 900 and detail["parser"] == "tree-sitter" for detail in details)
    assert "function y_523" in text_of(maps[1].content)
    kept = [message for message in await bayou.get_messages() if isinstance(message, CustomMessage)]
    assert [message.content for message in kept] == [message.content for message in maps]


async def test_updates_carry_deltas_that_add_up(bayou: RpcClient) -> None:
    events = await bayou.prompt_and_wait("help")
    text = "".join(
        event.assistant_message_event.delta  # pyright: ignore[reportAttributeAccessIssue]  (a delta by its kind)
        for event in events
        if isinstance(event, MessageUpdate) and type(event.assistant_message_event).__name__ == "TextDelta"
    )
    assert text == await bayou.get_last_assistant_text()


async def test_state_says_what_the_session_is_set_to(bayou: RpcClient) -> None:
    state = await bayou.get_state()
    assert state["isStreaming"] is False
    assert state["steeringMode"] == "one-at-a-time"
    model = state.get("model")
    assert model is not None and model.provider == "offline"
    assert Path(state.get("sessionFile", "")).name.endswith(".jsonl")


async def test_forks_clones_and_trees(bayou: RpcClient) -> None:
    await bayou.prompt_and_wait("help")
    await bayou.prompt_and_wait("list")
    first, second = await bayou.get_fork_messages()
    assert (first["text"], second["text"]) == ("help", "list")
    before = (await bayou.get_state()).get("sessionFile")
    assert await bayou.fork(second["entryId"]) == {"text": "list", "cancelled": False}
    assert (await bayou.get_state()).get("sessionFile") != before
    assert await bayou.clone() == {"cancelled": False}
    tree = await bayou.get_tree()
    assert tree["leafId"]
    entries = await bayou.get_entries()
    later = await bayou.get_entries(entries["entries"][0].id)
    assert len(later["entries"]) == len(entries["entries"]) - 1
    with pytest.raises(RpcError, match="Entry not found: nope"):
        await bayou.get_entries("nope")
    with pytest.raises(RpcError, match="Invalid entry ID for forking"):
        await bayou.fork("nope")


async def test_the_tree_can_be_walked_and_labelled(bayou: RpcClient) -> None:
    await bayou.prompt_and_wait("help")
    entry = (await bayou.get_fork_messages())[0]["entryId"]
    await bayou.set_label(entry, "start")
    assert (await bayou.navigate_tree(entry)).get("editorText") == "help"
    assert not any(isinstance(message, UserMessage) for message in await bayou.get_messages())


async def test_a_branch_is_left_with_a_summary_and_another_is_merged(bayou: RpcClient) -> None:
    await bayou.prompt_and_wait("help")
    await bayou.prompt_and_wait("list")
    second = (await bayou.get_fork_messages())[1]["entryId"]
    left = (await bayou.get_entries())["leafId"]
    assert left is not None
    assert "summaryEntry" not in await bayou.navigate_tree(second)
    merged = await bayou.merge_branch(left, custom_instructions="Only files.")
    assert "summaryEntry" in merged and merged["summaryEntry"].from_id == left
    await bayou.navigate_tree(left)
    arrived = await bayou.navigate_tree(second, summarize=True, label="left")
    assert arrived.get("editorText") == "list"
    assert "summaryEntry" in arrived
    entry = arrived["summaryEntry"]
    assert entry.from_id == left and entry.from_hook is False
    assert set(entry.details) == {"readFiles", "modifiedFiles"}


async def test_a_compaction_is_taken_back(tmp_path: Path, own_home: Path) -> None:
    settings = own_home / ".bayou" / "agent" / "settings.json"
    settings.parent.mkdir(parents=True)
    settings.write_text('{"compaction": {"keepRecentTokens": 100}}')
    async with RpcClient(cwd=tmp_path, env={**os.environ, **FAST}) as bayou:
        for _ in range(3):
            await bayou.prompt_and_wait("help")
        before = [(type(message), message.timestamp) for message in (await bayou.get_messages())[1:]]
        await bayou.compact()
        assert any(isinstance(message, CompactionSummaryMessage) for message in await bayou.get_messages())
        assert not (await bayou.undo_compaction()).get("cancelled")
        assert [(type(message), message.timestamp) for message in (await bayou.get_messages())[1:]] == before
        with pytest.raises(RpcError, match="full history is already there"):
            await bayou.undo_compaction()


async def test_models_levels_names_and_counts(bayou: RpcClient) -> None:
    assert await bayou.cycle_model() is None
    assert "off" in await bayou.get_available_thinking_levels()
    await bayou.set_thinking_level("low")
    await bayou.set_session_name("  a\nname ")
    assert (await bayou.get_state()).get("sessionName") == "a name"
    with pytest.raises(RpcError, match="Session name cannot be empty"):
        await bayou.set_session_name(" ")
    with pytest.raises(RpcError, match="Model not found: nobody/nothing"):
        await bayou.set_model("nobody", "nothing")
    await bayou.prompt_and_wait("help")
    stats = await bayou.get_session_stats()
    assert stats["userMessages"] == 1
    assert stats["assistantMessages"] == 1


async def test_the_persons_commands(bayou: RpcClient) -> None:
    done = await bayou.bash("echo out; exit 3")
    assert (done["output"].strip(), done.get("exitCode"), done["cancelled"]) == ("out", 3, False)
    messages = await bayou.get_messages()
    assert messages[-1].__class__.__name__ == "BashExecutionMessage"


async def test_compaction_of_next_to_nothing_is_refused_in_pis_words(bayou: RpcClient) -> None:
    with pytest.raises(RpcError, match="Nothing to compact"):
        await bayou.compact()


async def test_abort_gets_through_while_a_command_runs(bayou: RpcClient) -> None:
    started = asyncio.Event()
    bayou.on_event(lambda data: started.set() if data["type"] == "tool_execution_start" else None)
    await bayou.prompt("run sleep 60")
    await asyncio.wait_for(started.wait(), 20)
    await asyncio.wait_for(bayou.abort(), 10)
    assert (await bayou.get_state())["isStreaming"] is False


async def test_a_thousand_questions_at_once_are_all_answered(bayou: RpcClient) -> None:
    states = await asyncio.gather(*(bayou.get_state() for _ in range(1000)))
    assert len({state["sessionId"] for state in states}) == 1


@pytest.mark.parametrize(
    ("line", "command", "error"),
    [
        (b"{nope", "parse", "Failed to parse command: "),
        (b'{"type":"frobnicate","id":"7"}', "frobnicate", "Unknown command: frobnicate"),
        (b"42", None, "Unknown command: undefined"),
        (b'"x"', None, "Unknown command: undefined"),
        (b"null", None, "Unknown command: undefined"),
        (b"[]", None, "Unknown command: undefined"),
        (b'{"id":"1"}', None, "Unknown command: undefined"),
        (b'{"type":"prompt","message":5}', "prompt", "Invalid prompt command: "),
        (b'{"type":"prompt"}', "prompt", "Invalid prompt command: "),
        (b'{"type":"set_thinking_level","level":"enormous"}', "set_thinking_level", "Invalid "),
        (b"\xff\xfe", "parse", "Failed to parse command: "),
    ],
)
async def test_bad_lines_are_answered_once_and_the_next_command_works(
    line: bytes, command: str | None, error: str, tmp_path: Path
) -> None:
    responses = await raw(line, b'{"type":"get_state","id":"after"}', cwd=tmp_path)
    first = next(response for response in responses if response.get("id") != "after")
    assert first["success"] is False
    assert first["error"].startswith(error)
    assert first.get("command") == command
    after = [response for response in responses if response.get("id") == "after"]
    assert [response["success"] for response in after] == [True]


async def test_a_line_separator_inside_a_text_does_not_end_a_line(tmp_path: Path) -> None:
    line = json.dumps({"type": "set_session_name", "name": "a\u2028b", "id": "1"}, ensure_ascii=False)
    lines = await raw(line.encode(), cwd=tmp_path)
    assert [line["success"] for line in lines if line["type"] == "response"] == [True]


async def test_the_last_line_counts_without_a_line_feed(tmp_path: Path) -> None:
    responses = await raw(b'{"type":"get_state","id":"1"}', cwd=tmp_path)
    assert responses[-1]["id"] == "1"


async def test_sigterm_ends_it_soon_with_its_children(tmp_path: Path) -> None:
    client = RpcClient(cwd=tmp_path, env={**os.environ, **FAST})
    await client.start()
    printed: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    def look(data: Any) -> None:
        if data["type"] != "tool_execution_update" or printed.done():
            return
        text = "".join(part.get("text", "") for part in data["partialResult"]["content"])
        if text.strip().isdigit():
            printed.set_result(int(text))

    client.on_event(look)
    await client.prompt("run echo $$; exec sleep 60")
    child = await asyncio.wait_for(printed, 20)
    os.kill(client.connection.pid, signal.SIGTERM)
    assert await asyncio.wait_for(client.connection.wait_until_ended(), 5) == 143
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)


async def test_a_mode_that_was_set_stays_when_another_setting_changes(tmp_path: Path) -> None:
    """The project's file says otherwise, and the person's is read again meanwhile."""
    project = tmp_path / ".bayou" / "settings.json"
    project.parent.mkdir()
    project.write_text('{"steeringMode": "all"}')
    async with RpcClient(arguments=("--approve",), cwd=tmp_path, env={**os.environ, **FAST}) as client:
        assert (await client.get_state())["steeringMode"] == "all"
        await client.set_steering_mode("one-at-a-time")
        await client.request("set_auto_retry", enabled=False)
        await client.prompt_and_wait("list")
        assert (await client.get_state())["steeringMode"] == "one-at-a-time"
        write_setting_to_file(Path(os.environ["BAYOU_AGENT_DIR"]) / "settings.json", "followUpMode", "all")
        await client.prompt_and_wait("list")
        state = await client.get_state()
        assert state["steeringMode"] == "one-at-a-time", "what was asked for here"
        assert state["followUpMode"] == "all" and state["autoRetryEnabled"] is False, "what the files say"
