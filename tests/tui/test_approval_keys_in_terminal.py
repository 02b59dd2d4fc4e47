"""Plain keys answer a question in a real terminal; no part of a text does."""

from pathlib import Path

import pytest

from tests.support.terminals import terminal
from tests.tui.test_stop_then_letter import ASKS, KITTY, asked, rest
from widgets.status.input_guard import (
    MIN_KEY_QUIET_SECONDS,
    MIN_QUESTION_VISIBLE_SECONDS,
    TYPING_PAUSE_SECONDS,
)


@pytest.mark.parametrize("key", ["y", "\r", "å"])
def test_a_plain_key_lets_it_run(tmp_path: Path, key: str) -> None:
    with terminal(tmp_path, *ASKS) as shown:
        made = asked(shown, tmp_path)
        shown.press(key)
        shown.until(made.exists)


@pytest.mark.parametrize("key", ["n", "≈", "\x1b[B\x1b[B\r"])
def test_a_plain_key_denies_it(tmp_path: Path, key: str) -> None:
    with terminal(tmp_path, *ASKS) as shown:
        made = asked(shown, tmp_path)
        shown.press(key)
        shown.until(lambda: "Run this command?" not in shown.screen)
        assert not made.exists()


F8 = "\x1b[19~"


@pytest.mark.parametrize("key", [F8 + "≈", "\x1b∑\r"])
def test_a_sign_of_option_never_means_another_answer(tmp_path: Path, key: str) -> None:
    with terminal(tmp_path, *ASKS) as shown:
        made = asked(shown, tmp_path)
        shown.press(key)
        shown.until(lambda: "Run this command?" not in shown.screen)
        assert not made.exists()


@pytest.mark.parametrize("key", ["\x1bw", "\x1ba"])
def test_an_ambiguous_key_takes_the_focus_from_the_card(tmp_path: Path, key: str) -> None:
    with terminal(tmp_path, *ASKS) as shown:
        made = asked(shown, tmp_path)
        shown.press(F8)
        shown.until("esc")
        shown.press(key)
        rest(shown, MIN_QUESTION_VISIBLE_SECONDS)
        shown.press("\r")
        rest(shown, MIN_QUESTION_VISIBLE_SECONDS)
        assert not made.exists()


def test_a_typed_yes_is_offered_and_a_sentence_is_sent(tmp_path: Path) -> None:
    with terminal(tmp_path, *ASKS) as shown:
        made = asked(shown, tmp_path)
        shown.press("yes, but look at the tests first\r")
        shown.until("sends next" if "sends next" in shown.screen else "look at the tests first")
        assert not made.exists()
        shown.press("\x1b")
        shown.until(lambda: "Run this command?" not in shown.screen)
        assert not made.exists()


@pytest.mark.parametrize("opening", ["\x1b[19~", "a"])
def test_after_escape_plain_keys_are_text_until_the_question_is_focused(tmp_path: Path, opening: str) -> None:
    """Whatever showed it: the focused card or its list of rules."""
    with terminal(tmp_path, *ASKS) as shown:
        made = asked(shown, tmp_path)
        shown.press(opening)
        shown.until("esc back")
        rest(shown, MIN_KEY_QUIET_SECONDS + 0.1)
        shown.press("\x1b")
        shown.until("esc stop")
        for key in ("y", "\x7f", "1", "\x7f", "å", "\x7f", "\x1b[B", "\r"):
            rest(shown, MIN_KEY_QUIET_SECONDS + 0.1)
            shown.press(key)
        rest(shown, MIN_KEY_QUIET_SECONDS + 0.2)
        assert not made.exists() and "Run this command?" in shown.screen
        shown.press("\x1b[19~")
        shown.until("esc back")
        shown.press("y")
        shown.until(made.exists)


