"""The real program in a pseudo-terminal, roughly handled: huge and broken pastes, storms of sizes, odd terminals."""

import random
from pathlib import Path

import pytest

from tests.support.terminals import Terminal, terminal

PAGE = "Ask anything"
"""Is on the page when it waits for a prompt, and nothing is written."""


def paste(shown: Terminal, data: bytes) -> None:
    shown.press(b"\x1b[200~" + data + b"\x1b[201~")


def is_well(shown: Terminal) -> None:
    """It takes keys, and the prompt can be emptied."""
    shown.press(" still here")
    shown.until("still here")
    shown.press("\x15")
    shown.until(PAGE)
    assert shown.process.poll() is None


@pytest.mark.parametrize(
    ("line", "times"),
    [
        pytest.param(b"words and words ", 330_000, id="5 MB in a line"),
        pytest.param(b"a line of a log\n", 10_000, id="10,000 lines"),
    ],
)
def test_a_large_paste_is_one_unit(line: bytes, times: int, shared_terminal: Terminal) -> None:
    shown = shared_terminal
    paste(shown, line * times)
    shown.until("[paste")
    shown.press("\x7f")
    shown.until(PAGE)
    is_well(shown)


def test_a_paste_of_bytes_that_are_no_text(shared_terminal: Terminal) -> None:
    chance = random.Random(7)
    data = bytes(chance.randrange(256) for _ in range(20_000)).replace(b"\x1b[201~", b"")
    shown = shared_terminal
    paste(shown, data)
    shown.until(lambda: PAGE not in shown.screen)
    is_well(shown)


def test_keys_that_no_terminal_should_send_end_nothing(tmp_path: Path) -> None:
    """Event types, letters beyond the last one, sizes without end. (A report of a size counts the mouse in pixels
    from then on: hence a separate terminal.)"""
    odd = ("97;3:3", "97:65;2:1", "1114112;1", "55296;1;99999999999", ":::;;")
    with terminal(tmp_path) as shown:
        shown.until(PAGE)
        for sequence in odd:
            shown.press(f"\x1b[{sequence}u")
        shown.press("\x1b[48;0;0;0;0t\x1b[48;99999999;99999999;1;1t")
        is_well(shown)


def test_a_storm_of_sizes(shared_terminal: Terminal) -> None:
    chance = random.Random(3)
    shown = shared_terminal
    for _ in range(200):
        shown.resize(chance.randint(2, 220), chance.randint(1, 70))
        shown.read()
    shown.resize(100, 30)
    shown.until(PAGE)
    shown.press("after the storm")
    shown.until(lambda: any("after the storm" in line for line in shown.screen.splitlines()[-4:]))
    shown.until(lambda: "offline guide" in shown.screen.partition("\n")[0])
    is_well(shown)


@pytest.mark.parametrize("kind", ["dumb", "unheard-of-9", ""])
def test_an_unknown_terminal(kind: str, tmp_path: Path) -> None:
    with terminal(tmp_path, env={"TERM": kind}) as shown:
        shown.until(PAGE)
        is_well(shown)
        shown.press("\x04")
        assert shown.ended() == 0
