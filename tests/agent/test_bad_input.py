"""Faults of models, tools and hooks: each is reported as a result, and the loop continues."""

import asyncio
from typing import Any

import msgspec
import pytest

from app.agent.call_batch import ToolCallBatch
from app.agent.hooks import FinishedTurn, ToolCallVerdict
from app.agent.tool_results import describe_error_in_one_line
from app.providers.scripted import ScriptedAnswer, call, say
from app.values.codec import encode
from app.values.content import ToolCall
from app.values.events import AgentEnd, Event, ToolExecutionEnd, ToolExecutionStart
from app.values.messages import AssistantMessage
from tests.agent.scripted_loop import ScriptedLoop, echo, plain, tool
from tools.tool_definition import ToolContext, ToolError
from tools.tool_result_values import ImagePart, TextPart, ToolResult, text_result


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


async def one_call(run: Any, **ports: Any) -> ScriptedLoop:
    """A turn with one call of a tool that does `run`, and a turn that ends it."""
    stage = ScriptedLoop(call("odd"), say("I see"), tools=[tool("odd", run)], **ports)
    async with asyncio.timeout(10):
        await stage.run("go")
    assert plain(stage.conversation[-1]) == "I see", "the run went on to its end"
    encode(stage.results[0])  # can be recorded
    return stage


async def test_an_exception_that_cannot_say_what_it_is() -> None:
    async def odd(arguments: Any, context: ToolContext) -> ToolResult:
        raise Unspeakable

    stage = await one_call(odd)
    assert stage.result_texts == ["Tool odd failed: Unspeakable: (its text could not be made)"]
    assert describe_error_in_one_line(Unspeakable()) == "Unspeakable: (its text could not be made)"


@pytest.mark.parametrize(
    "details",
    [{"file": object()}, {"text": {1, 2}.__iter__()}, {"f": test_an_exception_that_cannot_say_what_it_is}],
)
async def test_details_that_cannot_be_kept_are_left_out_and_the_result_stands(details: Any) -> None:
    async def odd(arguments: Any, context: ToolContext) -> ToolResult:
        return text_result("done", details=details)

    stage = await one_call(odd)
    assert stage.result_texts == ["done"]
    assert not stage.results[0].is_error
    assert "cannot be kept" in stage.results[0].details["detailsError"]


async def test_details_of_an_error_that_cannot_be_kept_are_left_out_too() -> None:
    async def odd(arguments: Any, context: ToolContext) -> ToolResult:
        raise ToolError("no", details={"why": object()})

    stage = await one_call(odd)
    assert stage.result_texts == ["no"]
    assert stage.results[0].is_error


@pytest.mark.parametrize(
    "content",
    [("text",), (TextPart(text=None),), (ImagePart(data=b"x", mime_type="image/png"),), None, 7],  # type: ignore[arg-type]
)
async def test_content_that_is_none(content: Any) -> None:
    async def odd(arguments: Any, context: ToolContext) -> ToolResult:
        return ToolResult(content=content)

    stage = await one_call(odd)
    assert stage.results[0].is_error
    assert stage.result_texts[0].startswith("Tool odd ")


async def test_text_with_lone_surrogates_is_kept() -> None:
    async def odd(arguments: Any, context: ToolContext) -> ToolResult:
        return text_result("caf\udce9", details={"name": "\udce9"})

    stage = await one_call(odd)
    assert stage.result_texts == ["caf\udce9"]


@pytest.mark.parametrize("progress", ["half", None, ToolResult(content=("x",))])  # type: ignore[arg-type]
async def test_nonsense_as_progress_does_not_end_the_run(progress: Any) -> None:
    async def odd(arguments: Any, context: ToolContext) -> ToolResult:
        context.progress(progress)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        return text_result("done")

    stage = await one_call(odd)
    assert stage.result_texts == ["done"]


@pytest.mark.parametrize("mode", ["parallel", "sequential"])
async def test_progress_right_before_the_end_does_not_end_a_call_twice(mode: Any) -> None:
    async def hasty(arguments: Any, context: ToolContext) -> ToolResult:
        context.progress(text_result("almost"))
        return text_result("done")

    stage = ScriptedLoop(
        call("hasty") + call("hasty") + call("echo"),
        say("ok"),
        tools=[tool("hasty", hasty, mode=mode), echo()],
    )
    await stage.run("go")
    assert [event.tool_call_id for event in stage.all(ToolExecutionEnd)] == [
        event.tool_call_id for event in stage.all(ToolExecutionStart)
    ]
    assert stage.result_texts == ["done", "done", "echo: "]


async def test_progress_after_a_cancellation_is_ignored() -> None:
    written: list[str] = []
    may_write = asyncio.Event()
    has_written = asyncio.Event()

    async def stubborn(arguments: Any, context: ToolContext) -> ToolResult:
        asyncio.get_running_loop().call_soon(stage.abort.set)
        while not may_write.is_set():
            try:
                await may_write.wait()
            except asyncio.CancelledError:
                pass
        context.progress(text_result("late"))
        written.append("late")
        has_written.set()
        return text_result("too late")

    stage = ScriptedLoop(call("stubborn"), tools=[tool("stubborn", stubborn)])
    await stage.run("go")
    count = len(stage.events)
    may_write.set()
    await has_written.wait()
    await asyncio.sleep(0)
    assert written == ["late"]
    assert len(stage.events) == count
    assert stage.result_texts == ["Operation aborted"]


