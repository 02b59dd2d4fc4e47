"""Escape and a letter right behind it look like Alt with that letter: no call runs by them, in the real program."""

import time
from pathlib import Path

import pytest

from tests.support.terminals import Terminal, terminal
from widgets.status.arming import QUIET_SECONDS, SHOWN_SECONDS

ASKS = ("--permissions", "ask")
KITTY = 25
"""What a terminal answers that tells every chord by a sequence."""


def rest(shown: Terminal, seconds: float) -> None:
    """A person does nothing."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        shown.read()


def asked(shown: Terminal, folder: Path) -> Path:
    shown.until("Ask anything")
    shown.press("run touch afloat\r")
    shown.until("alt+a")
    rest(shown, SHOWN_SECONDS + QUIET_SECONDS + 0.3)
    return folder / "afloat"


@pytest.mark.parametrize("gap", [0.0, 0.02, 0.08])
def test_escape_and_a_letter_let_nothing_run_and_more_letters_stop_it(tmp_path: Path, gap: float) -> None:
    with terminal(tmp_path, *ASKS) as shown:
        made = asked(shown, tmp_path)
        shown.press("\x1b")
        rest(shown, gap)
        shown.press("a")
        rest(shown, QUIET_SECONDS + 0.3)
        assert not made.exists()
        shown.press("ctually")
        shown.until(lambda: "alt+a" not in shown.screen and "again" not in shown.screen)
        shown.until("ctually")
        assert not made.exists()


def test_the_chord_once_more_lets_it_run_where_alt_is_an_escape_in_front(tmp_path: Path) -> None:
    with terminal(tmp_path, *ASKS) as shown:
        made = asked(shown, tmp_path)
        shown.press("\x1ba")
        shown.until("the same key again")
        rest(shown, QUIET_SECONDS + 0.2)
        assert not made.exists()
        shown.press("\x1ba")
        shown.until(made.exists)


def test_the_chord_counts_at_once_where_the_terminal_tells_chords(tmp_path: Path) -> None:
    with terminal(tmp_path, *ASKS, keyboard=KITTY) as shown:
        made = asked(shown, tmp_path)
        shown.press("\x1b[97;3u")
        shown.until(made.exists)


def test_an_escape_in_front_is_doubtful_whatever_the_terminal_said(tmp_path: Path) -> None:
    """Who attaches with another terminal has that one's keys."""
    with terminal(tmp_path, *ASKS, keyboard=KITTY) as shown:
        made = asked(shown, tmp_path)
        shown.press("\x1ba")
        shown.until("the same key again")
        assert not made.exists()
