"""Plain keys answer a question in a real terminal; no part of a text does."""

from pathlib import Path

import pytest

from tests.support.terminals import terminal
from tests.tui.test_stop_then_letter import ASKS, asked


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


def test_a_typed_yes_is_offered_and_a_sentence_is_sent(tmp_path: Path) -> None:
    with terminal(tmp_path, *ASKS) as shown:
        made = asked(shown, tmp_path)
        shown.press("yes, but look at the tests first\r")
        shown.until("sends next" if "sends next" in shown.screen else "look at the tests first")
        assert not made.exists()
        shown.press("\x1b")
        shown.until(lambda: "Run this command?" not in shown.screen)
        assert not made.exists()
