"""Escape and a letter right behind it look like Alt with that letter: no call runs by them, in the real program."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.terminals import Terminal, terminal
from widgets.status.approval_keys import REFUSED_SECONDS
from widgets.status.input_guard import MIN_KEY_QUIET_SECONDS, MIN_QUESTION_VISIBLE_SECONDS

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
    shown.until("Run this command?")
    rest(shown, MIN_QUESTION_VISIBLE_SECONDS + MIN_KEY_QUIET_SECONDS + 0.3)
    return folder / "afloat"


@pytest.mark.parametrize("gap", [0.0, 0.02, 0.08])
def test_escape_and_a_letter_let_nothing_run_and_more_letters_stop_it(tmp_path: Path, gap: float) -> None:
    with terminal(tmp_path, *ASKS) as shown:
        made = asked(shown, tmp_path)
        shown.press("\x1b")
        rest(shown, gap)
        shown.press("a")
        rest(shown, MIN_KEY_QUIET_SECONDS + 0.3)
        assert not made.exists()
        shown.press("ctually")
        shown.until(lambda: "Run this command?" not in shown.screen)
        shown.until("ctually")
        assert not made.exists()


@pytest.mark.parametrize(
    ("gap", "key"),
    [
        (0.0, "\r"),
        (0.05, "\r"),
        (0.05, "y"),
        (0.0, "1"),
        (0.0, "\t"),
        *((0.05, key) for key in ("\t", "b", "f", "\x7f", "\\", "\x1b[Z")),
    ],
)
def test_escape_and_another_key_right_behind_it_stop_the_call(tmp_path: Path, gap: float, key: str) -> None:
    with terminal(tmp_path, *ASKS) as shown:
        made = asked(shown, tmp_path)
        shown.press("\x1b")
        rest(shown, gap)
        shown.press(key)
        shown.until(lambda: "Run this command?" not in shown.screen)
        shown.press("\x15run touch ashore\r")
        shown.until("Run this command?")
        assert not made.exists()


@pytest.mark.parametrize(
    ("letter", "advice"), [("a", "press f8, then y"), ("w", "press f8, then a"), ("m", "use /permissions")]
)
def test_escape_and_one_letter_alone_name_the_plain_key_and_leave_the_question_open(
    tmp_path: Path, letter: str, advice: str
) -> None:
    """Alt+M takes the next mode, in which the call would run."""
    with terminal(tmp_path, *ASKS) as shown:
        made = asked(shown, tmp_path)
        shown.press("\x1b" + letter)
        shown.until(f"alt+{letter} is unclear in this terminal: {advice}")
        rest(shown, REFUSED_SECONDS)
        shown.until("keys are text now")
        for key in ("y", "\x7f", "1", "\x7f", "\r"):
            shown.press(key)
            rest(shown, MIN_KEY_QUIET_SECONDS + 0.2)
        assert not made.exists() and "Run this command?" in shown.screen and "auto-edit" not in shown.screen
        shown.press("\x1b")
        shown.until(lambda: "Run this command?" not in shown.screen)
        assert not made.exists()


@pytest.mark.parametrize("letter", ["a", "m"])
def test_an_escape_and_a_letter_pressed_twice_let_nothing_run(tmp_path: Path, letter: str) -> None:
    with terminal(tmp_path, *ASKS) as shown:
        made = asked(shown, tmp_path)
        for _ in range(2):
            shown.press("\x1b" + letter)
            shown.until(f"alt+{letter} is unclear in this terminal")
            rest(shown, MIN_KEY_QUIET_SECONDS + 0.2)
        assert not made.exists() and "Run this command?" in shown.screen and "auto-edit" not in shown.screen


@pytest.mark.parametrize("gap", [0.0, 0.02, 0.05])
def test_a_bare_escape_is_in_doubt_where_the_terminal_told_chords_before(tmp_path: Path, gap: float) -> None:
    """A program in front took that mode away: Escape and Alt come as sequences in it."""
    with terminal(tmp_path, *ASKS, keyboard=KITTY) as shown:
        made = asked(shown, tmp_path)
        shown.press("\x1b")
        rest(shown, gap)
        shown.press("a")
        rest(shown, MIN_KEY_QUIET_SECONDS + 0.3)
        assert not made.exists()
        shown.press("ctually")
        shown.until(lambda: "Run this command?" not in shown.screen)
        assert not made.exists()


@pytest.mark.parametrize(
    ("sent", "answer"),
    [
        ("\x1b[27u", "y"),
        ("\x1b[27;1:1u\x1b[27;1:3u", "\r"),
        ("\x1b[27;1:1u\x1b[27;1:3u", "\x1b[200~y\x1b[201~"),
    ],
)
def test_an_escape_as_a_sequence_stops_and_what_follows_it_answers_nothing(
    tmp_path: Path, sent: str, answer: str
) -> None:
    """With the kind of event too, which a terminal sends when another program left it in that mode."""
    with terminal(tmp_path, *ASKS, keyboard=KITTY) as shown:
        made = asked(shown, tmp_path)
        shown.press(sent + answer)
        shown.until(lambda: "Run this command?" not in shown.screen)
        shown.press("\x15run touch ashore\r")
        shown.until("Run this command?")
        assert not made.exists()


def test_a_chord_before_the_question_listens_is_unclear_too(tmp_path: Path) -> None:
    with terminal(tmp_path, *ASKS) as shown:
        shown.until("Ask anything")
        shown.press("run touch afloat\r")
        shown.until("Run this command?")
        shown.press("\x1ba")
        shown.until("alt+a is unclear in this terminal: press f8, then y")
        shown.press("nd more")
        shown.until(lambda: "Run this command?" not in shown.screen)
        assert not (tmp_path / "afloat").exists()


def test_focusing_the_question_does_not_stop_the_run(tmp_path: Path) -> None:
    with terminal(tmp_path, *ASKS) as shown:
        made = asked(shown, tmp_path)
        shown.press("\x1ba")
        shown.until("is unclear in this terminal")
        rest(shown, MIN_KEY_QUIET_SECONDS + 0.2)
        shown.press("\x1b[19~")
        shown.until("esc back")
        rest(shown, REFUSED_SECONDS)
        shown.press("y")
        shown.until(made.exists)


def test_escape_and_a_letter_in_the_list_of_rules_leave_it(tmp_path: Path) -> None:
    """The Enter behind them would choose the first rule."""
    with terminal(tmp_path, *ASKS) as shown:
        made = asked(shown, tmp_path)
        shown.press("a")
        shown.until("esc back")
        rest(shown, MIN_KEY_QUIET_SECONDS + 0.2)
        shown.press("\x1by\r")
        shown.until(lambda: "esc back" not in shown.screen)
        rest(shown, 0.3)
        assert not made.exists() and "Run this command?" in shown.screen


def test_a_key_without_a_character_chooses_no_rule_of_the_list(tmp_path: Path) -> None:
    with terminal(tmp_path, *ASKS) as shown:
        made = asked(shown, tmp_path)
        shown.press("a")
        shown.until("esc back")
        rest(shown, MIN_KEY_QUIET_SECONDS + 0.2)
        for sent in ("\x1b[D", "\x1bOP", "\t"):
            shown.press(sent)
            rest(shown, 0.3)
        assert not made.exists() and "Run this command?" in shown.screen


def test_a_yes_right_behind_a_switch_to_read_only_lets_nothing_run(tmp_path: Path) -> None:
    with terminal(tmp_path, *ASKS) as shown:
        made = asked(shown, tmp_path)
        shown.press("/permissions read-only")
        rest(shown, 0.3)
        shown.press("\ry\x1b[97;3u")
        shown.until(lambda: "Run this command?" not in shown.screen)
        shown.until("read-only")
        assert not made.exists()


@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
@pytest.mark.parametrize("gap", [0.0, 0.1, 0.3])
def test_in_tmux_escape_and_letters_let_nothing_run_and_stop_it(tmp_path: Path, gap: float) -> None:
    """tmux waits behind an Escape for what may belong to it."""
    server = ["tmux", "-S", str(tmp_path / "tmux.socket"), "-f", os.devnull]
    bayou = " ".join([sys.executable, "-P", "-m", "app", *ASKS])
    program = f"import os; os.execvp('tmux', {[*server, 'new-session', bayou]!r})"
    try:
        with terminal(tmp_path, program=program, env={"PATH": os.environ["PATH"]}) as shown:
            made = asked(shown, tmp_path)
            shown.press("\x1b")
            rest(shown, gap)
            shown.press("a")
            rest(shown, MIN_KEY_QUIET_SECONDS + 0.3)
            assert not made.exists()
            shown.press("ctually")
            shown.until(lambda: "Run this command?" not in shown.screen)
            assert not made.exists()
    finally:
        subprocess.run([*server, "kill-server"], check=False, capture_output=True)


def test_the_keys_that_an_unclear_chord_names_let_it_run(tmp_path: Path) -> None:
    with terminal(tmp_path, *ASKS) as shown:
        made = asked(shown, tmp_path)
        shown.press("\x1ba")
        shown.until("alt+a is unclear in this terminal: press f8, then y")
        rest(shown, MIN_KEY_QUIET_SECONDS + 0.2)
        shown.press("\x1b[19~")
        shown.until("esc back")
        assert not made.exists()
        shown.press("y")
        shown.until(made.exists)


def test_the_chord_counts_at_once_where_the_terminal_tells_chords(tmp_path: Path) -> None:
    with terminal(tmp_path, *ASKS, keyboard=KITTY) as shown:
        made = asked(shown, tmp_path)
        shown.press("\x1b[97;3u")
        shown.until(made.exists)


def test_a_leading_escape_is_ambiguous_in_every_terminal(tmp_path: Path) -> None:
    """Who attaches with another terminal has that one's keys."""
    with terminal(tmp_path, *ASKS, keyboard=KITTY) as shown:
        made = asked(shown, tmp_path)
        shown.press("\x1ba")
        shown.until("alt+a is unclear in this terminal")
        assert not made.exists()
