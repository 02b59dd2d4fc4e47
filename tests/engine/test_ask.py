"""The tool `ask`: what it refuses, what the model reads of the answers, and that nothing answers by itself."""

from pathlib import Path
from typing import Any

import pytest

from app.engine.questions.ask_tool import ask_tool
from app.providers.scripted import call, say
from app.values.events import QuestionAsked
from tests.engine.scripted_session import ScriptedSession
from tests.permits.test_gate import gated_session, results

SHAPE = {
    "question": "Which database?",
    "header": "Database",
    "options": [{"label": "SQLite", "description": "one file"}, {"label": "Postgres, 16", "description": ""}],
}
EXTRAS = {"question": "What else?", "options": ["logs", "tests, all of them"], "multiSelect": True}
FREE = {"question": "What is it called?"}


def asking(
    folder: Path, questions: Any, *replies: Any, asks: Any = "person"
) -> tuple[ScriptedSession, list[QuestionAsked]]:
    harness = gated_session(folder, call("ask", questions=questions), say("thanks"), asks=asks)
    harness.session.tools.register_tool(ask_tool(harness.session.forms), owner="test")
    asked, waiting = list[QuestionAsked](), list(replies)

    def answer(event: Any) -> None:
        if isinstance(event, QuestionAsked):
            asked.append(event)
            event.answer.set_result(waiting.pop(0))

    harness.session.subscribe(answer)
    return harness, asked


async def test_choices_several_choices_and_free_text_reach_the_model(tmp_path: Path) -> None:
    replies = {"q1": "Postgres, 16", "q2": "logs\ntests, all of them\nno rush", "q3": "Tern"}
    harness, asked = asking(tmp_path, [SHAPE, EXTRAS, FREE], replies)
    await harness.prompt("go")
    assert results(harness) == [
        "Which database?\n→ Postgres, 16\nWhat else?\n→ logs; tests, all of them; no rush\nWhat is it "
        "called?\n→ Tern"
    ]
    form = asked[0].form
    assert [field.kind for field in form.fields] == ["choice", "several", "text"]
    assert [field.title for field in form.fields] == ["Database", "What else?", "What is it called?"]
    assert asked[0].timeout is None, "a person has all the time"


async def test_an_answer_in_own_words_is_taken_beside_choices_and_an_empty_one_is_reported(
    tmp_path: Path,
) -> None:
    harness, _ = asking(tmp_path, [SHAPE, EXTRAS], {"q1": "DuckDB, please"})
    await harness.prompt("go")
    assert results(harness) == ["Which database?\n→ DuckDB, please\nWhat else?\n→ (not answered)"]


async def test_a_refusal_goes_on_and_a_closed_form_ends_the_run_without_an_answer(tmp_path: Path) -> None:
    harness, _ = asking(tmp_path / "a", [SHAPE], "decline")
    await harness.prompt("go")
    assert "declined to answer" in results(harness)[0] and harness.script.request_count == 2
    harness, _ = asking(tmp_path / "b", [SHAPE], None)
    await harness.prompt("go")
    assert "Assume no answer" in results(harness)[0] and harness.script.request_count == 1


async def test_an_answer_of_a_megabyte_is_refused_in_words(tmp_path: Path) -> None:
    harness, _ = asking(tmp_path, [FREE], {"q1": "x" * 1_000_000})
    await harness.prompt("go")
    assert results(harness) == [
        "The answer is not valid (What is it called?: longer than 10,000 characters)."
    ]


async def test_without_a_user_the_model_gets_advice(tmp_path: Path) -> None:
    harness, asked = asking(tmp_path, [SHAPE], asks="none")
    await harness.prompt("go")
    assert not asked and "The user cannot be asked in this run" in results(harness)[0]
    assert harness.script.request_count == 2, "the model goes on"


async def test_a_program_is_asked_question_by_question(tmp_path: Path) -> None:
    harness, asked = asking(tmp_path, [SHAPE, EXTRAS], "Other answer…", "DuckDB", "logs", asks="program")
    await harness.prompt("go")
    assert [event.method for event in asked] == ["select", "input", "input"]
    assert asked[0].options == ("SQLite", "Postgres, 16", "Other answer…")
    assert asked[0].title == "The agent asks\nDatabase\nWhich database?\nSQLite: one file"
    assert results(harness) == ["Which database?\n→ DuckDB\nWhat else?\n→ logs"]


@pytest.mark.parametrize(
    ("questions", "words"),
    [
        ([], "0 questions: ask 1 to 4"),
        ([FREE] * 5, "5 questions: ask 1 to 4"),
        ([{"question": " "}], "Question 1 has no text"),
        ([{"question": "x" * 2_001}], "Question 1 is longer than 2,000"),
        ([FREE, {**FREE, "options": []}], "Question 2 has 0 options"),
        ([{**FREE, "options": ["yes"]}], "has 1 options"),
        ([{**FREE, "options": [str(n) for n in range(13)]}], "has 13 options"),
        ([{**FREE, "multiple": True}], '"multiple" but no choices'),
        ([{**FREE, "options": ["Yes", "yes "]}], "“yes” twice"),
        ([{**FREE, "options": ["a", "a\u202e"]}], "“a” twice"),
        ([{**FREE, "options": ["a", ""]}], "option 2 has no label"),
        ([{**FREE, "options": ["a", "b" * 101]}], "label of option 2 is longer"),
    ],
)
async def test_what_cannot_be_asked_is_refused_in_words(tmp_path: Path, questions: Any, words: str) -> None:
    harness, asked = asking(tmp_path, questions)
    await harness.prompt("go")
    assert words in results(harness)[0] and not asked


async def test_calls_as_other_agents_make_them_are_understood(tmp_path: Path) -> None:
    harness, asked = asking(tmp_path, '[{"question": "Sure?", "choices": ["yes", 2]}]', {"q1": "2"})
    await harness.prompt("go")
    assert [choice.title for choice in asked[0].form.fields[0].choices] == ["yes", "2"]
    assert results(harness) == ["Sure?\n→ 2"]
