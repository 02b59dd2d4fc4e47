"""Edits before they run: their diffs, and stopping an answer with a doomed edit."""

from pathlib import Path
from typing import Any

import pytest

from app.agent.hooks import ToolCallVerdict
from app.engine.core.hooks import Hooks
from app.engine.permissions.permission_context import PermissionContext
from app.providers.scripted import ScriptedAnswer, call, say
from app.values.content import Text, ToolCall
from app.values.events import MessageEnd, MessageUpdate, ToolExecutionEnd
from app.values.messages import AssistantMessage
from app.values.stream import ToolCallEnd
from tests.engine.scripted_session import ScriptedSession
from tools.builtin.bash import make_bash_tool
from tools.builtin.edit import make_edit_tool_with_old_texts
from tools.builtin.read import make_read_tool
from tools.builtin.write import make_write_tool

LINES = "".join(f"line {number}\n" for number in range(1, 31))
SLOW = {"tokens_per_second": 1000, "piece": (12, 16)}
LONG = "".join(f"new line {number}\n" for number in range(1, 60))


def harness(
    tmp_path: Path, *responses: Any, rules: dict[str, Any] | None = None, **more: Any
) -> ScriptedSession:
    folder = tmp_path / "project"
    folder.mkdir(exist_ok=True)
    made = ScriptedSession(
        tmp_path,
        *responses,
        tools=[make_edit_tool_with_old_texts(), make_write_tool(), make_read_tool(), make_bash_tool()],
        cwd=folder,
        **{**SLOW, **more},
    )
    for name, value in (rules or {}).items():
        made.effective_settings.set(name, value)
    return made


async def preview(made: ScriptedSession, **arguments: Any) -> str:
    result = await made.session.previews.preview_call("edit", arguments)
    return result.details["patch"] if result is not None and result.details is not None else ""


async def test_the_preview_of_an_edit_is_the_diff_of_its_result(tmp_path: Path) -> None:
    edits = [
        {"oldText": "line 3\nline 4\n", "newText": "line 3\nLINE 4\n"},
        {"oldText": "line 20\n", "newText": LONG},
    ]
    made = harness(tmp_path, call("edit", path="a.txt", edits=edits), say("done"))
    (tmp_path / "project" / "a.txt").write_text(LINES)
    shown = await preview(made, path="a.txt", edits=edits)
    await made.prompt("go")

    def rows(patch: str) -> list[str]:
        return [
            line for line in patch.split("\n") if line[:1] in ("+", "-") and line[:3] not in ("+++", "---")
        ]

    assert rows(shown) == rows(made.all(ToolExecutionEnd)[0].result.details["patch"])


@pytest.mark.parametrize("how", ["rule", "secret", "outside", "link", "binary", "large"])
async def test_files_that_the_model_may_not_read_have_no_preview(tmp_path: Path, how: str) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    rules: dict[str, Any] = {}
    path, data = "a.txt", "HIDDEN above\nline\nHIDDEN below\n"
    if how == "rule":
        rules["permissions.deny"] = ["read: a.txt"]
    elif how == "secret":
        path = ".env"
    elif how == "outside":
        path = "../a.txt"
    elif how == "link":
        (tmp_path / "b.txt").write_text(data)
        (folder / "a.txt").symlink_to("../b.txt")
    elif how == "binary":
        data = "HIDDEN\0above\nline\n" * 9
    else:
        data += "x" * 2_100_000
    if how != "link":
        (folder / path).write_text(data)
    made = harness(
        tmp_path,
        say("done"),
        rules=rules,
        standing=PermissionContext(home=tmp_path / "home", agent_dir=tmp_path / "agent", approver="none"),
    )
    edits = [{"oldText": "line\n", "newText": "LINE\n"}]
    assert await preview(made, path=path, edits=edits) == ""
    if how in ("rule", "secret", "outside", "link"):
        seen = await made.session.previews.preview_call(
            "edit", {"path": path, "edits": edits}, is_for_person=True
        )
        assert seen is not None and "HIDDEN above" in str(seen.details)


async def test_secrets_in_a_preview_are_masked(tmp_path: Path) -> None:
    key = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"
    made = harness(tmp_path, say("done"))
    (tmp_path / "project" / "a.py").write_text(f'token = "{key}"\nx = 1\n')
    patch = await preview(made, path="a.py", edits=[{"oldText": "x = 1\n", "newText": "x = 2\n"}])
    assert "x = 1" in patch
    assert key not in patch


LOST = [{"oldText": "not in it at all\n", "newText": "x\n"}, {"oldText": "line 3\n", "newText": LONG}]
ABORT = {"edit.streamingAbort": True}


def answer(made: ScriptedSession, number: int = 0) -> AssistantMessage:
    ends = [e.message for e in made.all(MessageEnd) if isinstance(e.message, AssistantMessage)]
    return ends[number]