async def test_a_call_that_is_stopped_before_it_began_is_answered_at_once() -> None:
    ran: list[str] = []

    async def late(arguments: Any, context: ToolContext) -> ToolResult:
        ran.append("ran")
        return text_result("ran")

    stage = ScriptedLoop(call("late"), tools=[tool("late", late)])
    stage.ports = msgspec.structs.replace(stage.ports, stop_grace_seconds=3600)

    def stop(event: Event) -> None:
        if isinstance(event, ToolExecutionStart):
            asyncio.get_running_loop().call_soon(stage.abort.set)

    stage.on_event = stop
    async with asyncio.timeout(10):
        await stage.run("go")
    assert ran == []
    assert stage.result_texts == ["Operation aborted"]


# Arguments


async def test_huge_arguments_are_passed_on_and_not_repeated_in_full_when_they_are_wrong() -> None:
    schema = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["count"]}
    big = "x" * 5_000_000
    seen: list[int] = []

    async def measure(arguments: Any, context: ToolContext) -> ToolResult:
        seen.append(len(arguments["text"]))
        return text_result("ok")

    stage = ScriptedLoop(tools=[tool("measure", measure, schema=schema)])
    message = AssistantMessage(
        content=(call("measure", "1", text=big, count=1) + call("measure", "2", text=big)).blocks
    )
    ended = [
        event
        async for event in ToolCallBatch(message, stage.ports).run_and_yield_events()
        if isinstance(event, ToolExecutionEnd)
    ]
    assert seen == [5_000_000]
    refused = next(plain(event.message) for event in ended if event.is_error and event.message)
    assert "count: missing" in refused
    assert len(refused) < 4_000


@pytest.mark.parametrize("arguments", [[], "text", 5, None, True])
async def test_arguments_that_are_no_object(arguments: Any) -> None:
    stage = ScriptedLoop(
        ScriptedAnswer(blocks=(ToolCall(id="c", name="echo", arguments=arguments),)),
        say("ok"),
        tools=[echo()],
    )
    await stage.run("go")
    assert stage.results[0].is_error
    assert "expected an object" in stage.result_texts[0]


async def test_a_preparation_that_fails_is_reported() -> None:
    def prepare(raw: dict[str, Any]) -> dict[str, Any]:
        raise KeyError("path")

    stage = ScriptedLoop(call("echo"), say("ok"), tools=[echo(prepare=prepare)])
    await stage.run("go")
    assert stage.result_texts == [
        "The arguments of echo could not be prepared: KeyError: 'path'. "
        "Send the call again with other arguments."
    ]


# Hooks


@pytest.mark.parametrize(
    "problem",
    [RuntimeError("x"), SystemExit(1), asyncio.CancelledError("x"), KeyboardInterrupt(), Unspeakable()],
)
async def test_an_error_in_a_gate_denies_the_call(problem: BaseException) -> None:
    async def gate(tool_call: ToolCall, arguments: dict[str, Any], parent_id: str | None) -> ToolCallVerdict:
        raise problem

    stage = ScriptedLoop(call("echo"), say("ok"), tools=[echo()], before_tool=gate)
    await stage.run("go")
    assert stage.results[0].is_error
    assert stage.result_texts[0].startswith("Tool execution was blocked: the check before it failed: ")
    assert plain(stage.conversation[-1]) == "ok"


async def test_a_gate_may_change_arguments_but_not_into_wrong_ones() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    seen: list[Any] = []

    async def note(arguments: Any, context: ToolContext) -> ToolResult:
        seen.append(arguments["n"])
        return text_result("ok")

    async def change(
        tool_call: ToolCall, arguments: dict[str, Any], parent_id: str | None
    ) -> ToolCallVerdict:
        return ToolCallVerdict(arguments={"n": arguments["n"] + 1} if arguments["n"] < 5 else {"n": "many"})

    stage = ScriptedLoop(
        call("note", n=1) + call("note", n=7),
        say("ok"),
        tools=[tool("note", note, schema=schema)],
        before_tool=change,
    )
    await stage.run("go")
    assert seen == [2]
    assert "expected a whole number" in stage.result_texts[1]
    assert plain(stage.conversation[-1]) == "ok"


async def test_a_gate_that_waits_for_a_person_ends_with_the_run() -> None:
    is_cancelled: list[bool] = []

    async def gate(tool_call: ToolCall, arguments: dict[str, Any], parent_id: str | None) -> ToolCallVerdict:
        asyncio.get_running_loop().call_soon(stage.abort.set)
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            is_cancelled.append(True)
            raise
        return ToolCallVerdict()

    stage = ScriptedLoop(call("echo") + call("echo"), tools=[echo()], before_tool=gate)
    async with asyncio.timeout(10):
        await stage.run("go")
    assert is_cancelled == [True]
    assert stage.result_texts == ["Operation aborted", "Operation aborted"]
    assert stage.kinds[-1] == "agent_end"


