"""`/jobs`, `/kill`, `/pin`."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.providers.scripted import call, say
from app.tui.features.jobs.page import JobsPage
from app.values.user_errors import UserError
from tests.engine.stage import Play
from tests.engine.test_jobs import Slow
from tests.tui.pages.person import Person, at_the_keyboard


def page_of(play: Play, person: Person) -> JobsPage:
    return JobsPage(play.session, person.ask, person.say, person.copy, lambda: "ctrl+b")


@pytest.fixture
async def play(tmp_path: Path) -> AsyncIterator[Play]:
    """One job is running: `a slow one`."""
    slow = Slow()
    play = Play(tmp_path, call("slow"), say("I go on."), say("I see."), tools=[slow.tool])
    await play.prompt("go")
    yield play
    await play.session.close()


async def test_without_a_job_the_key_that_makes_one_is_told(tmp_path: Path) -> None:
    async with at_the_keyboard() as person:
        await page_of(Play(tmp_path), person).open()
        assert person.heard == ["No job has run in the background. ctrl+b puts a tool there."]


async def test_a_job_is_pinned_copied_and_ended_from_its_panel(play: Play) -> None:
    async with at_the_keyboard() as person, person.asked(page_of(play, person).open()):
        assert "a slow one" in person.sees and "so far" in person.sees
        await person.press("ctrl+t")
        await person.sees_soon("pinned")
        assert play.session.jobs.get("job1").is_pinned
        await person.press("ctrl+y")
        assert person.copied == [("so far\n", "output")]
        await person.press("ctrl+x")
        await person.until(lambda: play.session.jobs.get("job1").state == "killed")
        await person.sees_soon("killed")
        await person.press("escape")


async def test_enter_opens_its_output(play: Play) -> None:
    async with at_the_keyboard() as person, person.asked(page_of(play, person).open()):
        await person.press("enter")
        await person.sees_soon("Output of job1", "so far")
        await person.press("escape")


async def test_jobs_are_named(play: Play) -> None:
    async with at_the_keyboard() as person:
        page = page_of(play, person)
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
            await play.session.jobs.wait("job1")
