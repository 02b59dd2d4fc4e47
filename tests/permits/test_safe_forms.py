"""Commands that are changed at random: what is judged safe makes no file when bash runs it."""

import random
import subprocess
from pathlib import Path

import pytest

from app.permits.shell.command_line import judge_command_line
from tests.permits.lists import PLACE, commands

PLAIN = commands("plain.txt")
"""Safe commands that are changed, over a file `f` and a file `g`."""
CARRIERS, PIECES = (line.split("¦") for line in commands("pieces.txt"))
"""What would make a file, and what changes how a command line is read."""


def changed(chance: random.Random) -> str:
    text = chance.choice(PLAIN)
    for piece in [chance.choice(CARRIERS), *chance.choices(PIECES, k=chance.randint(0, 3))]:
        at = chance.randrange(len(text) + 1)
        text = text[:at] + piece + text[at + chance.choice((0, 0, 0, 1)) :]
    return text


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_a_safe_command_makes_no_file_however_it_was_changed(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    safe = [text for _ in range(700) if judge_command_line(text := changed(chance), PLACE).risk == "safe"]
    assert len(safe) > 20
    for text in dict.fromkeys(safe):
        for name in ("f", "g"):
            (tmp_path / name).write_text("a b\nx y\n")
        subprocess.run(
            ["timeout", "5", "bash", "-c", text],
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
        assert sorted(path.name for path in tmp_path.iterdir()) == ["f", "g"], text
        assert (tmp_path / "f").read_text() == "a b\nx y\n", text


@pytest.mark.parametrize("text", PLAIN)
def test_the_commands_that_are_changed_are_safe(text: str) -> None:
    assert judge_command_line(text, PLACE).risk == "safe"
