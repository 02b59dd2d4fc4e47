"""Continuous typing in a real terminal answers no question; a deliberate answer does."""

import json
import os
import random
import time
from pathlib import Path

import pytest

from tests.support.terminals import Terminal, terminal
from tests.tui.flooded_app import LAST
from widgets.status.approval_keys import ANSWER_KEY_HOLD_SECONDS

LETTERS = "etaoin shrdlu aaaa xxxx wwww vvvv yyyy 0123456789"
OTHERS = (
    "\r", "\r", " ", "\t", "\x7f", "\x1b[A", "\x1b[B", "\x1b[C", "\x1b[D", "\x1b[200~yes a x\r\x1b[201~",
    "\x1b[<0;10;18M\x1b[<0;10;18m", "\x1b[<0;4;20M\x1b[<0;4;20m", "\x1b[<0;20;16M\x1b[<0;20;16m", "\x1b[I", "日", "é",
)  # fmt: skip
FLOODS = [(120, 12), *([(10_000, 60)] if os.environ.get("BAYOU_LONG") else [])]


@pytest.mark.parametrize("count, long", FLOODS)
def test_no_typing_answers_a_question(tmp_path: Path, count: int, long: int) -> None:
    file = tmp_path / "told.json"
    words = [str(tmp_path / "home"), str(count), str(long), str(file)]
    program = f"from tests.tui.flooded_app import main; main(*{words!r})"
    root = Path(__file__).parents[2]
    with terminal(root, program=program, size=(80, 24)) as page:
        page.until("Run this command?")
        typed = _type(page, random.Random(count))
        _answer(page, file)
        assert page.ended() == 0
    told = json.loads(file.read_text())
    assert told == {"asked": count, "answered": 0, "person": True}
    assert typed > count / 4


def _type(page: Terminal, chance: random.Random) -> int:
    """Words at 8 to 60 keys a second, some of them sent, until the last question stands there.

    A single key after a pause with an empty editor is an answer, so nothing here is pressed alone."""
    typed = 0
    while LAST not in page.screen:
        rate = chance.choice((8, 10, 20, 40, 60))
        until = time.monotonic() + chance.uniform(0.5, 2.0)
        while time.monotonic() < until and LAST not in page.screen:
            word = [chance.choice(LETTERS) for _ in range(chance.randrange(3, 9))]
            for key in [*word, chance.choice(OTHERS)]:
                page.press(key)
                typed += 1
                end = time.monotonic() + min(chance.expovariate(rate), ANSWER_KEY_HOLD_SECONDS / 2)
                while time.monotonic() < end:
                    page.read()
        assert page.process.poll() is None, page.screen
    return typed


def _answer(page: Terminal, file: Path) -> None:
    """As a person does who has stopped typing: Alt+A, once more if it came too early."""
    while not file.exists() and page.process.poll() is None:
        end = time.monotonic() + 1.0
        while time.monotonic() < end:
            page.read()
        page.press("\x1ba")
