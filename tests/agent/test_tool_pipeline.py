"""Async and threaded tools pass the same pipeline with the same results."""

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from app.agent.hooks import ToolCallVerdict
from app.agent.tool_pipeline import NoSecretMasks, ParseToolCall
from app.providers.scripted import call, say
from tests.agent.scripted_loop import ScriptedLoop, plain, tool
from tools.thread_work import RunToolInThread, StopFlag
from tools.tool_definition import Tool, ToolContext, ToolError
from tools.tool_result_values import ToolResult, text_result

Work = Callable[[], ToolResult]


def awaiting(work: Work) -> Tool:
    async def run(arguments: Any, context: ToolContext) -> ToolResult:
        return work()

    return tool("odd", run)


def in_thread(work: Work) -> Tool:
    return tool("odd", RunToolInThread(lambda arguments, context, stop: work()))


both = pytest.mark.parametrize("made", [awaiting, in_thread])


class WatchedMasks(NoSecretMasks):
    """Masks that record the calling thread and mask nothing."""

    is_masking = True

    def __init__(self) -> None:
        self.threads: list[int] = []

    def unmask_arguments(self, reading: Any) -> None:
        self.threads.append(threading.get_ident())

    def mask_result(self, reading: Any, result: ToolResult) -> ToolResult:
        self.threads.append(threading.get_ident())
        return result


class BrokenMasks(WatchedMasks):
    def mask_result(self, reading: Any, result: ToolResult) -> ToolResult:
        raise OSError("no key")


async def played(made: Tool, masks: NoSecretMasks | None = None) -> ScriptedLoop:
    stage = ScriptedLoop(call("odd"), say("ok"), tools=[made])
    stage.ports = msgspec.structs.replace(stage.ports, secret_masks=masks or NoSecretMasks())
    async with asyncio.timeout(10):
        await stage.run("go")
    assert plain(stage.conversation[-1]) == "ok"
    return stage


@both
@pytest.mark.parametrize(
    ("problem", "told"),
    [
        (ToolError("no such place"), "no such place"),
        (RuntimeError("x"), "Tool odd failed: RuntimeError: x"),
        (SystemExit(1), "Tool odd failed: SystemExit: 1"),
        (asyncio.CancelledError(), "Tool odd was cancelled"),
    ],
)
async def test_what_a_tool_raises_is_its_result(
    made: Callable[[Work], Tool], problem: BaseException, told: str
) -> None:
    def work() -> ToolResult:
        raise problem

    stage = await played(made(work), WatchedMasks())
    assert stage.result_texts == [told]
    assert stage.results[0].is_error


@both
async def test_an_invalid_tool_result_is_reported(made: Callable[[Any], Tool]) -> None:
    stage = await played(made(lambda: 7))
    assert stage.result_texts == ["Tool odd returned int instead of a result"]


@both
async def test_what_could_not_be_masked_enters_no_session(made: Callable[[Work], Tool]) -> None:
    stage = await played(made(lambda: text_result("the secret")), BrokenMasks())
    assert stage.result_texts == ["The result of odd could not be masked: OSError: no key"]
    assert stage.results[0].is_error


async def test_a_tool_of_a_thread_is_masked_in_that_thread() -> None:
    masks, worked = WatchedMasks(), list[int]()

    def work() -> ToolResult:
        worked.append(threading.get_ident())
        return text_result("done")

    await played(in_thread(work), masks)
    assert masks.threads == worked * 2
    assert threading.get_ident() not in masks.threads


async def test_a_threads_result_after_an_abort_is_ignored() -> None:
    masks, has_begun = WatchedMasks(), threading.Event()

    def work(arguments: Any, context: ToolContext, stop: StopFlag) -> ToolResult:
        has_begun.set()
        while True:
            stop.raise_if_stopped()

    stage = ScriptedLoop(call("odd"), tools=[tool("odd", RunToolInThread(work))])
    stage.ports = msgspec.structs.replace(stage.ports, secret_masks=masks)

    async def abort() -> None:
        await asyncio.to_thread(has_begun.wait)
        stage.abort.set()

    async with asyncio.timeout(10):
        await asyncio.gather(stage.run("go"), abort())
        await asyncio.get_running_loop().shutdown_default_executor()
    assert stage.result_texts == ["Operation aborted"]
    assert len(masks.threads) == 1


@pytest.mark.parametrize("looks", [True, False])
async def test_a_call_is_given_what_counts_when_it_is_let_run(looks: bool) -> None:
    """What a gate has read is what runs, though it asked a person, which takes time."""
    folder, seen = [Path("before")], list[Path]()

    async def gate(call: Any, read: ParseToolCall) -> ToolCallVerdict:
        if looks:
            await asyncio.to_thread(read)
        folder[0] = Path("after")
        return ToolCallVerdict()

    async def run(arguments: Any, context: ToolContext) -> ToolResult:
        seen.append(context.cwd)
        return text_result("done")

    stage = ScriptedLoop(call("odd"), say("ok"), tools=[tool("odd", run)])
    stage.ports = msgspec.structs.replace(
        stage.ports, gate=gate, tool_context=lambda call, _: ToolContext(call_id=call.id, cwd=folder[0])
    )
    await stage.run("go")
    assert seen == [Path("before" if looks else "after")]
