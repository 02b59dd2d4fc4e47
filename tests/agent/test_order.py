"""Calls of one answer that touch the same file happen in the order of the calls; others run side by side."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from app.agent.hooks import ToolCallVerdict
from app.providers.scripted import ScriptedAnswer, call, say
from app.values.content import ToolCall
from app.values.events import Event, ToolExecutionEnd, ToolExecutionStart
from tests.agent.scripted_loop import BlockingTool, ScriptedLoop
from tools.session_workspace import SessionWorkspace
from tools.tool_definition import Tool, ToolContext
from tools.tool_registry import builtin_tools


def stage_in(
    folder: Path, *answers: ScriptedAnswer, tools: tuple[Tool, ...] = (), **hooks: Any
) -> ScriptedLoop:
    stage = ScriptedLoop(*answers, tools=(*builtin_tools(), *tools), **hooks)
    workspace = SessionWorkspace(folder)
    stage.ports = msgspec.structs.replace(
        stage.ports,
        tool_context=lambda call, progress: ToolContext(
            call_id=call.id, cwd=folder, progress=progress, workspace=workspace
        ),
    )
    return stage


def edit(path: str, old: str, new: str) -> ScriptedAnswer:
    return call("edit", path=path, edits=[{"oldText": old, "newText": new}])


def write(path: str, content: str) -> ScriptedAnswer:
    return call("write", path=path, content=content)


@pytest.mark.parametrize("time", range(8))
async def test_a_file_can_be_written_edited_and_read_in_one_answer(tmp_path: Path, time: int) -> None:
    stage = stage_in(
        tmp_path,
        write("n.py", "one\n")
        + edit("n.py", "one", "two")
        + call("read", path="n.py")
        + edit("./n.py", "two", "three")
        + call("bash", command="cat n.py"),
        say("done"),
    )
    await stage.run("go")
    assert [result.is_error for result in stage.results] == [False] * 5
    assert stage.result_texts[2] == "two"
    assert stage.result_texts[4] == "three"
    assert (tmp_path / "n.py").read_text() == "three\n"


@pytest.mark.parametrize("time", range(8))
async def test_of_two_writes_the_last_one_stays(tmp_path: Path, time: int) -> None:
    stage = stage_in(tmp_path, write("n.py", "x\n" * 2_000) + write("n.py", "last"), say("done"))
    await stage.run("go")
    assert (tmp_path / "n.py").read_text() == "last"


async def test_a_read_before_a_change_reads_what_was_there(tmp_path: Path) -> None:
    (tmp_path / "n.py").write_text("old\n")
    stage = stage_in(tmp_path, call("read", path="n.py") + edit("n.py", "old", "new"), say("done"))
    await stage.run("go")
    assert stage.result_texts[0] == "old"


async def test_a_change_without_predecessors_does_not_wait(tmp_path: Path) -> None:
    slow = BlockingTool("slow")
    stage = stage_in(
        tmp_path, call("slow") + write("n.py", "x") + call("ls", path="."), say("done"), tools=(slow.tool,)
    )

    def let_go(event: Event) -> None:
        if isinstance(event, ToolExecutionEnd) and event.tool_name == "ls":
            slow.go_on.set()

    stage.on_event = let_go
    await stage.run("go")
    assert stage.result_texts[2] == "n.py"


async def test_the_place_is_that_of_the_arguments_that_were_allowed(tmp_path: Path) -> None:
    async def moved(call: ToolCall, arguments: dict[str, Any], parent_id: str | None) -> ToolCallVerdict:
        return ToolCallVerdict(arguments={**arguments, "path": "moved.py"})

    stage = stage_in(
        tmp_path, write("a.py", "one\n") + edit("b.py", "one", "two"), say("done"), before_tool=moved
    )
    await stage.run("go")
    assert (tmp_path / "moved.py").read_text() == "two\n"


async def test_a_call_behind_a_failed_one_gets_its_turn(tmp_path: Path) -> None:
    stage = stage_in(tmp_path, edit("n.py", "one", "two") + write("n.py", "new"), say("done"))
    await stage.run("go")
    assert [result.is_error for result in stage.results] == [True, False]


async def test_an_abort_answers_those_that_wait_for_their_place(tmp_path: Path) -> None:
    (tmp_path / "n.py").write_text("old\n")
    stage = stage_in(
        tmp_path,
        call("bash", command="touch n.py; sleep 600")
        + edit("n.py", "old", "new")
        + call("read", path="n.py"),
    )

    def stop(event: Event) -> None:
        if isinstance(event, ToolExecutionStart) and event.tool_name == "read":
            asyncio.get_running_loop().call_later(0.2, stage.abort.set)

    stage.on_event = stop
    async with asyncio.timeout(20):
        await stage.run("go")
    assert stage.result_texts[1:] == ["Operation aborted", "Operation aborted"]
    assert (tmp_path / "n.py").read_text() == "old\n"


async def test_approvals_and_hooks_get_arguments_under_the_tools_own_names(
    tmp_path: Path,
) -> None:
    seen: list[dict[str, Any]] = []

    async def look(call: ToolCall, arguments: dict[str, Any], parent_id: str | None) -> ToolCallVerdict:
        seen.append(arguments)
        return ToolCallVerdict(is_blocked=True)

    stage = stage_in(
        tmp_path,
        call("bash", cmd="rm -rf x", workdir="/etc")
        + call("write", filePath="/etc/passwd", contents="x")
        + call("edit", file="/etc/passwd", old_string="a", new_string="b"),
        say("done"),
        before_tool=look,
    )
    await stage.run("go")
    assert seen == [
        {"command": "rm -rf x", "cwd": "/etc"},
        {"path": "/etc/passwd", "content": "x"},
        {"path": "/etc/passwd", "edits": [{"oldText": "a", "newText": "b"}]},
    ]
