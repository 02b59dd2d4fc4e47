"""What a server asks, filled in on one sheet."""

import asyncio
from typing import Any

import msgspec

from app.engine.questions.ask_tool import AskArguments, make_question_form
from app.mcp.elicitation_forms import make_elicitation_form
from app.tui.features.mcp.form import RequestedFormPage
from app.values.events import QuestionAsked
from tests.tui.pages.person import Person, at_the_keyboard

SCHEMA: dict[str, Any] = {
    "properties": {
        "name": {"type": "string", "title": "Your name", "description": "as on the list"},
        "oars": {"type": "integer", "title": "Oars", "default": 4, "maximum": 8},
        "size": {"title": "Size", "enum": ["small", "large"]},
    },
    "required": ["name"],
}


def question(**params: Any) -> QuestionAsked:
    form = make_elicitation_form("docs", {"message": "Which [b]boat[/b]?", **params})
    answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    return QuestionAsked(id="1", method="input", form=form, answer=answer)


def page_of(person: Person, opened: list[str] | None = None) -> RequestedFormPage:
    opens = opened if opened is not None else []

    async def open_page(url: str) -> None:
        opens.append(url)

    return RequestedFormPage(person.ask, person.await_answer, clock=person.clock, open_web_page=open_page)


async def armed(person: Person) -> None:
    """Some time goes by without keys."""
    person.clock.now += 1.0


async def test_fields_are_filled_in_checked_and_sent() -> None:
    asked = question(requestedSchema=SCHEMA)
    async with at_the_keyboard() as person, person.asked(page_of(person).show_form(asked)):
        await person.sees_soon("docs asks", "Which [b]boat[/b]?", "Never enter a password", "Your name")
        await armed(person)
        await person.press("s")
        await person.sees_soon("invalid")
        await person.press("enter", *"Ada", "enter")
        await person.sees_soon("Ada")
        await person.press("enter", "backspace", *"99", "enter")
        await person.sees_soon("at most 8")
        await person.press("backspace", "backspace", *"6", "enter", "enter", "down", "enter", "x", "s")
    assert asked.answer.result() == {"name": "Ada", "oars": "6"}


async def test_a_message_that_does_not_fit_is_scrolled() -> None:
    message = "\n".join(f"line {number}" for number in range(60))
    asked = question(message=message, requestedSchema=SCHEMA)
    async with at_the_keyboard() as person, person.asked(page_of(person).show_form(asked)):
        await person.sees_soon("line 0", "Your name", "pgup/pgdn scroll")
        await person.press(*["pagedown"] * 9)
        await person.sees_soon("line 59", "Your name")
        await armed(person)
        await person.press("d")
    assert asked.answer.result() == "decline"


async def test_keys_that_were_meant_for_the_editor_answer_nothing() -> None:
    asked = question(requestedSchema={"properties": {"name": {}}})
    async with at_the_keyboard() as person, person.asked(page_of(person).show_form(asked)):
        await person.sees_soon("docs asks")
        await person.press("d", "s", "enter")
        assert not asked.answer.done()
        await armed(person)
        await person.press("d")
    assert asked.answer.result() == "decline"


async def test_escape_cancels_and_a_question_that_is_taken_back_closes() -> None:
    asked = question(requestedSchema=SCHEMA)
    async with at_the_keyboard() as person, person.asked(page_of(person).show_form(asked)):
        await person.sees_soon("docs asks")
        await person.press("escape")
    assert asked.answer.result() is None
    again = question(requestedSchema=SCHEMA)
    async with at_the_keyboard() as person, person.asked(page_of(person).show_form(again)):
        await person.sees_soon("docs asks")
        again.answer.cancel()


async def test_a_page_is_opened_by_a_yes_alone_with_its_host_in_sight() -> None:
    opened: list[str] = []
    asked = question(mode="url", url="https://pay.example/x?y=1")
    async with at_the_keyboard() as person, person.asked(page_of(person, opened).show_form(asked)):
        await person.sees_soon("pay.example:", "https://pay.example/x?y=1")
        await person.press("2")
        assert not asked.answer.done()
        await armed(person)
        await person.press("enter")
    assert (asked.answer.result(), opened) == ("decline", [])
    asked = question(mode="url", url="https://pay.example/x?y=1")
    async with at_the_keyboard() as person, person.asked(page_of(person, opened).show_form(asked)):
        await person.sees_soon("pay.example")
        await armed(person)
        await person.press("2")
    assert (asked.answer.result(), opened) == ({}, ["https://pay.example/x?y=1"])


def questions(*asked: Any) -> QuestionAsked:
    form = make_question_form(msgspec.convert({"questions": asked}, AskArguments))
    answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    return QuestionAsked(id="1", method="input", form=form, answer=answer)


OAR = {
    "question": "Which oar?",
    "options": [{"label": "left", "description": "the old one"}, {"label": "right"}],
}
LOAD = {
    "question": "What goes along?",
    "header": "Load",
    "options": [{"label": "rope"}, {"label": "net, small"}, {"label": "lamp"}],
    "multiple": True,
}


async def test_one_question_of_the_agent_is_answered_by_a_number_after_a_moment() -> None:
    asked = questions(OAR)
    async with at_the_keyboard() as person, person.asked(page_of(person).show_form(asked)):
        await person.sees_soon("The agent asks", "Which oar?", "1 left", "the old one", "3 Other answer…")
        await person.press("2")
        assert not asked.answer.done(), "it was meant for the editor"
        await armed(person)
        await person.press("2")
    assert asked.answer.result() == {"q1": "right"}


async def test_an_answer_in_own_words_takes_the_place_of_a_choice() -> None:
    asked = questions(OAR)
    async with at_the_keyboard() as person, person.asked(page_of(person).show_form(asked)):
        await person.sees_soon("Other answer…")
        await armed(person)
        await person.press("3", *"both", "enter")
    assert asked.answer.result() == {"q1": "both"}


async def test_several_choices_are_marked_and_more_questions_stand_on_one_sheet() -> None:
    asked = questions(OAR, LOAD)
    async with at_the_keyboard() as person, person.asked(page_of(person).show_form(asked)):
        await person.sees_soon("1. Which oar?", "2. What goes along?", "Load")
        await armed(person)
        await person.press("enter", "1")
        await person.sees_soon("left")
        await person.press("enter")
        await person.sees_soon("net, small", "Other answer…")
        await person.press("space", "down", "enter", "down", "down", "enter", *"an oar", "enter")
        await person.sees_soon("✓ rope", "✓ net, small", "an oar")
        await person.press("ctrl+s")
        await person.sees_soon("rope, net, small, an oar")
        await person.press("s")
    assert asked.answer.result() == {"q1": "left", "q2": "rope\nnet, small\nan oar"}
