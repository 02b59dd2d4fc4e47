"""Plan mode: nothing changes, by whatever call; a plan ends it, when somebody says so."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from app.engine.planning.plan_mode import ACCEPT, STAY, PlanReply
from app.engine.planning.planning_tools import plan_tool, todo_tool
from app.engine.planning.todo_changes import phases_from_plan
from app.providers.scripted import call, say
from app.values.events import PlanModeChanged, QuestionAsked
from app.values.todos import TodoItem, TodoPhase, items_of
from tests.engine.stage import Play
from tests.permits.test_gate import results, stage
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


def planning(folder: Path, *answers: Any, asks: Any = "program", **more: Any) -> Play:
    play = stage(folder, *answers, asks=asks, **more)
    session = play.session
    session.tools.register(plan_tool(session.plan.propose), owner="test")
    session.tools.register(todo_tool(lambda: session.todos.phases, session.todos.change), owner="test")
    play.effective_settings.set("todo.reminders", False)
    session.plan.switch(True)
    return play


def answering(play: Play, *replies: Any) -> None:
    waiting = list(replies)

    def answer(event: Any) -> None:
        if isinstance(event, QuestionAsked) and event.plan is not None:
            event.answer.set_result(waiting.pop(0))

    play.session.subscribe(answer)


def proposed() -> Any:
    return call("propose_plan", title="Four oars", plan=PLAN)


def test_a_plans_steps_are_its_top_level_items_by_heading():
    phases = phases_from_plan("Four oars", PLAN)
    assert [(phase.name, [item.content for item in phase.tasks]) for phase in phases] == [
        ("Look", ["Read a.py", "Count the oars"]),
        ("Change", ["Give them four"]),
    ]
    assert phases_from_plan("Prose", "I would think about it.\n\n    - indented code") == ()


async def test_an_accepted_plan_becomes_the_list_and_the_mode_comes_back(tmp_path: Path) -> None:
    play = planning(tmp_path, proposed(), say("I begin."), asks="person")
    assert "plan_mode" in play.session.requests.sections()
    answering(play, PlanReply(accepts=True))
    await play.prompt("four oars")
    assert results(play) == [
        "The user accepted the plan. Carry it out now; permissions are those of mode ask.\n"
        "Its 3 steps are the todo list."
    ]
    assert list(states(play.session.todos.phases)) == ["Read a.py", "Count the oars", "Give them four"]
    assert not play.session.state.is_planning and play.session.state.permission_mode == "ask"
    assert [event.is_on for event in play.all(PlanModeChanged)] == [True, False]
    first, second = ({tool.name for tool in context.tools} for context in play.script.contexts)
    assert "propose_plan" in first and not {"write", "edit"} & first
    assert "propose_plan" not in second and {"write", "edit", "bash"} <= second
    assert "plan_mode" not in play.session.requests.sections()


async def test_words_go_to_the_agent_who_proposes_anew(tmp_path: Path) -> None:
    play = planning(tmp_path, proposed(), proposed(), say("Good."))
    answering(play, "six, not four", ACCEPT)
    await play.prompt("four oars")
    assert results(play)[0] == (
        "The user did not accept it yet. Their words: six, not four\nChange it and propose it again."
    )
    assert not play.session.state.is_planning


async def test_a_plan_that_was_changed_is_the_one_that_counts(tmp_path: Path) -> None:
    play = planning(tmp_path, proposed(), say("Good."))
    answering(play, PlanReply(accepts=True, plan="1. Only this"))
    await play.prompt("four oars")
    assert "They changed it; this counts:\n\n1. Only this\n" in results(play)[0]
    assert [item.content for item in items_of(play.session.todos.phases)] == ["Only this"]


@pytest.mark.parametrize(
    "answer", [STAY, None, PlanReply(accepts=False)], ids=["stay", "no answer", "escape"]
)
async def test_staying_ends_the_run_in_plan_mode(tmp_path: Path, answer: Any) -> None:
    play = planning(tmp_path, proposed(), say("never said"))
    answering(play, answer)
    await play.prompt("four oars")
    assert play.session.state.is_planning
    assert play.script.call_count == 1


async def test_where_nobody_can_accept_the_plan_is_the_answer(tmp_path: Path) -> None:
    play = planning(tmp_path, proposed(), say("never said"), asks="nobody")
    await play.prompt("four oars")
    assert results(play) == ["The plan is the answer: no person can accept it here. Nothing was changed."]
    assert play.script.call_count == 1
    assert play.session.plan.unanswered is not None
    assert play.session.state.is_planning


async def test_a_run_that_is_stopped_takes_its_question_back(tmp_path: Path) -> None:
    play = planning(tmp_path, proposed(), say("never said"))
    await play.session.prompt("four oars")
    await play.until(lambda: any(event.plan for event in play.all(QuestionAsked)))
    await play.session.abort()
    assert play.all(QuestionAsked)[0].answer.cancelled()
    assert play.session.state.is_planning


async def test_nobody_is_reminded_of_todos_while_nothing_can_be_done(tmp_path: Path) -> None:
    play = planning(tmp_path, say("I looked."), say("I looked again."), say("never said"))
    play.effective_settings.set("todo.reminders", True)
    await play.session.todos.set([TodoPhase(name="Work", tasks=(TodoItem(content="Paint it"),))])
    await play.prompt("look")
    assert play.script.call_count == 1
    play.session.plan.switch(False)
    await play.prompt("now do it")
    assert play.script.call_count == 3


async def test_a_refusal_names_plan_mode_and_no_longer_when_it_is_over(tmp_path: Path) -> None:
    play = planning(
        tmp_path, call("bash", command="touch a"), say("ok"), call("bash", command="touch a"), say("ok")
    )
    await play.prompt("go")
    assert "This was refused by plan mode" in results(play)[0]
    play.session.plan.switch(False)
    play.session.permissions.rules.set_mode("read-only")
    await play.prompt("go on")
    assert "This was refused by mode read-only" in results(play)[1]


async def test_another_mode_of_permissions_ends_it(tmp_path: Path) -> None:
    play = planning(tmp_path)
    play.session.permissions.rules.set_mode("full")
    assert not play.session.state.is_planning
    assert "write" in play.session.tools.active()


async def test_waiting_for_an_answer_costs_nothing_else(tmp_path: Path) -> None:
    play = planning(tmp_path, proposed(), say("I begin."))
    await play.session.prompt("four oars")
    await play.until(lambda: any(event.plan for event in play.all(QuestionAsked)))
    question = play.all(QuestionAsked)[0]
    assert question.title == f"Plan: Four oars\n\n{PLAN}"
    assert question.options == (ACCEPT, STAY)
    question.answer.set_result(ACCEPT)
    async with asyncio.timeout(10):
        await play.session.wait_until_idle()
    assert not play.session.state.is_planning