def test_a_plain_key_lets_it_run_after_the_details_are_closed(tmp_path: Path) -> None:
    with terminal(tmp_path, *ASKS) as shown:
        made = asked(shown, tmp_path)
        shown.press("d")
        shown.until("esc close")
        shown.press("\x1b")
        shown.until("enter choose")
        rest(shown, TYPING_PAUSE_SECONDS + 0.1)
        shown.press("y")
        shown.until(made.exists)


def test_details_that_may_have_been_opened_by_an_escape_and_a_letter_allow_nothing(tmp_path: Path) -> None:
    with terminal(tmp_path, *ASKS) as shown:
        made = asked(shown, tmp_path)
        shown.press("\x1bv")
        shown.until("esc close")
        assert "y allow" not in shown.screen
        rest(shown, TYPING_PAUSE_SECONDS + 0.1)
        shown.press("y")
        rest(shown, MIN_KEY_QUIET_SECONDS + 0.2)
        shown.press("\x1b")
        shown.until("keys are text now")
        rest(shown, MIN_KEY_QUIET_SECONDS + 0.2)
        shown.press("\r")
        rest(shown, MIN_KEY_QUIET_SECONDS + 0.2)
        assert not made.exists()
        shown.press(F8)
        shown.until("esc back")
        shown.press("y")
        shown.until(made.exists)


def test_escape_and_a_letter_stop_the_call_after_the_details_are_closed(tmp_path: Path) -> None:
    with terminal(tmp_path, *ASKS) as shown:
        made = asked(shown, tmp_path)
        shown.press("d")
        shown.until("esc close")
        shown.press("\x1b")
        shown.until("enter choose")
        rest(shown, TYPING_PAUSE_SECONDS + 0.1)
        shown.press("\x1by")
        shown.until(lambda: "Run this command?" not in shown.screen)
        assert not made.exists()


@pytest.mark.parametrize("lines", ["y\rls -la", "\rand more", "1\r2. then"])
def test_lines_of_a_paste_that_the_terminal_does_not_mark_let_nothing_run(tmp_path: Path, lines: str) -> None:
    with terminal(tmp_path, *ASKS) as shown:
        made = asked(shown, tmp_path)
        shown.press(lines)
        rest(shown, MIN_KEY_QUIET_SECONDS + 0.4)
        assert not made.exists() and "Run this command?" in shown.screen


def test_the_card_names_alt_keys_only_where_the_terminal_tells_them(tmp_path: Path) -> None:
    with terminal(tmp_path, *ASKS) as shown:
        asked(shown, tmp_path)
        shown.until("Yes, once         y ")
        assert "alt+" not in shown.screen
    with terminal(tmp_path, *ASKS, keyboard=KITTY) as shown:
        asked(shown, tmp_path)
        shown.until("Yes, once         y  alt+a")


def test_after_an_alt_key_for_something_else_plain_keys_are_text_until_the_question_is_focused(
    tmp_path: Path,
) -> None:
    with terminal(tmp_path, *ASKS) as shown:
        made = asked(shown, tmp_path)
        shown.press("\x1bi")
        shown.until("keys are text now")
        rest(shown, TYPING_PAUSE_SECONDS + 0.1)
        shown.press("y")
        shown.until("› y")
        rest(shown, MIN_KEY_QUIET_SECONDS + 0.2)
        shown.press("\x7f")
        rest(shown, TYPING_PAUSE_SECONDS + 0.1)
        shown.press("\r")
        rest(shown, MIN_KEY_QUIET_SECONDS + 0.2)
        assert not made.exists() and "keys are text now" in shown.screen
        shown.press(F8)
        shown.until("esc back")
        shown.press("y")
        shown.until(made.exists)


def test_keys_that_come_together_are_a_text_in_their_order(tmp_path: Path) -> None:
    """The editor has not written the first ones yet when the question is asked about the next."""
    with terminal(tmp_path, *ASKS) as shown:
        made = asked(shown, tmp_path)
        shown.press("/undo")
        shown.until("› /undo")
        shown.press("\r")
        shown.until("· Nothing to undo on this branch")
        assert not made.exists()
