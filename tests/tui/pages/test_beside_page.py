"""`/btw` and `/handoff`."""

from pathlib import Path

from app.providers.scripted import fail, say
from app.tui.features.side_questions.page import SideQuestionsPage
from tests.agent.scripted_loop import plain
from tests.engine.scripted_session import ScriptedSession
from tests.tui.pages.person import Person, at_the_keyboard


def page_of(harness: ScriptedSession, person: Person) -> SideQuestionsPage:
    return SideQuestionsPage(harness.session, person.ask, person.say)


async def test_an_answer_is_read_and_closed(tmp_path: Path) -> None:
    harness = ScriptedSession(tmp_path, say("Because of the race."))
    async with at_the_keyboard() as person, person.asked(page_of(harness, person).ask("why four?")):
        await person.sees_soon("By the way: why four?", "Because of the race.")
        await person.press("escape")
    assert harness.session.messages == ()


async def test_an_error_is_shown_in_place_of_the_answer(tmp_path: Path) -> None:
    harness = ScriptedSession(tmp_path, fail("no such model", status=400))
    async with at_the_keyboard() as person, person.asked(page_of(harness, person).ask("why four?")):
        await person.sees_soon("no such model")
        await person.press("escape")


async def test_without_an_argument_the_usage_is_shown(tmp_path: Path) -> None:
    async with at_the_keyboard() as person:
        page = page_of(ScriptedSession(tmp_path), person)
        await page.ask("")
        await page.draft_handoff_session("")
        assert person.heard == [
            "Usage: /btw QUESTION. It is answered without interrupting the run.",
            "Usage: /handoff GOAL of the new session.",
        ]


async def test_a_handoff_is_read_changed_and_begun_in_a_linked_session(tmp_path: Path) -> None:
    harness = ScriptedSession(tmp_path, say("The oars are two."), say("Give them four."), say("I begin."))
    await harness.prompt("count the oars")
    first = harness.session.log.path
    async with (
        at_the_keyboard() as person,
        person.asked(page_of(harness, person).draft_handoff_session("four oars")),
    ):
        await person.sees_soon("The first prompt of the new session", "Give them four.")
        await person.press(*"Now: ", "enter")
    await harness.session.wait_until_idle()
    assert [plain(message) for message in harness.session.messages[-2:]] == [
        "Now: Give them four.",
        "I begin.",
    ]
    assert harness.session.log.header.parent_session == str(first)


async def test_a_handoff_of_an_empty_session_is_refused(tmp_path: Path) -> None:
    harness = ScriptedSession(tmp_path)
    async with (
        at_the_keyboard() as person,
        person.asked(page_of(harness, person).draft_handoff_session("four oars")),
    ):
        pass
    assert person.warned == ["This session has no messages to hand over yet. Start a new one with /new."]
