"""A session command is one function, from which requests and responses are derived."""

from collections.abc import Sequence
from typing import Any, cast

import msgspec
import pytest

from app.engine.commands.command_table import COMMANDS
from app.engine.commands.session_command import session_command
from app.engine.session import Session
from app.values.content import Image

SESSION = cast(Session, "the session")


@session_command("Say something", "Loudly.", answer="said")
async def say_it(
    session: Session, the_words: str, images: Sequence[Image] = (), how_often: int = 1
) -> str | None:
    return " ".join([the_words] * how_often) if how_often else None


@session_command("Look for a model")
async def look(session: Session) -> Image | None:
    return None


@session_command("Do it", stops=True)
async def do_it(session: Session) -> None:
    return None


async def test_a_line_is_spelled_in_camel_case_and_other_fields_are_passed_over() -> None:
    line = {"type": "say_it", "id": "1", "theWords": "ho", "howOften": 2, "images": None, "newer": True}
    assert say_it.decode_arguments(line) == {"the_words": "ho", "images": (), "how_often": 2}
    assert say_it.encode_arguments({"the_words": "ho", "how_often": 2}) == {"theWords": "ho", "howOften": 2}
    assert await say_it(SESSION, **say_it.decode_arguments(line)) == "ho ho"


def test_what_is_missing_or_of_another_type_is_named() -> None:
    with pytest.raises(msgspec.ValidationError, match="missing required field `theWords`"):
        say_it.decode_arguments({})
    with pytest.raises(msgspec.ValidationError, match=r"Expected `int`, got `str` - at `\$.howOften`"):
        say_it.decode_arguments({"theWords": "ho", "howOften": "twice"})


@pytest.mark.parametrize(
    ("of", "answer", "told"),
    [
        (say_it, "ho", {"data": {"said": "ho"}}),
        (say_it, None, {"data": {}}),
        (look, None, {"data": None}),
        (look, Image(data="aGk=", mime_type="image/png"), None),
        (do_it, None, {}),
    ],
)
def test_an_answer_comes_back_as_it_was_given(of: Any, answer: Any, told: Any) -> None:
    if told is not None:
        assert of.encode_result(answer) == told
    assert of.decode_result(of.encode_result(answer).get("data")) == answer


def test_another_name_is_the_same_command() -> None:
    again = say_it.with_alias("shout")
    assert (again.name, again.words) == ("shout", "The same as say_it")
    assert again.function is say_it.function and again.answer == "said"


def test_every_command_has_words_that_stand_in_a_list() -> None:
    for each in COMMANDS.values():
        assert each.words[0].isupper() and not each.words.endswith("."), each.name
        assert not each.more or each.more.endswith("."), each.name