async def test_an_edit_whose_old_text_is_lost_stops_the_answer(tmp_path: Path) -> None:
    thinking = Text(text="I change it.")
    first = ScriptedAnswer(blocks=(thinking,)) + call("edit", path="a.txt", edits=LOST)
    made = harness(tmp_path, first, say("done"), rules=ABORT)
    file = tmp_path / "project" / "a.txt"
    file.write_text(LINES)
    await made.prompt("go")
    cut = answer(made)
    assert cut.stop_reason == "toolUse"
    assert [type(block) for block in cut.content] == [Text, ToolCall]
    assert cut.tool_calls[0].arguments == {"path": "a.txt", "edits": LOST[:1]}
    end = made.all(ToolExecutionEnd)[0]
    assert end.is_error
    assert "oldText was not found in a.txt" in end.result.content[0].text
    assert "stopped at this edit" in end.result.content[0].text
    assert file.read_text() == LINES
    assert answer(made, 1).text == "done"
    ended = [e.assistant_message_event for e in made.all(MessageUpdate)]
    assert [e.tool_call for e in ended if isinstance(e, ToolCallEnd)] == [cut.tool_calls[0]]
    sent = made.script.received_contexts[1].messages
    assert [type(message).__name__ for message in sent[-2:]] == ["AssistantMessage", "ToolResultMessage"]


async def test_a_path_that_is_not_there_stops_it_too(tmp_path: Path) -> None:
    edits = [{"oldText": "a", "newText": "b"}, {"oldText": "c", "newText": LONG}]
    made = harness(tmp_path, call("edit", path="gone.txt", edits=edits), say("done"), rules=ABORT)
    await made.prompt("go")
    assert answer(made).stop_reason == "toolUse"
    assert len(answer(made).tool_calls[0].arguments["edits"]) == 1
    assert "does not exist" in made.all(ToolExecutionEnd)[0].result.content[0].text


async def test_it_is_off_until_it_is_set(tmp_path: Path) -> None:
    made = harness(tmp_path, call("edit", path="a.txt", edits=LOST), say("done"))
    (tmp_path / "project" / "a.txt").write_text(LINES)
    await made.prompt("go")
    assert answer(made).tool_calls[0].arguments["edits"] == LOST


class _Listening(Hooks):
    def may_change_tool_calls(self) -> bool:
        return True

    async def before_tool(
        self, call: ToolCall, arguments: dict[str, Any], parent_id: str | None = None
    ) -> Any:
        edits = [
            {**edit, "oldText": edit["oldText"].replace("not in it at all", "line 9")}
            for edit in arguments["edits"]
        ]
        return (
            ToolCallVerdict(arguments={**arguments, "edits": edits})
            if call.name == "edit"
            else ToolCallVerdict()
        )


@pytest.mark.parametrize("before", ["command", "write", "read", "no path", "hook", "ask", "mark"])
async def test_edits_that_may_still_apply_are_not_stopped(tmp_path: Path, before: str) -> None:
    edits = LOST
    first: Any = ScriptedAnswer()
    more: dict[str, Any] = {}
    rules: dict[str, Any] = dict(ABORT)
    if before == "command":
        first = call("bash", command="echo 'not in it at all' >> a.txt")
        rules["permissions.mode"] = "full"
    elif before == "write":
        first = call("write", path="a.txt", content=f"{LINES}not in it at all\n")
    elif before == "read":
        first = call("read", path="./a.txt")
    elif before == "no path":
        first = call("read", path="a\0b")
    elif before == "hook":
        more["hooks"] = _Listening()
    elif before == "ask":
        rules["permissions.ask"] = ["edit: a.txt"]
        more["standing"] = PermissionContext(home=tmp_path, agent_dir=tmp_path / "agent", approver="none")
    else:
        edits = [{**LOST[0], "oldText": "[secret:token:0123456789]"}, LOST[1]]
    made = harness(
        tmp_path, first + call("edit", path="a.txt", edits=edits), say("done"), rules=rules, **more
    )
    (tmp_path / "project" / "a.txt").write_text(LINES)
    await made.prompt("go")
    assert answer(made).tool_calls[-1].arguments["edits"] == edits
    if before in ("command", "write", "hook"):
        assert not any(end.is_error for end in made.all(ToolExecutionEnd))


async def test_a_stop_by_the_person_is_a_stop(tmp_path: Path) -> None:
    made = harness(tmp_path, call("edit", path="a.txt", edits=LOST), say("done"), rules=ABORT)
    (tmp_path / "project" / "a.txt").write_text(LINES)
    await made.session.prompt("go")
    await made.until(lambda: any(isinstance(e, MessageUpdate) for e in made.events))
    await made.session.abort()
    assert answer(made).stop_reason == "aborted"
