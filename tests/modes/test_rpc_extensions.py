"""Extensions behind RPC: their questions, their commands, and what a terminal alone could do."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bayou.client import RpcClient, RpcError
from tests.modes.processes import lines_until, put, scripted_client, start, write_settings

REPORT = """
from bayou import TableBlock, View

def extension(api):
    api.message_renderer("report", lambda message, expanded: View(
        title="report", summary="2 boats", body=(TableBlock(header=("boat", "oars"), rows=(("Ada", "2"),)),),
    ))
    api.entry_renderer("tally", lambda data, expanded: View(title=f"tally {data}"))

    @api.command("report")
    async def report(arguments, context):
        await api.send_message("report", "for the model")
        await api.append_entry("tally", 3)
        context.ui.notify("made")
"""

STARTS = """
def extension(api):
    @api.on("session_start")
    async def begin(event, context):
        context.ui.notify(f"begun: {event.reason}")
        await api.send_message("greeting", "Good morning")
        context.ui.notify(f"sure: {await context.ui.confirm('Sure?', 'Really')}")
"""


async def said(client: RpcClient, prompt: str) -> list[Mapping[str, Any]]:
    """The UI requests that a command makes."""
    requests: list[Mapping[str, Any]] = []
    leave = client.on_event(lambda data: requests.append(data))
    assert await client.prompt(prompt) == "handled"
    leave()
    return [data for data in requests if data["type"] == "extension_ui_request"]


async def test_questions_are_answered_by_the_client(tmp_path: Path) -> None:
    async def answer(data: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"confirmed": True} if data["method"] == "confirm" else {"value": f"my {data['method']}"}

    async with scripted_client(tmp_path, answer_question=answer) as client:
        asked = await said(client, "/ask")
    assert [data["method"] for data in asked] == ["select", "confirm", "input", "editor", "notify"]
    assert (asked[0]["options"], asked[1]["message"]) == (["a", "b"], "Really")
    assert (asked[2]["placeholder"], asked[3]["prefill"]) == ("yours", "so far")
    assert asked[4]["message"] == "my select True my input my editor"
    assert asked[4]["notifyType"] == "info"


async def test_cancelled_questions_have_their_cancelled_answer(tmp_path: Path) -> None:
    async def answer(data: Mapping[str, Any]) -> None:
        return None

    async with scripted_client(tmp_path, answer_question=answer) as client:
        asked = await said(client, "/ask")
    assert asked[-1]["message"] == "None False None None"


async def test_a_question_with_a_timeout_does_not_wait_for_ever(tmp_path: Path) -> None:
    async with scripted_client(tmp_path) as client:
        asked = await said(client, "/ask 0.05")
    questions = [data for data in asked if data["method"] not in ("cancel", "notify")]
    assert [data.get("timeout") for data in questions if data["method"] != "editor"] == [50, 50, 50]
    taken_back = [data["targetId"] for data in asked if data["method"] == "cancel"]
    assert taken_back == [data["id"] for data in questions], "the host need not show them any more"
    assert asked[-1]["message"] == "None False None None"


async def test_what_extensions_say_and_ask_when_a_session_starts_reaches_the_client(tmp_path: Path) -> None:
    (tmp_path / "starts.py").write_text(STARTS)
    heard: list[str] = []
    is_answered = asyncio.Event()

    async def answer(data: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"confirmed": True}

    def note(data: Mapping[str, Any]) -> None:
        if data["type"] in ("message_end", "extension_ui_request"):
            told = data["message"]
            heard.append(told if isinstance(told, str) else told["content"])
            if heard[-1].startswith("sure"):
                is_answered.set()

    client = RpcClient(cwd=tmp_path, arguments=["-e", "starts.py"], answer_question=answer)
    client.on_event(note)
    async with client:
        await client.get_state()
        assert heard == ["begun: startup", "Good morning", "Really", "sure: True"]
        heard.clear()
        is_answered.clear()
        await client.new_session()
        await asyncio.wait_for(is_answered.wait(), 20)
        assert heard == ["begun: new", "Good morning", "Really", "sure: True"]


async def test_the_end_of_input_answers_what_a_starting_extension_asks(tmp_path: Path) -> None:
    (tmp_path / "starts.py").write_text(STARTS)
    process = await start(tmp_path, "-e", "starts.py")
    put(process, type="get_state", id="1")
    await lines_until(process, method="confirm")
    assert process.stdin is not None
    process.stdin.close()
    lines = await lines_until(process, type="response")
    assert [line["message"] for line in lines if line.get("method") == "notify"] == ["sure: False"]
    assert await asyncio.wait_for(process.wait(), 20) == 0


async def test_the_end_of_input_answers_what_is_still_asked(tmp_path: Path) -> None:
    async with scripted_client(tmp_path) as client:
        asked = asyncio.Event()
        client.on_event(lambda data: asked.set() if data["type"] == "extension_ui_request" else None)
        waiting = asyncio.ensure_future(client.prompt("/ask"))
        await asyncio.wait_for(asked.wait(), 20)
        assert await client.stop() == 0
        assert await waiting == "handled"


async def test_an_abort_cancels_what_is_asked(tmp_path: Path) -> None:
    async with scripted_client(tmp_path) as client:
        asked: asyncio.Queue[str] = asyncio.Queue()
        client.on_event(
            lambda data: asked.put_nowait(data["method"]) if data["type"] == "extension_ui_request" else None
        )
        waiting = asyncio.ensure_future(client.prompt("/ask"))
        for method in ("select", "confirm", "input", "editor"):
            assert await asyncio.wait_for(asked.get(), 20) == method
            await client.abort()
            assert await asyncio.wait_for(asked.get(), 20) == "cancel"
        assert await waiting == "handled"


async def test_what_only_a_terminal_can_do_is_reported_once(tmp_path: Path) -> None:
    notices: list[str] = []
    async with scripted_client(tmp_path) as client:
        client.on_event(lambda data: notices.append(data["text"]) if data["type"] == "notice" else None)
        shown = await said(client, "/show")
        await said(client, "/show")
    fields = [
        {key: value for key, value in data.items() if key not in ("id", "type", "method")} for data in shown
    ]
    assert [data["method"] for data in shown] == [
        "setStatus", "setStatus", "setWidget", "setTitle", "set_editor_text",
    ]  # fmt: skip
    assert fields[:3] == [
        {"statusKey": "key", "statusText": "busy"},
        {"statusKey": "key"},
        {"widgetKey": "lines", "widgetLines": ["one", "two"], "widgetPlacement": "aboveEditor"},
    ]
    assert len(notices) == len(set(notices)) >= 2


async def test_everything_that_a_slash_can_mean_is_listed(tmp_path: Path) -> None:
    agent = write_settings({}).parent
    (agent / "prompts").mkdir()
    (agent / "prompts" / "review.md").write_text("---\ndescription: Look closely\n---\nReview $1 now")
    (agent / "skills" / "dig").mkdir(parents=True)
    (agent / "skills" / "dig" / "SKILL.md").write_text("---\nname: dig\ndescription: Dig deep\n---\nDig.")
    async with scripted_client(tmp_path) as client:
        commands = {command["name"]: command for command in await client.get_commands()}
        assert commands["noise"]["source"] == "extension"
        assert commands["noise"].get("description") == "Prints in every way."
        assert "description" not in commands["ask"]
        assert (commands["review"]["source"], commands["skill:dig"]["source"]) == ("prompt", "skill")
        assert commands["review"]["sourceInfo"]["scope"] == "user"
        await client.steer("/review that")
        assert await client.clear_queue() == {"steering": ["Review that now"], "followUp": []}
        await client.follow_up("/skill:dig here")
        [text] = (await client.clear_queue())["followUp"]
        assert text.startswith('<skill name="dig"') and text.endswith("here")
        with pytest.raises(RpcError, match='Extension command "/ask" cannot be queued'):
            await client.steer("/ask")


async def test_extensions_may_answer_the_persons_commands(tmp_path: Path) -> None:
    async with scripted_client(tmp_path) as client:
        done = await client.bash("instead")
        assert (done["output"], done.get("exitCode")) == ("from the extension", 7)
        with pytest.raises(RpcError, match="Not that"):
            await client.bash("forbidden")


async def test_what_a_renderer_makes_arrives_as_data(tmp_path: Path) -> None:
    code = write_settings({}).parent / "extensions" / "report.py"
    code.parent.mkdir()
    code.write_text(REPORT)
    async with scripted_client(tmp_path) as client:
        [message, entry] = [data for data in await said(client, "/report") if data["method"] == "showView"]
    assert message["lines"] == ["report · 2 boats", "boat  oars", "Ada   2"]
    assert message["view"]["body"] == [{"kind": "table", "header": ["boat", "oars"], "rows": [["Ada", "2"]]}]
    assert entry["lines"] == ["tally 3"]
    assert message["targetId"] != entry["targetId"]
