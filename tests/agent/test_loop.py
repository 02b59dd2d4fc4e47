"""The loop's rules, each as an example."""

import asyncio
from typing import Any

import pytest

from app.agent.agent_loop import NothingToContinue
from app.agent.hooks import ToolCallVerdict
from app.agent.message_queues import AsideMessage
from app.providers.scripted import ScriptedAnswer, call, fail, say, think
from app.values.content import ToolCall
from app.values.events import (
    AgentEnd,
    Event,
    MessageEnd,
    MessageStart,
    MessageUpdate,
    ToolExecutionEnd,
    ToolExecutionStart,
    ToolExecutionUpdate,
    TurnEnd,
)
from app.values.messages import AssistantMessage, CustomMessage, user_message
from app.values.stream import TextDelta
from tests.agent.scripted_loop import BlockingTool, ScriptedLoop, echo, is_prompt, plain, tool
from tools.tool_definition import ToolContext, ToolError
from tools.tool_result_values import ToolResult, text_result


def without_updates(kinds: list[str]) -> list[str]:
    return [kind for kind in kinds if not kind.endswith("_update")]


async def test_a_plain_answer() -> None:
    stage = ScriptedLoop(say("Hello there."))

    kinds = await stage.run("hi")

    assert without_updates(kinds) == [
        "agent_start",
        "turn_start",
        "message_start",
        "message_end",
        "message_start",
        "message_end",
        "turn_end",
        "agent_end",
    ]
    deltas = [
        event.assistant_message_event.delta
        for event in stage.all(MessageUpdate)
        if isinstance(event.assistant_message_event, TextDelta)
    ]
    assert "".join(deltas) == "Hello there."


async def test_an_answer_starts_pending_and_empty() -> None:
    stage = ScriptedLoop(say("Hello"))
    await stage.run("hi")
    started = [event.message for event in stage.all(MessageStart)][-1]
    assert started.stop_reason == "pending"
    assert started.content == ()


async def test_parallel_calls_start_in_order_and_their_results_are_reported_in_order() -> None:
    slow, fast = BlockingTool("slow"), BlockingTool("fast")
    stage = ScriptedLoop(call("slow") + call("fast"), say("done"), tools=[slow.tool, fast.tool])

    def let_go(event: Event) -> None:
        if isinstance(event, ToolExecutionEnd) and event.tool_name == "fast":
            slow.go_on.set()

    stage.on_event = let_go
    fast.go_on.set()
    kinds = await stage.run("go")

    first_turn = without_updates(kinds)[: kinds.index("turn_end") + 1]
    assert [event.tool_name for event in stage.all(ToolExecutionStart)] == ["slow", "fast"]
    assert [event.tool_name for event in stage.all(ToolExecutionEnd)] == ["fast", "slow"]
    assert [result.tool_name for result in stage.results] == ["slow", "fast"]
    assert [result.tool_name for result in stage.all(TurnEnd)[0].tool_results] == ["slow", "fast"]
    assert first_turn.index("tool_execution_end") > first_turn.index("tool_execution_start") + 1


async def test_one_sequential_tool_makes_its_batch_sequential() -> None:
    running: list[str] = []
    overlaps: list[bool] = []

    async def note(arguments: dict[str, Any], context: ToolContext) -> ToolResult:
        overlaps.append(bool(running))
        running.append(context.call_id)
        await asyncio.sleep(0)
        running.remove(context.call_id)
        return text_result("ok")

    stage = ScriptedLoop(
        call("a") + call("b") + call("a"),
        say("done"),
        tools=[tool("a", note), tool("b", note, mode="sequential")],
    )
    await stage.run("go")
    assert overlaps == [False, False, False]
    assert stage.result_texts == ["ok", "ok", "ok"]


@pytest.mark.parametrize(
    ("behaviour", "expected"),
    [
        (ToolError("No such file: x. Try ls."), "No such file: x. Try ls."),
        (ValueError("bad"), "Tool odd failed: ValueError: bad"),
        (SystemExit(3), "Tool odd failed: SystemExit: 3"),
        (KeyboardInterrupt(), "Tool odd failed: KeyboardInterrupt: "),
        (asyncio.CancelledError(), "Tool odd was cancelled"),
        ("just text", "Tool odd returned str instead of a result"),
        (None, "Tool odd returned NoneType instead of a result"),
    ],
)
async def test_a_tool_can_never_take_the_loop_down(behaviour: Any, expected: str) -> None:
    async def odd(arguments: dict[str, Any], context: ToolContext) -> Any:
        if isinstance(behaviour, BaseException):
            raise behaviour
        return behaviour

    stage = ScriptedLoop(call("odd"), say("I see"), tools=[tool("odd", odd)])
    await stage.run("go")
    assert stage.result_texts == [expected]
    assert stage.results[0].is_error
    assert plain(stage.conversation[-1]) == "I see"


