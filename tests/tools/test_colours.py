"""A command's colours are in its card, and only there: the model's text has none, and details hold places, not text."""

import json
from typing import Any

import pytest

from tests.tools.conftest import Hands
from tools.builtin.bash import bash_tool
from tools.results import CommandBlock
from tools.running.colours import colours_in, colours_of
from tools.text import on_screen
from widgets.transcript import ansi


def painted(written: str) -> str:
    shown = on_screen(written)
    return ansi.painted(shown, colours_of(written, shown))


@pytest.mark.parametrize(
    ("written", "card"),
    [
        ("plain\n", "plain\n"),
        ("\x1b[32mok\x1b[0m one\n", "\x1b[32mok\x1b[0m one\n"),
        (
            "\x1b[1;31mFAILED\x1b[m two\r\nand \x1b[31mtwo",
            "\x1b[1;31mFAILED\x1b[0m two\nand \x1b[31mtwo\x1b[0m",
        ),
        ("\x1b[33mover\nlines\x1b[0m", "\x1b[33mover\x1b[0m\n\x1b[33mlines\x1b[0m"),
        ("\x1b[1m\x1b[34mboth\x1b[0m", "\x1b[1;34mboth\x1b[0m"),
        ("10 %\r\x1b[32mdone\x1b[0m\n", "done\n"),
        ("\x1b]0;title\x07\x1b[32mok\x1b[0m", "\x1b[32mok\x1b[0m"),
    ],
)
def test_colours_come_back_where_they_were(written: str, card: str) -> None:
    assert painted(written) == card


def test_of_long_output_the_last_lines_have_theirs() -> None:
    written = "".join(f"\x1b[32mline\x1b[0m {number}\n" for number in range(1_000))
    lines = painted(written).split("\n")
    assert lines[999] == "\x1b[32mline\x1b[0m 999" and lines[700] == "line 700"


NONSENSE: list[Any] = [
    None,
    {},
    {"colours": "x"},
    *({"colours": [[*span]]} for span in ((0, 0), (99, 0, 4, "31"), (0, 5, 1, "31"), (-1, 0, 4, "31"))),
    {"colours": [[0, 0, 4, "31m\x1b]0;x\x07"]]},
]


@pytest.mark.parametrize("details", NONSENSE)
def test_details_that_say_nonsense_change_nothing(details: Any) -> None:
    assert ansi.painted("text", colours_in(details)) == "text"


async def test_a_command_that_writes_colours(hands: Hands) -> None:
    result = await hands("bash", command="printf '\\033[31mred\\033[0m and not\\n'")
    assert result.text == "red and not"
    assert result.details is not None and "red" not in json.dumps(result.details["colours"])
    card = bash_tool().card({"command": "x"}, result)
    [block] = card.blocks
    assert isinstance(block, CommandBlock) and block.output == "red and not"
    assert ansi.painted(block.output, block.colours) == "\x1b[31mred\x1b[0m and not"
