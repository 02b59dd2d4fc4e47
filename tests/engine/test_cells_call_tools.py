"""Cells call the agent's tools: the same way as any other call, told under the cell."""

from pathlib import Path

from app.providers.scripted import QueuedResponse, call, say
from app.values.content import text_of
from app.values.events import Event, QuestionAsked, ToolExecutionEnd
from app.values.messages import ToolResultMessage
from tests.compaction.project_session import ProjectSession
from tests.support.sessions import parts_of
from tools.call_effects import Effects, ProgramOfCall


async def scene_in(folder: Path, *responses: QueuedResponse) -> ProjectSession:
    scene = await ProjectSession(folder).open()
    scene.script.responses[:] = [*responses, say("ok")]
    return scene


def result_in(scene: ProjectSession) -> ToolResultMessage:
    return next(one for one in reversed(scene.session.messages) if isinstance(one, ToolResultMessage))


async def test_a_cell_reads_writes_and_runs_several_at_once(tmp_path: Path) -> None:
    code = """
tool.write(path="a.txt", content="one\\n")
text = tool.read("a.txt")
import asyncio
first, second = await asyncio.gather(tool.aio.bash(command="echo 1"), tool.aio.bash(command="echo 2"))
text.strip(), first.strip(), second.strip(), type(text.details)
"""
    scene = await scene_in(tmp_path, call("eval", code=code))
    ended: list[ToolExecutionEnd] = []
    scene.session.subscribe(
        lambda event: ended.append(event) if isinstance(event, ToolExecutionEnd) else None
    )
    await scene.prompt("go")
    await scene.session.events.wait_until_delivered()
    result = result_in(scene)
    assert text_of(result.content) == "Out: ('one', '1', '2', <class 'dict'>)", text_of(result.content)
    assert [(one["name"], one["subject"], one["state"]) for one in result.details["calls"]] == [
        ("write", "a.txt", "done"),
        ("read", "a.txt", "done"),
        ("bash", "echo 1", "done"),
        ("bash", "echo 2", "done"),
    ]
    within = [one for one in ended if one.parent_tool_call_id]
    assert len(within) == 4 and {one.parent_tool_call_id for one in within} == {result.tool_call_id}
    card = scene.session.tools.draw_call_card(
        next(c for m in scene.session.messages for c in getattr(m, "tool_calls", ())),
    )
    assert card.title == "eval"
    await scene.session.close()


async def test_a_tool_that_fails_raises_and_some_are_not_called(tmp_path: Path) -> None:
    code = """
for name, given in (("read", {"path": "nowhere"}), ("eval", {"code": "1"}), ("no_such", {}), ("read", {"paths": 1})):
    try:
        getattr(tool, name)(**given)
    except tool.ToolFailed as problem:
        print(str(problem).splitlines()[0])
"""
    scene = await scene_in(tmp_path, call("eval", code=code))
    await scene.prompt("go")
    lines = text_of(result_in(scene).content).splitlines()
    assert "nowhere" in lines[0] and lines[1] == "eval cannot be called from a cell."
    assert "no_such" in lines[2] and "Validation failed" in lines[3]
    await scene.session.close()


async def test_the_gate_is_asked_for_each_call_and_nothing_runs_in_read_only(tmp_path: Path) -> None:
    scene = await scene_in(tmp_path, call("eval", code="open('made.txt', 'w')"))
    scene.session.permissions.rules.set_mode("read-only")
    await scene.prompt("go")
    told = result_in(scene)
    assert told.is_error and "refused by mode read-only" in text_of(told.content)
    assert not list(tmp_path.rglob("made.txt"))
    scene.session.permissions.rules.set_mode("full")
    asked: list[QuestionAsked] = []

    def says_no(event: Event) -> None:
        if isinstance(event, QuestionAsked):
            asked.append(event)
            event.answer.set_result("Deny")

    scene.session.subscribe(says_no)
    scene.script.responses[:] = [call("eval", code="tool.bash(command='rm -rf ~')"), say("ok")]
    await scene.prompt("go")
    assert "The user denied it" in text_of(result_in(scene).content)
    assert [one.approval.tool_name for one in asked if one.approval] == ["bash"]
    await scene.session.close()


async def test_a_cell_that_names_a_secret_file_is_asked_about(tmp_path: Path) -> None:
    scene = await scene_in(tmp_path)
    permits, cwd = parts_of(scene.session).permission_gate, str(scene.session.cwd)

    def risk(code: str) -> str:
        cell = Effects(runs=ProgramOfCall(language="python", code=code, folder=cwd))
        return permits.judge_effects(cell, tool="eval").verdict.risk

    assert risk("open('/home/x/.ssh/id_rsa').read()") == "forbidden"
    assert risk("1 + 1") == "contained"
    await scene.session.close()


async def test_what_a_cell_does_to_files_can_be_taken_back(tmp_path: Path) -> None:
    scene = await scene_in(tmp_path, call("eval", code="open('made.txt', 'w').write('x\\n');"))
    await scene.prompt("go")
    result = result_in(scene)
    assert result.details["files"]["changed"] == 1
    await scene.session.close()
