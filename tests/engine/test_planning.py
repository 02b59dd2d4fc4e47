"""Plan mode: no call changes anything; an accepted plan ends it."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from app.engine.planning.plan_mode import ACCEPT_PLAN, STAY_IN_PLAN_MODE, PlanApprovalReply
from app.engine.planning.planning_tools import make_propose_plan_tool, make_todo_tool
from app.engine.planning.todo_changes import todo_phases_from_plan
from app.providers.scripted import call, say
from app.values.events import PlanModeChanged, QuestionAsked
from app.values.todos import TodoItem, TodoPhase, todo_items_of_phases
from tests.engine.scripted_session import ScriptedSession
from tests.permits.test_gate import gated_session, results
from tests.todos.test_changes import states

PLAN = """Why.

## Look
1. Read `a.py`
2. **Count** the oars

```
1. no step
```
## Change
- [ ] Give them four
   - two more
"""


def planning(folder: Path, *answers: Any, asks: Any = "program", **more: Any) -> ScriptedSession:
    harness = gated_session(folder, *answers, asks=asks, **more)
    session = harness.session
    session.tools.register_tool(make_propose_plan_tool(session.plan.ask_to_accept_plan), owner="test")
    session.tools.register_tool(
        make_todo_tool(lambda: session.todos.phases, session.todos.apply_change), owner="test"
    )
    harness.effective_settings.set("todo.reminders", False)
    session.plan.set_active(True)
    return harness


def answering(harness: ScriptedSession, *replies: Any) -> None:
    waiting = list(replies)

    def answer(event: Any) -> None:
        if isinstance(event, QuestionAsked) and event.plan is not None:
            event.answer.set_result(waiting.pop(0))

    harness.session.subscribe(answer)


def proposed() -> Any:
    return call("propose_plan", title="Four oars", plan=PLAN)


def test_a_plans_steps_are_its_top_level_items_by_heading():
    phases = todo_phases_from_plan("Four oars", PLAN)
    assert [(phase.name, [item.content for item in phase.tasks]) for phase in phases] == [
        ("Look", ["Read a.py", "Count the oars"]),
        ("Change", ["Give them four"]),
    ]
    assert todo_phases_from_plan("Prose", "I would think about it.\n\n    - indented code") == ()


async def test_an_accepted_plan_becomes_the_list_and_the_mode_comes_back(tmp_path: Path) -> None:
    harness = planning(tmp_path, proposed(), say("I begin."), asks="person")
    assert "plan_mode" in harness.session.requests.prompt_sections()
    answering(harness, PlanApprovalReply(is_accepted=True))
    await harness.prompt("four oars")
    assert results(harness) == [
        "The user accepted the plan. Carry it out now; permissions are those of mode ask.\n"
        "Its 3 steps are the todo list."
    ]
    assert list(states(harness.session.todos.phases)) == ["Read a.py", "Count the oars", "Give them four"]
    assert not harness.session.state.is_planning and harness.session.state.permission_mode == "ask"
    assert [event.is_on for event in harness.all(PlanModeChanged)] == [True, False]
    first, second = ({tool.name for tool in context.tools} for context in harness.script.received_contexts)
    assert "propose_plan" in first and not {"write", "edit"} & first
    assert "propose_plan" not in second and {"write", "edit", "bash"} <= second
    assert "plan_mode" not in harness.session.requests.prompt_sections()


async def test_a_comment_makes_the_agent_propose_again(tmp_path: Path) -> None:
    harness = planning(tmp_path, proposed(), proposed(), say("Good."))
    answering(harness, "six, not four", ACCEPT_PLAN)
    await harness.prompt("four oars")
    assert results(harness)[0] == (
        "The user did not accept it yet. Their words: six, not four\nChange it and propose it again."
    )
    assert not harness.session.state.is_planning


async def test_the_agent_follows_the_edited_plan(tmp_path: Path) -> None:
    harness = planning(tmp_path, proposed(), say("Good."))
    answering(harness, PlanApprovalReply(is_accepted=True, plan="1. Only this"))
    await harness.prompt("four oars")
    assert "The user changed it; follow this version:\n\n1. Only this\n" in results(harness)[0]
    assert [item.content for item in todo_items_of_phases(harness.session.todos.phases)] == ["Only this"]


@pytest.mark.parametrize(
    "answer",
    [STAY_IN_PLAN_MODE, None, PlanApprovalReply(is_accepted=False)],
    ids=["stay", "no answer", "escape"],
)
async def test_staying_ends_the_run_in_plan_mode(tmp_path: Path, answer: Any) -> None:
    harness = planning(tmp_path, proposed(), say("never said"))
    answering(harness, answer)
    await harness.prompt("four oars")
    assert harness.session.state.is_planning
    assert harness.script.request_count == 1


async def test_without_a_user_the_plan_is_the_answer(tmp_path: Path) -> None:
    harness = planning(tmp_path, proposed(), say("never said"), asks="none")
    await harness.prompt("four oars")
    assert results(harness) == [
        "The user cannot accept a plan in this run, so the plan is the answer. Nothing was changed."
    ]
    assert harness.script.request_count == 1
    assert harness.session.plan.unanswered_proposal is not None
    assert harness.session.state.is_planning


async def test_a_run_that_is_stopped_takes_its_question_back(tmp_path: Path) -> None:
    harness = planning(tmp_path, proposed(), say("never said"))
    await harness.session.prompt("four oars")
    await harness.until(lambda: any(event.plan for event in harness.all(QuestionAsked)))
    await harness.session.abort()
    assert harness.all(QuestionAsked)[0].answer.cancelled()
    assert harness.session.state.is_planning


async def test_no_todo_reminder_while_nothing_can_be_done(tmp_path: Path) -> None:
    harness = planning(tmp_path, say("I looked."), say("I looked again."), say("never said"))
    harness.effective_settings.set("todo.reminders", True)
    await harness.session.todos.replace_by_user(
        [TodoPhase(name="Work", tasks=(TodoItem(content="Paint it"),))]
    )
    await harness.prompt("look")
    assert harness.script.request_count == 1
    harness.session.plan.set_active(False)
    await harness.session.todos.replace_by_user(
        [TodoPhase(name="Work", tasks=(TodoItem(content="Paint it red"),))]
    )
    await harness.prompt("now do it")
    assert harness.script.request_count == 3


async def test_a_refusal_names_plan_mode_and_no_longer_when_it_is_over(tmp_path: Path) -> None:
    harness = planning(
        tmp_path, call("bash", command="touch a"), say("ok"), call("bash", command="touch a"), say("ok")
    )
    await harness.prompt("go")
    assert "This was refused by plan mode" in results(harness)[0]
    harness.session.plan.set_active(False)
    harness.session.permissions.rules.set_mode("read-only")
    await harness.prompt("go on")
    assert "This was refused by mode read-only" in results(harness)[1]


async def test_another_mode_of_permissions_ends_it(tmp_path: Path) -> None:
    harness = planning(tmp_path)
    harness.session.permissions.rules.set_mode("full")
    assert not harness.session.state.is_planning
    assert "write" in harness.session.tools.active_tools()


async def test_waiting_for_an_answer_costs_nothing_else(tmp_path: Path) -> None:
    harness = planning(tmp_path, proposed(), say("I begin."))
    await harness.session.prompt("four oars")
    await harness.until(lambda: any(event.plan for event in harness.all(QuestionAsked)))
    question = harness.all(QuestionAsked)[0]
    assert question.title == f"Plan: Four oars\n\n{PLAN}"
    assert question.options == (ACCEPT_PLAN, STAY_IN_PLAN_MODE)
    question.answer.set_result(ACCEPT_PLAN)
    async with asyncio.timeout(10):
        await harness.session.wait_until_idle()
    assert not harness.session.state.is_planning


async def test_a_tool_that_plan_mode_withholds_says_so_when_it_is_called(tmp_path: Path) -> None:
    harness = planning(tmp_path, call("write", path="a", content="b"), say("ok"))
    await harness.prompt("go")
    assert results(harness)[0].startswith(
        "write was not run: plan mode is on, and nothing can be changed in it."
    )
    assert not (harness.session.cwd / "a").exists()
