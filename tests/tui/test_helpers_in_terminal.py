"""Helper agents in the real program: the live card, and Escape, which stops them."""

from pathlib import Path

import pytest

from tests.support.terminals import terminal

HELPERS = str(Path(__file__).parents[1] / "modes" / "extensions" / "helpers.py")


@pytest.mark.parametrize("size", [(80, 24), (200, 60)])
def test_a_card_shows_what_a_helper_does_and_escape_stops_it(tmp_path: Path, size: tuple[int, int]) -> None:
    with terminal(tmp_path, "-e", HELPERS, "look around", size=size) as shown:
        shown.until("task scout: look left")
        shown.until("task scout: look right")
        shown.until("1 turn")
        shown.press("\x1b")
        shown.until("look right stopped")
        shown.press("say something\r")
        shown.until("Nothing runs.")
