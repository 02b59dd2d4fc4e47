"""`/plan`, and the plan that the agent proposes."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from app.engine.planning.plan_mode import PlanApprovalReply
from app.tui.features.todos.page import PlansPage, ProposedPlanScreen
from app.values.events import PlanProposed, QuestionAsked
from tests.engine.scripted_session import ScriptedSession
from tests.support.clock import Clock
from tests.tui.pages.person import Person, at_the_keyboard
from widgets.status.input_guard import TYPING_PAUSE_SECONDS

PLAN = PlanProposed(title="Four oars", plan="1. Read `a.py`\n2. Give them **four**")


def page_of(harness: ScriptedSession, person: Person) -> PlansPage:
    return PlansPage(
        harness.session, person.ask, person.say, notify_waiting=person.await_answer, clock=person.clock
    )


def question() -> QuestionAsked:
    return QuestionAsked(
        id="1", method="select", plan=PLAN, answer=asyncio.get_running_loop().create_future()
    )


async def armed(person: Person, seconds: float = 1.2) -> None:
    """Some time goes by without keys."""
    clock: Clock = person.clock
    screen = person.terminal.screen
    assert isinstance(screen, ProposedPlanScreen)
    for _ in range(round(seconds / 0.3)):
        clock.now += 0.3
        screen.start_ignoring_keys_when_visible()


@pytest.mark.parametrize(
    ("keys", "reply"),
    [
        (["enter"], PlanApprovalReply(is_accepted=True)),
        (["y"], PlanApprovalReply(is_accepted=True)),
        (["4"], PlanApprovalReply(is_accepted=False)),
        (["down", "down", "down", "enter"], PlanApprovalReply(is_accepted=False)),
        (["escape"], PlanApprovalReply(is_accepted=False)),
        (["r", *"six", "enter"], PlanApprovalReply(is_accepted=False, remark="six")),
        (["e", *"0. ", "enter"], PlanApprovalReply(is_accepted=True, plan="0. " + PLAN.plan)),
    ],
    ids=["accept", "accept-key", "number", "cursor", "stay", "remark", "edit"],
)
async def test_a_plan_is_answered_by_keys(tmp_path: Path, keys: list[str], reply: PlanApprovalReply) -> None:
    asked = question()
    async with (
        at_the_keyboard() as person,
        person.asked(page_of(ScriptedSession(tmp_path), person).show_proposed_plan(asked)),
    ):
        await person.sees_soon("Four oars", "Give them four")
        await armed(person)
        await person.press(keys[0])
        await person.press(*keys[1:])
    assert asked.answer.result() == reply


async def test_keys_that_were_meant_for_the_editor_answer_nothing(tmp_path: Path) -> None:
    asked = question()
    async with (
        at_the_keyboard() as person,
        person.asked(page_of(ScriptedSession(tmp_path), person).show_proposed_plan(asked)),
    ):
        await person.press("e", "r", "enter", "escape")
        assert not asked.answer.done() and "Give them four" in person.sees
        await armed(person, TYPING_PAUSE_SECONDS + 0.1)
        await person.press("enter")
    assert asked.answer.result() == PlanApprovalReply(is_accepted=True)


async def test_the_enter_of_a_text_accepts_no_plan_after_a_pause(tmp_path: Path) -> None:
    asked = question()
    async with (
        at_the_keyboard() as person,
        person.asked(page_of(ScriptedSession(tmp_path), person).show_proposed_plan(asked)),
    ):
        await person.sees_soon("Four oars", "Give them four")
        await armed(person)
        await person.press(*"w?")
        await armed(person, TYPING_PAUSE_SECONDS / 2)
        await person.press("enter")
        assert not asked.answer.done()
        await armed(person, TYPING_PAUSE_SECONDS)
        await person.press("enter")
    assert asked.answer.result() == PlanApprovalReply(is_accepted=True)


async def test_a_question_that_is_taken_back_closes_its_page(tmp_path: Path) -> None:
    asked = question()
    async with (
        at_the_keyboard() as person,
        person.asked(page_of(ScriptedSession(tmp_path), person).show_proposed_plan(asked)),
    ):
        asked.answer.cancel()


async def test_nothing_typed_as_a_remark_shows_the_plan_again(tmp_path: Path) -> None:
    asked = question()
    async with (
        at_the_keyboard() as person,
        person.asked(page_of(ScriptedSession(tmp_path), person).show_proposed_plan(asked)),
    ):
        await armed(person)
        await person.press("r", "escape")
        await person.sees_soon("Give them four")
        await armed(person)
        await person.press("escape")
    assert asked.answer.result() == PlanApprovalReply(is_accepted=False)


async def test_the_mode_is_switched_on_and_off(tmp_path: Path) -> None:
    harness = ScriptedSession(tmp_path)
    async with at_the_keyboard() as person:
        page = page_of(harness, person)
        await page.toggle_plan_mode()
        assert harness.session.state.is_planning
        await page.toggle_plan_mode()
        assert person.heard == [
            "Plan mode: nothing changes until you accept a plan. /plan ends it.",
            f"Plan mode is off. Permission mode: {harness.session.state.permission_mode}.",
        ]


async def test_words_behind_it_are_what_is_planned(tmp_path: Path) -> None:
    sent: list[Any] = []

    async def prompt(text: str) -> None:
        sent.append(text)

    harness = ScriptedSession(tmp_path)
    async with at_the_keyboard() as person:
        page = page_of(harness, person)
        harness.session.prompt = prompt  # type: ignore[method-assign]
        await page.toggle_plan_mode("four oars")
    assert sent == ["four oars"] and harness.session.state.is_planning
