"""The list of todos in a session: the tool, its place in the tree, compaction, reminders, what people change."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from app.engine.planning.planning_tools import make_todo_tool
from app.providers.scripted import call, say
from app.sessions.session_log import SessionLog
from app.values.events import AgentSettled, TodoAutoClear, TodoReminder, TodosChanged
from app.values.messages import CustomMessage, ToolResultMessage
from app.values.todos import TodoItem, TodoPhase, todo_items_of_phases
from tests.agent.scripted_loop import plain
from tests.engine.scripted_session import ScriptedSession
from tests.support.sessions import parts_of
from tests.todos.test_changes import states

ONE_BY_ONE = [{"name": "Work", "tasks": ["First", "Second", "Third"]}]


def playing(folder: Path, *answers: Any, **more: Any) -> ScriptedSession:
    harness = ScriptedSession(folder, *answers, **more)
    harness.session.tools.register_tool(
        make_todo_tool(lambda: harness.session.todos.phases, harness.session.todos.apply_change), owner="test"
    )
    return harness


def result(harness: ScriptedSession) -> ToolResultMessage:
    return next(one for one in reversed(harness.session.messages) if isinstance(one, ToolResultMessage))


async def test_the_agent_keeps_its_list_and_everybody_hears_of_it(tmp_path: Path) -> None:
    harness = playing(
        tmp_path, call("todo", op="set", phases=ONE_BY_ONE), call("todo", op="done"), say("Which next?")
    )
    await harness.prompt("go")
    assert states(harness.session.todos.phases) == {
        "First": "completed",
        "Second": "in_progress",
        "Third": "pending",
    }
    assert plain(result(harness)) == "1 of 3 closed. Work:\n- [x] First\n- [>] Second\n- [ ] Third"
    assert [len(todo_items_of_phases(event.phases)) for event in harness.all(TodosChanged)] == [3, 3]


@pytest.mark.parametrize(
    "arguments",
    [
        {"op": "init", "phases": '[{"name": "Work", "tasks": ["First"]}]'},
        {
            "operation": "set",
            "phases": [{"name": "Work", "tasks": [{"content": "First", "status": "pending"}]}],
        },
        {"op": "set", "phase": "Work", "tasks": ["First"]},
        {"op": "append", "phase": "Work", "task": "First"},
    ],
    ids=lambda arguments: " ".join(arguments),
)
async def test_other_agents_ways_to_say_it_are_understood(tmp_path: Path, arguments: dict[str, Any]) -> None:
    harness = playing(tmp_path, call("todo", **arguments), say("Shall I?"))
    await harness.prompt("go")
    assert [
        (phase.name, [item.content for item in phase.tasks]) for phase in harness.session.todos.phases
    ] == [("Work", ["First"])]


async def test_an_operation_on_nothing_is_an_error_with_the_list(tmp_path: Path) -> None:
    harness = playing(
        tmp_path,
        call("todo", op="set", phases=ONE_BY_ONE),
        call("todo", op="done", task="Fourth"),
        say("Hm?"),
    )
    await harness.prompt("go")
    assert result(harness).is_error
    assert "no item “Fourth”" in plain(result(harness)) and "“Third”" in plain(result(harness))
    assert len(harness.all(TodosChanged)) == 1


# The end of a run


async def test_open_items_are_reminded_of_once_in_a_run_that_changed_them(tmp_path: Path) -> None:
    harness = playing(
        tmp_path,
        call("todo", op="set", phases=ONE_BY_ONE),
        say("Enough for today."),
        call("todo", op="done"),
        say("I stop here."),
        say("Something else."),
        call("todo", op="view"),
        say("I looked."),
    )
    await harness.prompt("go")
    assert [event.attempt for event in harness.all(TodoReminder)] == [1]
    told = [plain(message) for message in harness.session.messages if isinstance(message, CustomMessage)]
    assert told[0].startswith("3 items are still open:\n- [>] First\n- [ ] Second\n- [ ] Third\n")
    assert told[0].endswith("do not repeat it.")
    assert harness.script.request_count == 4
    await harness.prompt("unrelated")
    await harness.prompt("look at the list")
    assert len(harness.all(TodoReminder)) == 1 and harness.script.request_count == 7
    assert len(harness.all(AgentSettled)) == 3


async def test_a_list_of_the_user_is_reminded_of_in_the_run_that_follows(tmp_path: Path) -> None:
    harness = playing(tmp_path, say("I stop."), say("I stop still."), say("Other work."))
    await harness.session.todos.replace_by_user([TodoPhase(name="Work", tasks=(TodoItem(content="Tea"),))])
    await harness.prompt("go")
    assert len(harness.all(TodoReminder)) == 1 and harness.script.request_count == 2
    await harness.prompt("unrelated")
    assert len(harness.all(TodoReminder)) == 1 and harness.script.request_count == 3


@pytest.mark.parametrize(
    "answers",
    [
        [say("Shall I go on with the second?")],
        [
            call("todo", op="block", task="First", note="a key"),
            call("todo", op="drop", tasks=["Second", "Third"]),
            say("So."),
        ],
        [call("todo", op="done", tasks=["First", "Second", "Third"]), say("All done.")],
        [say("cut", error="overloaded", breaks_after=0)],
    ],
    ids=["asks", "waits", "is done", "failed"],
)
async def test_there_is_no_reminder_when_the_agent(tmp_path: Path, answers: list[Any]) -> None:
    harness = playing(tmp_path, call("todo", op="set", phases=ONE_BY_ONE), *answers)
    harness.effective_settings.set("retry.enabled", False)
    await harness.prompt("go")
    assert harness.all(TodoReminder) == []


async def test_a_stop_is_a_stop(tmp_path: Path) -> None:
    gate = asyncio.Event()
    harness = playing(tmp_path, call("todo", op="set", phases=ONE_BY_ONE), say("So", gate=gate))
    await harness.session.prompt("go")
    await harness.until(lambda: harness.script.request_count == 2)
    await harness.session.abort()
    assert harness.all(TodoReminder) == []


async def test_reminders_can_be_switched_off(tmp_path: Path) -> None:
    harness = playing(tmp_path, call("todo", op="set", phases=ONE_BY_ONE), say("I stop."))
    harness.effective_settings.set("todo.reminders", False)
    await harness.prompt("go")
    assert harness.all(TodoReminder) == []


# Its place


async def test_the_list_is_that_of_the_place_in_the_tree(tmp_path: Path) -> None:
    harness = playing(
        tmp_path,
        say("Hello."),
        call("todo", op="set", phases=ONE_BY_ONE),
        say("Good?"),
        call("todo", op="done"),
        say("?"),
    )
    await harness.prompt("hi")
    nowhere = harness.session.log.leaf_id
    await harness.prompt("plan")
    planned = harness.session.log.leaf_id
    await harness.prompt("on")
    assert states(harness.session.todos.phases)["First"] == "completed"
    await harness.session.branches.go_to_entry(planned)
    assert states(harness.session.todos.phases)["First"] == "in_progress"
    await harness.session.branches.go_to_entry(nowhere)
    assert harness.session.todos.phases == ()
    assert nowhere is not None and planned is not None
    await harness.session.branches.go_to_entry(planned)
    assert await harness.session.branches.fork(planned, "at")
    assert states(harness.session.todos.phases)["First"] == "in_progress"


async def test_it_is_there_again_when_the_session_is_opened_anew(tmp_path: Path) -> None:
    harness = playing(
        tmp_path, call("todo", op="set", phases=ONE_BY_ONE), call("todo", op="done"), say("Next?")
    )
    await harness.prompt("go")
    path = harness.session.log.path
    await harness.session.close()
    assert path is not None
    again = ScriptedSession(tmp_path, log=SessionLog.open(path))
    assert again.session.todos.phases == harness.session.todos.phases
    await again.session.close()


async def test_a_list_that_is_none_in_the_file_is_an_empty_one(tmp_path: Path) -> None:
    harness = playing(tmp_path)
    for data in (None, {"phases": 3}, {"phases": [{"name": "x", "tasks": [{"content": "  "}]}]}):
        await harness.session.notes.append_custom_entry("bayou.todos", data)
        assert harness.session.todos.phases == ()


FORTY_THREE = tuple(f"Item {number}: {'word ' * 5}{number}" for number in range(43))


async def test_43_items_stand_word_for_word_behind_three_summaries(tmp_path: Path) -> None:
    harness = playing(tmp_path, *[say("long " * 3_000) for _ in range(3)], *[say("The summary.")] * 9)
    harness.effective_settings.set("compaction.keepRecentTokens", 10)
    harness.effective_settings.set("todo.reminders", False)
    await harness.session.todos.replace_by_user(
        [TodoPhase(name="Much", tasks=tuple(TodoItem(content=text) for text in FORTY_THREE))]
    )
    for number in range(3):
        harness.script.responses[:] = [say("long " * 3_000), say("The summary."), say("The summary.")]
        await harness.prompt(f"prompt {number}")
        summary = (await harness.session.compaction.compact()).summary
        assert summary.count("<todo-list>") == 1
        assert [line for line in FORTY_THREE if f"] {line}\n" not in summary] == []
        asked = str(harness.script.received_contexts[-1].messages)
        assert "<todo-list>" not in asked or number == 0


# People and programs


async def test_the_agent_learns_of_a_list_that_the_user_changed(tmp_path: Path) -> None:
    harness = playing(tmp_path, say("Hello."), say("I see."))
    await harness.prompt("hi")
    await harness.session.todos.replace_by_user([TodoPhase(name="Work", tasks=(TodoItem(content="Tea"),))])
    harness.effective_settings.set("todo.reminders", False)
    await harness.prompt("on")
    told = [plain(message) for message in harness.script.received_contexts[1].messages]
    assert "The user changed the todo list. It is now:\nWork:\n- [ ] Tea" in told
    count = len(harness.events)
    await harness.session.todos.replace_by_user(harness.session.todos.phases)
    assert len(harness.events) == count


async def test_secrets_in_a_list_that_a_person_set_reach_neither_model_nor_file(tmp_path: Path) -> None:
    key = "ghp_" + "Ab3d" * 9
    harness = playing(tmp_path, say("ok"), say("ok"), say("ok"))
    wanted = (TodoPhase(name="Work", tasks=(TodoItem(content=f"Try {key}"), TodoItem(content="Look"))),)
    after = await harness.session.todos.replace_by_user(wanted)
    assert await harness.session.todos.replace_by_user(wanted) == after, "the same list again is no other one"
    await harness.prompt("go on")
    told = [plain(one) for context in harness.script.received_contexts for one in context.messages]
    assert any("Try [secret:github-token:" in text for text in told) and key not in "".join(told)
    file = harness.session.log.path
    assert file is not None and key not in file.read_text()


async def test_a_list_that_is_done_is_cleared_and_stays_so(tmp_path: Path) -> None:
    harness = playing(tmp_path, call("todo", op="set", phases=ONE_BY_ONE), say("?"))
    parts_of(harness.session).planning.todos.clear_seconds = 0
    await harness.prompt("go")
    closed = TodoPhase(name="Work", tasks=(TodoItem(content="First", status="completed"),))
    await harness.session.todos.replace_by_user([closed])
    await harness.until(lambda: bool(harness.all(TodoAutoClear)))
    assert harness.session.todos.phases == ()
    path = harness.session.log.path
    await harness.session.close()
    assert path is not None
    assert ScriptedSession(tmp_path, log=SessionLog.open(path)).session.todos.phases == ()
