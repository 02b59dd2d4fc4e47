"""A command's colours are in its card, and only there: the model's text has none, and details hold places, not text."""

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.tools.conftest import ToolCaller, until
from tools.builtin.bash import make_bash_tool
from tools.running.output_colours import (
    MAX_COLOURED_LINES_WHILE_RUNNING,
    find_output_colours,
    read_stored_output_colours,
)
from tools.text_sanitizing import render_final_output
from tools.tool_result_values import CommandBlock
from widgets.transcript.leaves import ansi_text


def painted(written: str) -> str:
    shown = render_final_output(written)
    return ansi_text.add_ansi_colours(shown, find_output_colours(written, shown))


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
        ("10 %\r\x1b[32mdone\x1b[0m\n", "\x1b[32mdone\x1b[0m\n"),
        ("\x1b[31m10 %\r\x1b[32mof\x1b[0m\n", "of %\n"),
        ("10 %\r\x1b[K\x1b[32mof\x1b[0m\nend", "\x1b[32mof\x1b[0m\nend"),
        (
            "a.py:\x1b[01;31m\x1b[Kdef\x1b[m\x1b[K one\n",
            "a.py:\x1b[01;31mdef\x1b[0m one\n",
        ),
        ("\x1b[32mone\x1b[0m\n\x1b[Atwo\n", "two\n"),
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
    assert ansi_text.add_ansi_colours("text", read_stored_output_colours(details)) == "text"


async def test_a_command_that_writes_colours(hands: ToolCaller) -> None:
    result = await hands("bash", command="printf '\\033[31mred\\033[0m and not\\n'")
    assert result.text == "red and not"
    assert result.details is not None and "red" not in json.dumps(result.details["colours"])
    card = make_bash_tool().card({"command": "x"}, result)
    [block] = card.blocks
    assert isinstance(block, CommandBlock) and block.output == "red and not"
    assert ansi_text.add_ansi_colours(block.output, block.colours) == "\x1b[31mred\x1b[0m and not"


async def test_what_a_command_at_work_shows_has_its_colours_too(hands: ToolCaller, project: Path) -> None:
    os.mkfifo(project / "gate")
    command = "printf '\\033[32mfirst\\033[0m\\n'; cat gate"
    call = asyncio.create_task(hands("bash", command=command))
    await until(lambda: bool(hands.progress))
    [block] = make_bash_tool().card({"command": command}, hands.progress[0]).blocks
    assert isinstance(block, CommandBlock) and block.exit_code is None, "it has not ended"
    assert ansi_text.add_ansi_colours(block.output, block.colours) == "\x1b[32mfirst\x1b[0m\n"
    gate = await asyncio.to_thread((project / "gate").open, "w")
    gate.close()
    assert (await call).text == "first"


async def test_what_runs_tells_colours_of_its_end_alone(hands: ToolCaller, project: Path) -> None:
    os.mkfifo(project / "gate")
    command = "for i in $(seq 300); do printf '\\033[31mline\\033[0m %d\\n' $i; done; cat gate"
    call = asyncio.create_task(hands("bash", command=command))
    await until(lambda: bool(hands.progress) and hands.progress[-1].text.endswith("300\n"))
    details = hands.progress[-1].details
    assert details is not None and len(details["colours"]) == MAX_COLOURED_LINES_WHILE_RUNNING
    gate = await asyncio.to_thread((project / "gate").open, "w")
    gate.close()
    await call
