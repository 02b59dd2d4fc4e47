"""Nested calls pass the same pipeline: in order for the same file, and never raising."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec

from app.agent.hooks import ToolCallVerdict
from app.engine.core.hooks import Hooks
from app.values.content import ToolCall
from app.values.events import ToolExecutionEnd, ToolExecutionStart
from tests.agent.scripted_loop import tool
from tests.engine.scripted_session import ScriptedSession
from tools.tool_definition import ToolContext
from tools.tool_registry import builtin_tools
from tools.tool_result_values import ToolResult, text_result


async def test_calls_within_a_call_that_touch_one_file_keep_their_order(tmp_path: Path) -> None:
    harness = ScriptedSession(tmp_path, tools=builtin_tools())
    run = harness.session.calls.run
    for number in range(4):
        name = f"n{number}.py"
        edit = {"path": name, "edits": [{"oldText": "one", "newText": "two"}]}
        written, edited, read, listed = await asyncio.gather(
            run("write", {"path": name, "content": "one\n"}, "c"),
            run("edit", edit, "c"),
            run("read", {"path": name}, "c"),
            run("ls", {"path": "."}, "c"),
        )
        assert not written.is_error and not edited.is_error
        assert read.text == "two"
        assert name in listed.text
    started = [event.tool_call_id for event in harness.all(ToolExecutionStart)]
    assert started == [f"c/{number}" for number in range(1, 17)]
    assert sorted(event.tool_call_id for event in harness.all(ToolExecutionEnd)) == sorted(started)


async def test_a_call_that_holds_a_file_may_change_it_by_calls_within(tmp_path: Path) -> None:
    harness = ScriptedSession(tmp_path, tools=builtin_tools())
    async with asyncio.timeout(10):
        outer = asyncio.gather(
            harness.session.calls.run("write", {"path": "n", "content": "a"}, "c/1"),
            harness.session.calls.run("write", {"path": "n", "content": "b"}, "c"),
        )
        await outer
    assert (tmp_path / "n").read_text() in "ab"


async def test_what_fails_around_a_call_within_a_call_is_a_result(tmp_path: Path) -> None:
    class Broken(Hooks):
        async def before_tool(
            self, call: ToolCall, arguments: dict[str, Any], parent_id: str | None = None
        ) -> ToolCallVerdict:
            if arguments.get("path") == "gate":
                raise SystemExit("no gate")
            return ToolCallVerdict()

        async def after_tool(
            self, call: ToolCall, arguments: dict[str, Any], result: ToolResult, parent_id: str | None = None
        ) -> ToolResult:
            raise ValueError("no opinion")

    (tmp_path / "here").write_text("text\n")
    harness = ScriptedSession(tmp_path, tools=builtin_tools(), hooks=Broken())
    blocked = await harness.session.calls.run("read", {"path": "gate"}, "c")
    assert blocked.is_error and "SystemExit: no gate" in blocked.text
    kept = await harness.session.calls.run("read", {"path": "here"}, "c")
    assert kept.text == "text"
    assert kept.details and kept.details["hookError"] == "ValueError: no opinion"


async def test_a_call_gets_the_model_that_is_chosen_when_it_runs(
    tmp_path: Path,
) -> None:
    class Switching(Hooks):
        async def before_tool(
            self, call: ToolCall, arguments: dict[str, Any], parent_id: str | None = None
        ) -> ToolCallVerdict:
            assert harness.script.model is not None
            harness.choice.set_model(
                msgspec.structs.replace(harness.script.model, input=("text",), context_window=9)
            )
            return ToolCallVerdict()

    told: list[ToolContext] = []

    async def look(arguments: dict[str, Any], context: ToolContext) -> ToolResult:
        told.append(context)
        return text_result("looked")

    harness = ScriptedSession(tmp_path, tools=[tool("look", look)], hooks=Switching())
    await harness.session.calls.run("look", {}, "c")
    assert [(one.model_reads_images, one.model_window) for one in told] == [(False, 9)]
