"""Extensions in a real session over a scripted model: what they are told, and when the model reads what they say."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from app.extensions.builtin import file_maps, read_recovery
from app.extensions.hooks.hook_table import HOOK_DEFINITIONS, SESSION_EVENTS
from app.extensions.hooks.payloads import ModelSelect, SessionStart, ThinkingLevelSelect
from app.providers.scripted import call, say
from app.values.content import text_of
from app.values.events import ExtensionError, Notice
from app.values.messages import AssistantMessage, CustomMessage, SystemMessage, ToolResultMessage
from bayou import ExtensionApi
from tests.extensions.conftest import source
from tests.extensions.extension_session import ExtensionSession


@pytest.fixture
def large(tmp_path: Path) -> list[str]:
    """Three files over the limits."""
    for name in "abc":
        (tmp_path / f"{name}.txt").write_text(f"{name}\n" * 3000)
    return ["a.txt", "b.txt", "c.txt"]


async def test_three_large_reads_all_complete_and_three_maps_follow_in_the_same_request(
    tmp_path, large
) -> None:
    a, b, c = large
    reads = call("read", "1", path=a) + call("read", "2", path=b) + call("read", "3", path=c)
    ext_session = ExtensionSession(tmp_path, reads, say("done"))
    await ext_session.load(file_maps.extension)
    await ext_session.prompt("look")
    assert len(ext_session.asked) == 2
    assert [line.split("\n")[0] for line in ext_session.read()][-6:] == [
        "result 1: a",
        "result 2: b",
        "result 3: c",
        "file-map: File map: a.txt",
        "file-map: File map: b.txt",
        "file-map: File map: c.txt",
    ]
    kinds = [line["type"] for line in ext_session.harness.lines()]
    assert kinds.count("custom_message") == 3


async def test_targeted_and_small_reads_have_no_map(tmp_path, large) -> None:
    (tmp_path / "small.txt").write_text("x\n")
    reads = call("read", "1", path="a.txt", offset=5) + call("read", "2", path="small.txt")
    ext_session = ExtensionSession(tmp_path, reads + call("read", "3", path="."), say("done"))
    await ext_session.load(file_maps.extension)
    await ext_session.prompt("look")
    assert not [line for line in ext_session.read() if line.startswith("file-map")]


async def test_reads_that_steering_skipped_are_asked_for_again(tmp_path, large) -> None:
    """With `interruptMode: immediate`; the follow-up comes when the agent would otherwise stop."""
    reads = call("read", "1", path="a.txt") + call("read", "2", path="b.txt", offset=7)
    ext_session = ExtensionSession(tmp_path, reads, say("ok"), say("reading again"))
    ext_session.harness.effective_settings.set("interruptMode", "immediate")

    def interrupts(api: ExtensionApi) -> None:
        @api.on("tool_call")
        async def steer(event: Any, context: Any) -> None:
            if event.tool_call_id == "1":
                await api.send_user_message("wait, look here first", deliver_as="steer")

    await ext_session.load(interrupts, read_recovery.extension)
    await ext_session.prompt("look")
    recovery = [message for message in ext_session.asked[2].messages if isinstance(message, CustomMessage)]
    assert len(recovery) == 1
    assert '- read("a.txt")\n- read("b.txt", offset=7)' in text_of(recovery[0].content)
    assert "user: wait, look here first" in ext_session.read(1)
    assert not any(isinstance(message, CustomMessage) for message in ext_session.asked[1].messages)


async def test_a_gate_tells_the_model_why(tmp_path: Path) -> None:
    ext_session = ExtensionSession(tmp_path, call("bash", "1", command="rm -rf x"), say("ok"))

    def gate(api: ExtensionApi) -> None:
        api.on("tool_call", lambda event, context: {"block": True, "reason": "not today"})

    await ext_session.load(gate)
    await ext_session.prompt("go")
    assert ext_session.read()[-1] == "result 1: not today"


async def test_a_tool_a_command_and_words_of_an_extension(tmp_path: Path) -> None:
    ext_session = ExtensionSession(tmp_path, call("shout", "1", text="hey"), say("ok"))
    ran: list[str] = []

    def mine(api: ExtensionApi) -> None:
        api.tool("shout", "Shouts", schema={"type": "object", "properties": {"text": {"type": "string"}}})(
            lambda arguments, context: arguments["text"].upper()
        )
        api.command("go")(lambda arguments, context: ran.append(arguments))
        api.on("input", lambda event, context: {"action": "transform", "text": event.text + ", please"})
        api.on(
            "before_agent_start",
            lambda event, context: {"message": CustomMessage(custom_type="note", content="be quick")},
        )

    await ext_session.load(mine)
    await ext_session.harness.session.prompt("/go now")
    assert ran == ["now"]
    await ext_session.prompt("shout")
    assert "note: be quick" in ext_session.read(0)
    assert "user: shout, please" in ext_session.read(0)
    assert ext_session.read()[-1] == "result 1: HEY"


async def test_prompt_and_tools_of_one_request_are_changed_as_a_system_message(tmp_path: Path) -> None:
    ext_session = ExtensionSession(tmp_path, say("ok"), say("ok"))

    def mine(api: ExtensionApi) -> None:
        @api.on("context_with_system")
        def brief(event: Any, context: Any) -> Any:
            system, *others = event.messages
            read = tuple(tool for tool in system.tools_added if tool.name == "read")
            said = SystemMessage(content=f"{system.content}\n\nBe brief.", tools_added=read)
            return {"messages": (said, *others)}

    await ext_session.load(mine)
    await ext_session.prompt("go")
    [asked] = ext_session.asked
    assert asked.system_prompt.startswith("You are a test.") and asked.system_prompt.endswith("Be brief.")
    assert [tool.name for tool in asked.tools] == ["read"]
    assert ext_session.read() == ["user: go"]


async def test_delivery_can_be_waited_for(tmp_path: Path) -> None:
    ext_session = ExtensionSession(tmp_path, say("ok"), say("thanks"))
    receipts: list[Any] = []
    waiting: list[asyncio.Task[Any]] = []

    def mine(api: ExtensionApi) -> None:
        async def send() -> None:
            message_id = await api.send_message(
                "news", "it is done", deliver_as="follow_up", trigger_turn=True
            )
            receipts.append(await api.wait_for_delivery(message_id, 5))

        @api.on("turn_end")
        def later(event: Any, context: Any) -> None:
            if not waiting:
                waiting.append(asyncio.ensure_future(send()))

    await ext_session.load(mine)
    await ext_session.prompt("go")
    await ext_session.harness.session.wait_until_idle()
    await waiting[0]
    assert receipts
    assert "news: it is done" in ext_session.read()


async def test_one_that_raises_everywhere_leaves_the_run_whole(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("content")
    ext_session = ExtensionSession(tmp_path, call("read", "1", path="a.txt"), say("fine"))

    def broken(api: ExtensionApi) -> None:
        for name in [*HOOK_DEFINITIONS, *SESSION_EVENTS]:
            if HOOK_DEFINITIONS.get(name) is None or HOOK_DEFINITIONS[name].kind != "gate":
                api.on(name, lambda event, context: 1 / 0)

    await ext_session.load(broken)
    await ext_session.prompt("go")
    last = ext_session.harness.session.messages[-1]
    assert isinstance(last, AssistantMessage) and last.text == "fine"
    assert ext_session.read()[-1] == "result 1: content"
    errors = ext_session.harness.all(ExtensionError)
    assert {"tool_result", "message_end", "context", "turn_end", "agent_start"} <= {
        error.event for error in errors
    }
    assert len({(error.event, error.error) for error in errors}) == len(errors)


async def test_a_reload_during_a_run(tmp_path: Path) -> None:
    ext_session = ExtensionSession(tmp_path, call("old", "1"), call("new", "2"), say("ok"))

    def after(api: ExtensionApi) -> None:
        api.tool("new", "x")(lambda arguments, context: "from the new one")

    def before(api: ExtensionApi) -> None:
        @api.tool("old", "x")
        async def old(arguments: Any, context: Any) -> str:
            await ext_session.extensions.reload([source(after, "after")])
            return "from the old one"

    await ext_session.load(before)
    await ext_session.prompt("go")
    lines = ext_session.read()
    assert lines[-1] == "result 2: from the new one"
    assert "result 1: from the old one" in lines
    assert not ext_session.harness.all(ExtensionError)


async def test_a_missing_user_is_reported_once(tmp_path: Path) -> None:
    ext_session = ExtensionSession(tmp_path, say("a"), say("b"))

    def asks(api: ExtensionApi) -> None:
        @api.on("input")
        async def ask(event: Any, context: Any) -> None:
            assert await context.ui.confirm("Sure?") is False

    await ext_session.load(asks)
    await ext_session.prompt("one")
    await ext_session.prompt("two")
    notices = [event.text for event in ext_session.harness.all(Notice)]
    assert notices == ["An extension asked for a confirmation, which print mode does not have."]


async def test_changes_are_told_with_what_was_before(tmp_path: Path) -> None:
    ext_session = ExtensionSession(tmp_path, say("a"))
    told: list[Any] = []

    def listens(api: ExtensionApi) -> None:
        for name in ("model_select", "thinking_level_select", "session_start"):
            api.on(name, lambda event, context: told.append(event))

    await ext_session.load(listens)
    session = ext_session.harness.session
    before = session.state.model
    assert before is not None
    other = msgspec.structs.replace(before, id="other", reasoning=True)
    await session.models.use_model(other)
    level = session.state.thinking
    await session.models.use_thinking_level("high" if level != "high" else "low")
    await session.branches.open_session(ext_session.harness.places.create_session(), "new")
    await session.events.wait_until_delivered()
    selected = [event for event in told if isinstance(event, ModelSelect)]
    assert [(event.previous_model, event.model, event.source) for event in selected] == [
        (before, other, "set")
    ]
    levels = [event for event in told if isinstance(event, ThinkingLevelSelect)]
    assert levels[-1].level == session.state.thinking or levels[-1].previous_level == level
    assert [event.reason for event in told if isinstance(event, SessionStart)] == ["new"]


async def test_subscribing_inside_a_handler_receives_the_next_event(tmp_path: Path) -> None:
    told: list[str] = []
    is_over = asyncio.Event()

    def extension(api: ExtensionApi) -> None:
        @api.on("agent_start")
        async def begin(event: Any, context: Any) -> None:
            await is_over.wait()  # it is slower than the run
            api.on("agent_settled", lambda event, context: told.append("settled"))

    ext_session = ExtensionSession(tmp_path, say("ok"))
    await ext_session.load(extension)
    await ext_session.harness.prompt("go")
    is_over.set()
    await ext_session.harness.session.events.wait_until_delivered()
    assert told == ["settled"]


async def test_a_call_within_a_call_is_gated_told_and_changed_like_any_other(tmp_path: Path) -> None:
    ext_session = ExtensionSession(tmp_path, call("twice", "1"), say("done"))
    told: list[tuple[str, str, str | None]] = []

    def nests(api: ExtensionApi) -> None:
        @api.tool("twice", "Reads one file that it may read and one that it may not.")
        async def twice(arguments: Any, context: Any) -> str:
            good = await context.execute_tool("read", {"path": "a.txt"})
            bad = await context.execute_tool("read", {"path": "secret.txt"})
            nobody = await context.execute_tool("nobody", {})
            return f"{good.text} | {bad.text} | {nobody.text[:21]} | {bad.is_error}"

        @api.on("tool_call")
        def gate(event: Any, context: Any) -> Any:
            if "secret" in str(event.input):
                return {"block": True, "reason": "not that one"}
            return None

        @api.on("tool_result")
        def loud(event: Any, context: Any) -> Any:
            if event.parent_tool_call_id is None:
                return None
            return {"content": ({"type": "text", "text": event.content[0].text.strip().upper()},)}

        for name in ("tool_execution_start", "tool_execution_end"):
            api.on(
                name,
                lambda event, context: told.append(
                    (type(event).__name__, event.tool_call_id, event.parent_tool_call_id)
                ),
            )

    (tmp_path / "a.txt").write_text("hello\n")
    (tmp_path / "secret.txt").write_text("key\n")
    await ext_session.load(nests)
    await ext_session.prompt("go")
    result = next(m for m in ext_session.harness.session.messages if isinstance(m, ToolResultMessage))
    assert text_of(result.content) == "HELLO | not that one | Tool nobody not found | True"
    assert ext_session.extensions.hooks.problems == []
    assert [(kind, call_id) for kind, call_id, parent in told if parent == "1"] == [
        ("ToolExecutionStart", "1/1"),
        ("ToolExecutionEnd", "1/1"),
        ("ToolExecutionStart", "1/2"),
        ("ToolExecutionEnd", "1/2"),
        ("ToolExecutionStart", "1/3"),
        ("ToolExecutionEnd", "1/3"),
    ]
    assert [call_id for _, call_id, parent in told if parent is None] == ["1", "1"]


async def test_an_extension_compacts_by_itself_at_the_end_of_a_turn(tmp_path: Path) -> None:
    ext_session = ExtensionSession(tmp_path, say("one " * 30_000), say("two"), say("three"))
    answers: list[Any] = [
        None,
        {"entries": [{"type": "compaction", "summary": "All that was."}]},
        {"entries": [{"type": "compaction", "summary": "x", "first_kept_entry_id": "nowhere"}]},
    ]
    notes: list[str] = []

    def compacts(api: ExtensionApi) -> None:
        api.on("turn_end", lambda event, context: answers.pop(0))
        api.on("notice", lambda event, context: notes.append(event.text))

    await ext_session.load(compacts)
    await ext_session.prompt("begin")
    await ext_session.prompt("go on")
    await ext_session.prompt("and now?")
    assert ext_session.read()[0].startswith("CompactionSummaryMessage")
    assert "assistant" not in ext_session.read()[:1]
    assert len([text for text in notes if text.startswith("An extension's compaction was ignored: ")]) == 1