async def test_an_unknown_tool_is_named_with_those_there_are() -> None:
    stage = ScriptedLoop(call("frobnicate"), say("ok"), tools=[echo()])
    await stage.run("go")
    assert stage.result_texts == ["Tool frobnicate not found. Available tools: echo"]
    assert stage.all(ToolExecutionEnd)[0].duration_ms is None


async def test_arguments_of_the_wrong_type_are_coerced_or_refused_with_words() -> None:
    schema = {"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]}
    seen: list[Any] = []

    async def count(arguments: dict[str, Any], context: ToolContext) -> ToolResult:
        seen.append(arguments["count"])
        return text_result("counted")

    stage = ScriptedLoop(
        call("count", count="5") + call("count", count="many") + call("count"),
        say("ok"),
        tools=[tool("count", count, schema=schema)],
    )
    await stage.run("go")
    assert seen == [5]
    assert stage.result_texts[0] == "counted"
    assert 'Validation failed for tool "count"' in stage.result_texts[1]
    assert "count: missing" in stage.result_texts[2]


async def test_arguments_that_are_not_json_are_answered_and_the_run_goes_on() -> None:
    broken = ScriptedAnswer(
        blocks=(ToolCall(id="c1", name="echo", arguments={}, arguments_error="Expecting ',' at 17"),)
    )
    stage = ScriptedLoop(broken, say("again"), tools=[echo()])
    await stage.run("go")
    assert "not valid JSON: Expecting ',' at 17" in stage.result_texts[0]


async def test_a_blocked_call_does_not_run_and_tells_the_reason() -> None:
    ran: list[str] = []

    async def run(arguments: dict[str, Any], context: ToolContext) -> ToolResult:
        ran.append("ran")
        return text_result("ran")

    async def refuse(call: ToolCall, arguments: dict[str, Any], parent_id: str | None) -> ToolCallVerdict:
        return ToolCallVerdict(is_blocked=True, reason="Not on a Friday.")

    stage = ScriptedLoop(call("deploy"), say("ok"), tools=[tool("deploy", run)], before_tool=refuse)
    await stage.run("go")
    assert ran == []
    assert stage.result_texts == ["Not on a Friday."]


async def test_a_gate_that_fails_is_closed() -> None:
    async def broken(call: ToolCall, arguments: dict[str, Any], parent_id: str | None) -> ToolCallVerdict:
        raise RuntimeError("gate fell over")

    stage = ScriptedLoop(call("echo"), say("ok"), tools=[echo()], before_tool=broken)
    await stage.run("go")
    assert stage.results[0].is_error
    assert "gate fell over" in stage.result_texts[0]


async def test_calls_of_a_truncated_answer_are_not_executed() -> None:
    cut = call("echo", text="a")
    stage = ScriptedLoop(ScriptedAnswer(blocks=cut.blocks, stop="length"), say("ok"), tools=[echo()])
    await stage.run("go")
    assert "hit the output token limit" in stage.result_texts[0]


async def test_the_run_ends_only_when_every_result_of_the_batch_says_so() -> None:
    async def end(arguments: dict[str, Any], context: ToolContext) -> ToolResult:
        return ToolResult(terminate=True)

    both = ScriptedLoop(call("end") + call("end"), say("never said"), tools=[tool("end", end)])
    await both.run("go")
    assert both.script.request_count == 1

    mixed = ScriptedLoop(call("end") + call("echo"), say("said"), tools=[tool("end", end), echo()])
    await mixed.run("go")
    assert mixed.script.request_count == 2


async def test_steering_is_delivered_after_the_batch_and_follow_ups_at_the_end() -> None:
    stage = ScriptedLoop(call("echo"), say("one"), say("two"), say("three"), tools=[echo()])

    def queue_once(event: Event) -> None:
        if isinstance(event, ToolExecutionStart):
            stage.queues.add_message("follow_up", user_message("later"))
            stage.queues.add_message("steering", user_message("now"))

    stage.on_event = queue_once
    await stage.run("go")
    order = [plain(message) for message in stage.conversation if not isinstance(message, AssistantMessage)]
    assert order == ["go", "echo: ", "now", "later"]


async def test_queues_release_one_message_at_a_time_or_all() -> None:
    one = ScriptedLoop(say("1"), say("2"), say("3"))
    for text in ("a", "b"):
        one.queues.add_message("follow_up", user_message(text))
    await one.run("go")
    assert one.script.request_count == 3

    everything = ScriptedLoop(say("1"), say("2"), queue_mode="all")
    for text in ("a", "b"):
        everything.queues.add_message("follow_up", user_message(text))
    await everything.run("go")
    assert everything.script.request_count == 2


async def test_in_immediate_mode_steering_skips_the_rest_and_keeps_what_is_finished() -> None:
    gate = BlockingTool("gate")
    stage = ScriptedLoop(
        call("echo", text="kept") + call("gate"),
        say("ok"),
        tools=[echo(), gate.tool],
        interrupt_mode="immediate",
    )

    def steer(event: Event) -> None:
        if isinstance(event, ToolExecutionEnd) and event.tool_name == "echo":
            stage.queues.add_message("steering", user_message("stop that"))

    stage.on_event = steer
    await stage.run("go")
    assert stage.result_texts == ["echo: kept", "Skipped due to queued user message."]
    assert gate.was_cancelled
    assert any(is_prompt(message, "stop that") for message in stage.conversation)


async def test_in_immediate_mode_steering_while_the_model_speaks_skips_its_whole_batch() -> None:
    stage = ScriptedLoop(call("echo") + call("echo"), say("ok"), tools=[echo()], interrupt_mode="immediate")

    def steer(event: Event) -> None:
        if isinstance(event, MessageUpdate) and not stage.queues.queued_messages("steering"):
            stage.queues.add_message("steering", user_message("not that"))

    stage.on_event = steer
    await stage.run("go")
    assert stage.result_texts[:2] == ["Skipped due to queued user message."] * 2


async def test_in_immediate_mode_steering_skips_what_a_sequential_batch_has_not_begun() -> None:
    stage = ScriptedLoop(
        call("echo", text="first") + call("echo", text="second"),
        say("ok"),
        tools=[echo(mode="sequential")],
        interrupt_mode="immediate",
    )

    def steer(event: Event) -> None:
        if isinstance(event, ToolExecutionEnd) and len(stage.all(ToolExecutionEnd)) == 1:
            stage.queues.add_message("steering", user_message("enough"))

    stage.on_event = steer
    await stage.run("go")
    assert stage.result_texts == ["echo: first", "Skipped due to queued user message."]
    assert len(stage.all(ToolExecutionStart)) == 2


async def test_steering_outlives_a_batch_that_wants_to_end_the_run() -> None:
    async def end(arguments: dict[str, Any], context: ToolContext) -> ToolResult:
        return ToolResult(terminate=True)

    stage = ScriptedLoop(call("end"), say("heard"), tools=[tool("end", end)])

    def steer(event: Event) -> None:
        if isinstance(event, ToolExecutionStart):
            stage.queues.add_message("steering", user_message("one more thing"))

    stage.on_event = steer
    await stage.run("go")
    assert plain(stage.conversation[-1]) == "heard"


async def test_in_wait_mode_steering_leaves_running_calls_alone() -> None:
    gate = BlockingTool("gate")
    stage = ScriptedLoop(call("echo") + call("gate"), say("ok"), tools=[echo(), gate.tool])

    def steer(event: Event) -> None:
        if isinstance(event, ToolExecutionEnd) and event.tool_name == "echo":
            stage.queues.add_message("steering", user_message("also this"))
            gate.go_on.set()

    stage.on_event = steer
    await stage.run("go")
    assert stage.result_texts == ["echo: ", "gate went on"]


async def test_asides_arrive_behind_the_results_in_call_order_with_the_same_request() -> None:
    stage = ScriptedLoop(call("echo", "c1") + call("echo", "c2"), say("ok"), tools=[echo()])

    def add_asides(event: Event) -> None:
        if isinstance(event, ToolExecutionEnd):
            for call_id in ("c2", "c1") if event.tool_call_id == "c2" else ():
                message = CustomMessage(custom_type="file-map", content=f"map of {call_id}")
                stage.queues.add_aside(AsideMessage(message=message, call_id=call_id))

    stage.on_event = add_asides
    await stage.run("go")
    second_request = [plain(message) for message in stage.script.received_contexts[1].messages]
    assert second_request[-4:] == ["echo: ", "echo: ", "map of c1", "map of c2"]


async def test_progress_reaches_the_listener_and_stops_with_the_result() -> None:
    contexts: list[ToolContext] = []

    async def chatty(arguments: dict[str, Any], context: ToolContext) -> ToolResult:
        contexts.append(context)
        context.progress(text_result("half"))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        return text_result("whole")

    stage = ScriptedLoop(call("chatty"), say("ok"), tools=[tool("chatty", chatty)])
    await stage.run("go")
    contexts[0].progress(text_result("too late"))
    assert [plain(event.partial_result) for event in stage.all(ToolExecutionUpdate)] == ["half"]


async def test_abort_while_streaming_keeps_the_partial_text() -> None:
    stage = ScriptedLoop(say("word " * 200, gate=asyncio.Event()))

    def stop(event: Event) -> None:
        if isinstance(event, MessageUpdate):
            stage.abort.set()

    stage.on_event = stop
    kinds = await stage.run("go")
    last = stage.conversation[-1]
    assert isinstance(last, AssistantMessage)
    assert last.stop_reason == "aborted"
    assert last.text
    assert ("word " * 200).startswith(last.text)
    assert kinds[-2:] == ["turn_end", "agent_end"]


async def test_abort_during_tools_answers_every_call() -> None:
    gate = BlockingTool("gate")
    stage = ScriptedLoop(call("gate") + call("gate"), say("never"), tools=[gate.tool])

    def stop(event: Event) -> None:
        if len(stage.all(ToolExecutionStart)) == 2 and not stage.abort.is_set:
            asyncio.get_running_loop().call_soon(stage.abort.set)

    stage.on_event = stop
    await stage.run("go")
    assert stage.result_texts == ["Operation aborted", "Operation aborted"]
    assert stage.script.request_count == 1


async def test_a_tool_that_never_ends_is_left_behind_after_an_abort() -> None:
    forever = asyncio.Event()

    async def stubborn(arguments: dict[str, Any], context: ToolContext) -> ToolResult:
        while not forever.is_set():
            try:
                await forever.wait()
            except asyncio.CancelledError:
                context.progress(text_result("no"))
        return text_result("finally")

    stage = ScriptedLoop(call("stubborn"), say("never"), tools=[tool("stubborn", stubborn)])

    def stop(event: Event) -> None:
        if isinstance(event, ToolExecutionStart):
            asyncio.get_running_loop().call_soon(stage.abort.set)

    stage.on_event = stop
    await stage.run("go")
    assert stage.result_texts == ["Operation aborted"]
    forever.set()


async def test_a_failed_request_ends_the_run_with_its_message() -> None:
    stage = ScriptedLoop(fail("overloaded"), will_retry=lambda message: True)
    await stage.run("go")
    ended = stage.all(AgentEnd)[0]
    assert ended.will_retry
    assert ended.messages[-1].error_message == "overloaded"


async def test_resume_adds_no_message_and_needs_something_to_answer() -> None:
    stage = ScriptedLoop(say("hello"))
    with pytest.raises(NothingToContinue, match="no messages"):
        await stage.resume()
    stage.conversation.append(user_message("hi"))
    await stage.resume()
    assert [plain(event.message) for event in stage.all(MessageEnd)] == ["hello"]
    with pytest.raises(NothingToContinue, match="assistant"):
        await stage.resume()


async def test_a_run_needs_a_message() -> None:
    with pytest.raises(NothingToContinue):
        await ScriptedLoop(say("x")).run()


async def test_calls_without_an_id_or_with_the_same_one_are_told_apart() -> None:
    same = ScriptedAnswer(
        blocks=(
            ToolCall(id="x", name="echo", arguments={"text": "1"}),
            ToolCall(id="x", name="echo", arguments={"text": "2"}),
        )
    )
    stage = ScriptedLoop(same, say("ok"), tools=[echo()])
    await stage.run("go")
    assert stage.result_texts == ["echo: 1", "echo: 2"]
    assert len({result.tool_call_id for result in stage.results}) == 2


async def test_thinking_and_text_are_streamed_as_blocks_of_their_own() -> None:
    stage = ScriptedLoop(think("hmm") + say("well"))
    await stage.run("go")
    last = stage.conversation[-1]
    assert isinstance(last, AssistantMessage)
    assert (last.thinking, last.text) == ("hmm", "well")