async def test_a_gate_that_aborts_by_itself_may_return() -> None:
    async def gate(tool_call: ToolCall, arguments: dict[str, Any], parent_id: str | None) -> ToolCallVerdict:
        stage.abort.set()
        return ToolCallVerdict(is_blocked=True, reason="stopped by the gate")

    stage = ScriptedLoop(call("echo"), tools=[echo()], before_tool=gate)
    await stage.run("go")
    await asyncio.sleep(0)  # nothing is left that would cancel the test
    assert stage.result_texts == ["stopped by the gate"]


async def test_a_gate_that_does_not_end_with_the_run_is_left_behind() -> None:
    let_go = asyncio.Event()

    async def gate(tool_call: ToolCall, arguments: dict[str, Any], parent_id: str | None) -> ToolCallVerdict:
        asyncio.get_running_loop().call_soon(stage.abort.set)
        while not let_go.is_set():
            try:
                await let_go.wait()
            except asyncio.CancelledError:
                pass
        return ToolCallVerdict()

    stage = ScriptedLoop(call("echo") + call("echo"), tools=[echo()], before_tool=gate)
    async with asyncio.timeout(10):
        await stage.run("go")
    assert stage.result_texts == ["Operation aborted", "Operation aborted"]
    let_go.set()


async def test_a_fault_of_our_own_on_the_way_of_a_call_is_its_result() -> None:
    stage = ScriptedLoop(call("echo"), say("ok"), tools=[echo()])

    def no_context(*_: Any) -> ToolContext:
        raise RuntimeError("no context")

    stage.ports = msgspec.structs.replace(stage.ports, tool_context=no_context)
    await stage.run("go")
    assert stage.result_texts == ["Tool echo failed: RuntimeError: no context"]
    assert plain(stage.conversation[-1]) == "ok"


@pytest.mark.parametrize("problem", [RuntimeError("x"), SystemExit(1), Unspeakable()])
async def test_a_hook_that_fails_behind_a_call_hides_nothing(problem: BaseException) -> None:
    async def after(
        tool_call: ToolCall, arguments: dict[str, Any], result: ToolResult, parent_id: str | None
    ) -> ToolResult:
        raise problem

    stage = ScriptedLoop(call("echo", text="a"), say("ok"), tools=[echo()], after_tool=after)
    async with asyncio.timeout(10):
        await stage.run("go")
    assert stage.result_texts == ["echo: a"]
    assert type(problem).__name__ in stage.results[0].details["hookError"]


async def test_a_hook_that_returns_nonsense_behind_a_call() -> None:
    async def after(
        tool_call: ToolCall, arguments: dict[str, Any], result: ToolResult, parent_id: str | None
    ) -> Any:
        return None

    stage = ScriptedLoop(call("echo", text="a"), say("ok"), tools=[echo()], after_tool=after)
    await stage.run("go")
    assert stage.result_texts == ["Tool echo returned NoneType instead of a result"]


async def test_a_hook_behind_a_call_that_never_ends_is_left_behind_after_an_abort() -> None:
    async def after(
        tool_call: ToolCall, arguments: dict[str, Any], result: ToolResult, parent_id: str | None
    ) -> ToolResult:
        asyncio.get_running_loop().call_soon(stage.abort.set)
        await asyncio.Event().wait()
        return result

    stage = ScriptedLoop(call("echo", text="a"), tools=[echo()], after_tool=after)
    async with asyncio.timeout(10):
        await stage.run("go")
    assert stage.result_texts == ["echo: a"]


async def test_hooks_behind_answer_and_turn_that_fail_are_told_and_passed_over() -> None:
    told: list[str] = []

    async def seal(message: AssistantMessage) -> AssistantMessage:
        raise RuntimeError("seal broke")

    async def after_turn(outcome: FinishedTurn) -> bool:
        raise RuntimeError("turn broke")

    stage = ScriptedLoop(
        call("echo"),
        say("ok"),
        tools=[echo()],
        change_finished_answer=seal,
        after_turn=after_turn,
        report=told.append,
    )
    await stage.run("go")
    assert plain(stage.conversation[-1]) == "ok"
    assert len(told) == 4
    assert {"seal broke" in told[0], "turn broke" in told[1]} == {True}


async def test_a_turn_hook_may_end_the_run() -> None:
    async def after_turn(outcome: FinishedTurn) -> bool:
        return bool(outcome.results)

    stage = ScriptedLoop(call("echo"), say("never"), tools=[echo()], after_turn=after_turn)
    await stage.run("go")
    assert stage.script.request_count == 1
    assert len(stage.all(AgentEnd)) == 1
    assert len(stage.all(ToolExecutionEnd)) == 1
