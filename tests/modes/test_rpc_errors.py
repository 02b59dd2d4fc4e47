"""Every refusal that the protocol has words for, brought about in a real process, and that it goes on afterwards."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from bayou.client import RpcClient, RpcError
from bayou.values import MessageStart, UserMessage
from tests.modes.processes import scripted_client, write_settings


@pytest.fixture
async def bayou(tmp_path: Path) -> AsyncIterator[RpcClient]:
    write_settings({"compaction": {"keepRecentTokens": 1}, "retry": {"baseDelayMs": 1}})
    async with scripted_client(tmp_path) as client:
        yield client
        assert (await client.get_state())["isStreaming"] is False


async def refused(client: RpcClient, type: str, **fields: Any) -> str:
    with pytest.raises(RpcError) as told:
        await client.request(type, **fields)
    return str(told.value)


async def reached(client: RpcClient, kind: str) -> asyncio.Event:
    """Set once an event of this kind comes."""
    come = asyncio.Event()
    client.on_event(lambda data: come.set() if data["type"] == kind else None)
    return come


async def test_a_prompt_during_a_run_has_to_say_how(bayou: RpcClient) -> None:
    begun = await reached(bayou, "message_update")
    await bayou.prompt("hang")
    await asyncio.wait_for(begun.wait(), 20)
    assert await refused(bayou, "prompt", message="more") == (
        "Agent is already processing. Specify streamingBehavior ('steer' or 'followUp') to queue the message."
    )
    assert await bayou.prompt("steered", streaming_behavior="steer") == "queued"
    assert await bayou.prompt("later", streaming_behavior="followUp") == "queued"
    await bayou.abort()
    assert await bayou.clear_queue() == {"steering": ["steered"], "followUp": ["later"]}


async def test_a_prompt_needs_words(bayou: RpcClient) -> None:
    assert await refused(bayou, "prompt", message=" \n") == "The message is empty, so nothing was sent."
    assert await refused(bayou, "steer", message="") == "The message is empty, so nothing was sent."


async def test_an_extensions_command_cannot_be_queued(bayou: RpcClient) -> None:
    words = (
        'Extension command "/show" cannot be queued. Use prompt() or execute the command when not streaming.'
    )
    assert await refused(bayou, "steer", message="/show") == words
    assert await refused(bayou, "follow_up", message="/show x") == words


async def test_what_is_steered_while_idle_goes_with_the_next_run(bayou: RpcClient) -> None:
    assert await bayou.steer("first") == "queued"
    assert (await bayou.get_state())["pendingMessageCount"] == 1
    events = await bayou.prompt_and_wait("second")
    said = [event.message for event in events if isinstance(event, MessageStart)]
    assert sum(isinstance(message, UserMessage) for message in said) == 2
    assert (await bayou.get_state())["pendingMessageCount"] == 0


async def test_models_that_are_not_there_or_have_no_key(bayou: RpcClient) -> None:
    assert (
        await refused(bayou, "set_model", provider="nobody", modelId="x/y") == "Model not found: nobody/x/y"
    )
    known = "claude-sonnet-4-5"
    assert await refused(bayou, "set_model", provider="anthropic", modelId=known) == (
        f"Model not found: anthropic/{known}"
    )


async def test_without_a_key_a_prompt_is_refused_and_commands_go_on(tmp_path: Path) -> None:
    arguments = ["--model", "anthropic/claude-sonnet-4-5"]
    async with RpcClient(cwd=tmp_path, arguments=arguments) as client:
        assert (await refused(client, "prompt", message="hello")).startswith(
            "No API key found for anthropic."
        )
        assert (await refused(client, "compact")).startswith("No API key found for anthropic.")
        assert (await client.get_state())["isStreaming"] is False


async def test_compaction(bayou: RpcClient) -> None:
    assert await refused(bayou, "compact") == "Nothing to compact (session too small)"
    for words in ("words 3", "words 4"):
        await bayou.prompt_and_wait(words)
    begun = await reached(bayou, "compaction_start")
    stalled = asyncio.ensure_future(refused(bayou, "compact", customInstructions="stall-here"))
    await asyncio.wait_for(begun.wait(), 20)
    assert await refused(bayou, "prompt", message="hello") == (
        "Cannot submit a prompt while compaction is in progress. Wait for compaction to finish and retry."
    )
    await bayou.abort()
    assert await stalled == "Compaction cancelled"
    assert "overloaded" in await refused(bayou, "compact", customInstructions="fail-here")
    assert (await bayou.compact()).summary
    assert await refused(bayou, "compact") == "Already compacted"
    await bayou.prompt_and_wait("words 2")


async def test_forks_and_clones_of_what_is_not_saved(bayou: RpcClient) -> None:
    unsaved = "This session has not been saved yet. Send a message before cloning or forking it."
    assert await refused(bayou, "clone") == unsaved
    await bayou.navigate_tree(None)
    assert await refused(bayou, "clone") == "Cannot clone session: no current entry selected"
    assert await refused(bayou, "fork", entryId="nope") == "Invalid entry ID for forking"
    assert await refused(bayou, "branch", entryId="nope") == "Invalid entry ID for forking"


async def test_a_session_that_is_kept_nowhere_cannot_be_forked(tmp_path: Path) -> None:
    async with scripted_client(tmp_path, "--no-session") as client:
        await client.prompt_and_wait("hello")
        [prompt] = await client.get_fork_messages()
        unsaved = "This session has not been saved yet. Send a message before cloning or forking it."
        assert await refused(client, "fork", entryId=prompt["entryId"]) == unsaved
        assert await refused(client, "clone") == unsaved
        assert "sessionFile" not in await client.get_state()


async def test_only_prompts_can_be_forked(bayou: RpcClient) -> None:
    await bayou.prompt_and_wait("hello")
    leaf = (await bayou.get_entries())["leafId"]
    assert await refused(bayou, "fork", entryId=leaf) == "Invalid entry ID for forking"


async def test_entries_that_are_not_there(bayou: RpcClient) -> None:
    assert await refused(bayou, "get_entries", since="nope") == "Entry not found: nope"
    assert await refused(bayou, "navigate_tree", entryId="nope") == "Entry not found: nope"
    assert await refused(bayou, "set_label", entryId="nope", label="x") == "Entry not found: nope"
    assert "nope" in await refused(bayou, "kill_job", jobId="nope")
    assert await refused(bayou, "set_session_name", name=" ") == "Session name cannot be empty"


async def test_places_that_cannot_be_gone_to(bayou: RpcClient, tmp_path: Path) -> None:
    (tmp_path / "notes.jsonl").write_text("no session\n")
    error = await refused(bayou, "switch_session", sessionPath=str(tmp_path / "notes.jsonl"))
    assert "notes.jsonl" in error
    assert (tmp_path / "notes.jsonl").read_text() == "no session\n"
    assert await bayou.switch_session(str(tmp_path / "new.jsonl")) == {"cancelled": False}
    assert (await bayou.get_state()).get("sessionFile") == str(tmp_path / "new.jsonl")
    assert await bayou.switch_session("new.jsonl") == {"cancelled": False}  # where it is
    assert "folder" in await refused(bayou, "switch_session", sessionPath=str(tmp_path))
    assert "page.txt does not end in .html" in await refused(bayou, "export_html", outputPath="page.txt")
    (tmp_path / "page.html").mkdir()
    assert "page.html" in await refused(bayou, "export_html", outputPath="page.html")


async def test_an_extension_can_keep_the_session_where_it_is(bayou: RpcClient) -> None:
    await bayou.prompt_and_wait("hello")
    [prompt] = await bayou.get_fork_messages()
    before = await bayou.get_state()
    await bayou.prompt("/stay")
    assert await bayou.new_session() == {"cancelled": True}
    assert await bayou.switch_session("other.jsonl") == {"cancelled": True}
    assert await bayou.fork(prompt["entryId"]) == {"cancelled": True}
    assert await bayou.clone() == {"cancelled": True}
    assert await bayou.get_state() == before


async def test_requests_without_a_result_answer_with_empty_data(bayou: RpcClient) -> None:
    assert await bayou.request("get_last_assistant_text") == {}
    assert await bayou.get_context_usage() is not None
    assert await bayou.request("clear_queue") == {"steering": [], "followUp": []}
    for type in ("abort", "abort_bash", "abort_retry", "retry_now"):
        assert await bayou.request(type) is None


async def test_host_tools_that_cannot_be(bayou: RpcClient) -> None:
    tools = [{"name": "one"}, {"name": " "}]
    error = "Host tool at index 1 must provide a non-empty name"
    assert await refused(bayou, "set_host_tools", tools=tools) == error
    twice = await refused(bayou, "set_host_tools", tools=[{"name": "one"}, {"name": "one"}])
    assert twice == "Two host tools have the same name: one"


async def test_text_that_is_not_unicode_is_refused_like_any_other_value(bayou: RpcClient) -> None:
    for type, field in (
        ("set_permission_mode", "mode"),
        ("get_diff", "patch"),
        ("set_thinking_level", "level"),
    ):
        error = await refused(bayou, type, **{field: "\ud800"})
        assert "not valid Unicode" in error and "Error:" not in error


@pytest.mark.parametrize("type", ["run_notebook", "add_folder", "remove_folder"])
@pytest.mark.parametrize(
    ("path", "reason"), [("a\ud800", "half a surrogate pair"), ("a\0b", "a NUL character")]
)
async def test_a_path_that_no_system_accepts_is_refused(
    bayou: RpcClient, type: str, path: str, reason: str
) -> None:
    error = await refused(bayou, type, path=path)
    assert error.startswith("path ") and reason in error
