"""What servers ask people: schemas as fields, answers that fit them, and nothing that is sent without being checked."""

import asyncio
from typing import Any

import pytest

from app.engine.mcp.server_prompts import McpServerQuestions
from app.engine.permissions.permission_context import PermissionContext
from app.engine.questions.form_questions import UserFormQuestions
from app.mcp.elicitation_forms import (
    default_form_answers,
    make_elicitation_form,
    parse_field_answer,
    parse_form_answers,
)
from app.values.events import Notice, QuestionAsked

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Your name", "minLength": 2, "maxLength": 5},
        "mail": {"type": "string", "format": "email"},
        "born": {"type": "string", "format": "date"},
        "oars": {"type": "integer", "minimum": 1, "maximum": 8, "default": 4},
        "deep": {"type": "number"},
        "sure": {"type": "boolean", "default": False},
        "colour": {"type": "string", "enum": ["r", "g"], "enumNames": ["Red", "Green"]},
        "size": {"oneOf": [{"const": "s", "title": "Small"}, {"const": "l", "title": "Large"}]},
        "tags": {
            "type": "array",
            "items": {"type": "string", "enum": ["a", "b"]},
            "minItems": 1,
            "maxItems": 1,
        },
    },
    "required": ["name", "tags"],
}
PARAMS: dict[str, Any] = {"message": "Who?", "requestedSchema": SCHEMA}


def test_answers_are_what_the_server_wants():
    form = make_elicitation_form("docs", PARAMS)
    assert default_form_answers(form) == {"oars": "4", "sure": "no"}
    typed = {"name": " Ada ", "mail": "a@b.org", "oars": "4", "deep": "1.5", "sure": "Yes", "colour": "green"}
    assert parse_form_answers(form, {**typed, "born": "2020-02-29", "size": "Large", "tags": "b, b"}) == (
        {
            **{"name": "Ada", "mail": "a@b.org", "born": "2020-02-29", "oars": 4, "deep": 1.5, "sure": True},
            **{"colour": "g", "size": "l", "tags": ["b"]},
        },
        {},
    )


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("name", "", "Your name is required"),
        ("name", "A", "at least 2 characters"),
        ("name", "Charles", "at most 5 characters"),
        ("name", "x" * 20_000, "longer than 10,000 characters"),
        ("mail", "nobody", "an e-mail address like name@"),
        ("born", "2021-02-29", "a date like"),
        ("oars", "many", "this field needs a whole number"),
        ("oars", "9", "at most 8"),
        ("deep", "nan", "a number"),
        ("sure", "perhaps", "this field needs yes or no"),
        ("colour", "blue", "one of: Red, Green"),
        ("tags", "a,c", '"c" is not one of: a, b'),
        ("tags", "a,b", "choose at most 1"),
    ],
)
def test_what_does_not_fit_is_reported(name: str, text: str, words: str):
    field = next(each for each in make_elicitation_form("docs", PARAMS).fields if each.name == name)
    value, problem = parse_field_answer(field, text)
    assert value is None
    assert words in problem


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"message": None, "requestedSchema": "no"},
        {
            "requestedSchema": {
                "properties": {"a": 5, "b": {"type": ["string"], "enum": "x", "minLength": "y"}}
            }
        },
        {"requestedSchema": {"properties": [], "required": {}}},
        {
            "message": "\x1b[2J\u202e[red]",
            "requestedSchema": {"properties": {f"f{n}": {} for n in range(1_000)}},
        },
        {"mode": "url", "url": 5},
    ],
)
def test_a_nonsense_of_a_schema_is_no_fault(params: dict[str, Any]):
    form = make_elicitation_form("docs", params)
    assert len(form.fields) <= 50
    assert not set("\x1b\u202e") & set(form.message)


class Told:
    """What is published, and how a program answers."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: list[QuestionAsked] = []
        self.warned: list[str] = []

    def publish_now(self, event: QuestionAsked | Notice) -> None:
        assert isinstance(event, QuestionAsked)
        self.asked.append(event)
        if self.answers:
            asyncio.get_running_loop().call_soon(event.answer.set_result, self.answers.pop(0))

    def warn(self, text: str) -> None:
        self.warned.append(text)


def questions_of(asks: Any, told: Any) -> McpServerQuestions:
    return McpServerQuestions(UserFormQuestions(PermissionContext(approver=asks), told), told)


async def asked(asks: Any, told: Told, params: dict[str, Any]) -> dict[str, Any]:
    return await questions_of(asks, told).ask_user("docs", params)


SHORT: dict[str, Any] = {
    "message": "Who?",
    "requestedSchema": {
        "properties": {"name": {"type": "string", "minLength": 2}, "sure": {"type": "boolean"}},
        "required": ["name"],
    },
}


async def test_a_program_is_asked_field_by_field_and_again_where_an_answer_does_not_fit():
    told = Told("A", "Ada", "Yes")
    assert await asked("program", told, SHORT) == {
        "action": "accept",
        "content": {"name": "Ada", "sure": True},
    }
    assert [event.method for event in told.asked] == ["input", "input", "select"]
    assert "at least 2 characters" in str(told.asked[1].title)
    assert "Never enter a password" in str(told.asked[0].title)


async def test_a_program_that_closes_a_question_has_cancelled():
    assert await asked("program", Told(None), SHORT) == {"action": "cancel"}
    assert await asked("program", Told("A", "B", "C"), SHORT) == {"action": "cancel"}


async def test_a_page_is_opened_by_a_yes_alone():
    page = {"mode": "url", "message": "Pay", "url": "https://pay.example/x"}
    assert await asked("program", Told(True), page) == {"action": "accept"}
    assert await asked("program", Told(False), page) == {"action": "decline"}
    assert await asked("person", Told({}), page) == {"action": "accept"}


async def test_a_person_answers_all_at_once():
    assert await asked("person", Told({"name": "Ada"}), SHORT) == {
        "action": "accept",
        "content": {"name": "Ada"},
    }
    assert await asked("person", Told("decline"), SHORT) == {"action": "decline"}
    assert await asked("person", Told(None), SHORT) == {"action": "cancel"}
    assert await asked("person", Told({"name": ""}), SHORT) == {"action": "cancel"}


async def test_without_a_user_a_servers_question_is_declined():
    told = Told()
    questions = questions_of("none", told)
    assert [await questions.ask_user("docs", SHORT) for _ in range(2)] == [{"action": "decline"}] * 2
    assert len(told.warned) == 1
