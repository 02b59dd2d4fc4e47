"""`/jobs`, `/kill`, `/pin`."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.providers.scripted import call, say
from app.tui.features.jobs.page import BackgroundJobsPage
from app.values.user_errors import UserError
from tests.engine.scripted_session import ScriptedSession
from tests.engine.test_jobs import Slow
from tests.tui.pages.person import Person, at_the_keyboard


def page_of(harness: ScriptedSession, person: Person) -> BackgroundJobsPage:
    return BackgroundJobsPage(harness.session, person.ask, person.say, person.copy, lambda: "ctrl+b")


@pytest.fixture
async def harness(tmp_path: Path) -> AsyncIterator[ScriptedSession]:
    """One job is running: `a slow one`."""
    slow = Slow()
    harness = ScriptedSession(tmp_path, call("slow"), say("I go on."), say("I see."), tools=[slow.tool])
    await harness.prompt("go")
    yield harness
    await harness.session.close()


async def test_the_jobs_page_without_jobs_names_the_key(tmp_path: Path) -> None:
    async with at_the_keyboard() as person:
        await page_of(ScriptedSession(tmp_path), person).open()
        assert person.heard == ["This session has no background jobs. ctrl+b moves the running tool there."]


async def test_a_job_is_pinned_copied_and_ended_from_its_panel(harness: ScriptedSession) -> None:
    async with at_the_keyboard() as person, person.asked(page_of(harness, person).open()):
        assert "a slow one" in person.sees and "so far" in person.sees
        await person.press("ctrl+t")
        await person.sees_soon("pinned")
        assert harness.session.jobs.get("job1").is_pinned
        await person.press("ctrl+y")
        assert person.copied == [("so far\n", "output")]
        await person.press("ctrl+x")
        await person.until(lambda: harness.session.jobs.get("job1").state == "killed")
        await person.sees_soon("⊘ a slow one", "stopped")
        await person.press("escape")


async def test_enter_opens_its_output(harness: ScriptedSession) -> None:
    async with at_the_keyboard() as person, person.asked(page_of(harness, person).open()):
        await person.press("enter")
        await person.sees_soon("Output of job1", "so far")
        await person.press("escape")


async def test_jobs_are_named(harness: ScriptedSession) -> None:
    async with at_the_keyboard() as person:
        page = page_of(harness, person)
        await page.pin("job1")
        await page.pin("job1")
        await page.kill("job1")
        assert person.heard == [
            "job1 keeps running when you leave this session.",
            "job1 ends with this session.",
            "Stopping job1.",
        ]
        with pytest.raises(UserError, match="nope"):
            await page.kill("nope")
        async with asyncio.timeout(5):
            await harness.session.jobs.wait("job1")
