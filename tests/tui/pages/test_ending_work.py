"""Leaving a session, or bayou, while jobs or the agent are at work."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.providers.scripted import call, say
from app.tui.features.leave_confirmation import LeaveSessionConfirmation
from tests.agent.scripted_loop import BlockingTool
from tests.engine.scripted_session import ScriptedSession
from tests.engine.test_jobs import Slow
from tests.tui.pages.person import at_the_keyboard


@pytest.fixture
async def harness(tmp_path: Path) -> AsyncIterator[ScriptedSession]:
    """One job is running: `a slow one`."""
    slow = Slow()
    harness = ScriptedSession(tmp_path, call("slow"), say("I go on."), say("I see."), tools=[slow.tool])
    await harness.prompt("go")
    yield harness
    await harness.session.close()


@pytest.mark.parametrize(
    ("keys", "leaves", "is_pinned"),
    [
        (["enter"], True, True),
        (["down", "down", "enter"], True, False),
        (["down", "down", "down", "enter"], False, False),
        (["escape"], False, False),
    ],
    ids=["keep", "end", "stay", "escape"],
)
async def test_a_session_with_a_job_is_left_as_answered(
    harness: ScriptedSession, keys: list[str], leaves: bool, is_pinned: bool
) -> None:
    answers: list[bool] = []
    async with at_the_keyboard() as person:
        ending = LeaveSessionConfirmation(harness.session, person.ask)

        async def leave() -> None:
            answers.append(await ending.confirm_session_switch())

        async with person.asked(leave()):
            assert "Leave this session? 1 job would be stopped" in person.sees
            assert "a slow one" in person.sees
            await person.press(*keys)
    assert answers == [leaves]
    assert harness.session.jobs.get("job1").is_pinned is is_pinned


async def test_a_pinned_job_is_asked_about_only_when_bayou_ends(harness: ScriptedSession) -> None:
    harness.session.jobs.set_job_pinned("job1")
    answers: list[bool] = []
    async with at_the_keyboard() as person:
        ending = LeaveSessionConfirmation(harness.session, person.ask)
        assert await ending.confirm_session_switch()

        async def leave() -> None:
            answers.append(await ending.confirm_quit())

        async with person.asked(leave()):
            assert "Quit bayou? 1 job would be stopped" in person.sees
            await person.press("down", "down", "enter")
    assert answers == [False]


async def test_a_session_at_work_is_left_only_when_confirmed(tmp_path: Path) -> None:
    gate = BlockingTool("gate")
    harness = ScriptedSession(tmp_path, call("gate"), say("never"), tools=[gate.tool])
    await harness.session.prompt("go")
    await gate.started.wait()
    answers: list[bool] = []
    async with at_the_keyboard() as person:

        async def leave() -> None:
            answers.append(
                await LeaveSessionConfirmation(harness.session, person.ask).confirm_session_switch()
            )

        async with person.asked(leave()):
            assert "The agent is working." in person.sees and "Leave and stop the agent" in person.sees
            await person.press("enter")
    await harness.session.close()
    assert answers == [True]


async def test_nothing_is_asked_when_nothing_runs(tmp_path: Path) -> None:
    harness = ScriptedSession(tmp_path)
    async with at_the_keyboard() as person:
        ending = LeaveSessionConfirmation(harness.session, person.ask)
        assert await ending.confirm_session_switch() and await ending.confirm_quit()
    await harness.session.close()


async def test_who_waits_leaves_when_the_agent_has_the_results(tmp_path: Path) -> None:
    slow = Slow()
    harness = ScriptedSession(tmp_path, call("slow"), say("I go on."), say("I see."), tools=[slow.tool])
    await harness.prompt("go")
    answers: list[bool] = []
    async with at_the_keyboard() as person:

        async def leave() -> None:
            answers.append(await LeaveSessionConfirmation(harness.session, person.ask).confirm_quit())

        async with person.asked(leave()):
            await person.press("down", "enter")
            assert "Waiting for the jobs to finish" in person.sees and "a slow one" in person.sees
            slow.done.set()
    assert answers == [True] and harness.script.request_count == 3
    await harness.session.close()


async def test_who_waits_can_still_stay(harness: ScriptedSession) -> None:
    answers: list[bool] = []
    async with at_the_keyboard() as person:

        async def leave() -> None:
            answers.append(await LeaveSessionConfirmation(harness.session, person.ask).confirm_quit())

        async with person.asked(leave()):
            await person.press("down", "enter")
            await person.press("escape")
    assert answers == [False] and harness.session.jobs.running_jobs()
