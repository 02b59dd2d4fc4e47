"""Keys that come at one go with one that opens a screen are heard by that screen, in the real program."""

from pathlib import Path

import pytest

from tests.support.terminals import terminal

PAGE = "Ask anything"


@pytest.mark.parametrize(
    ("keys", "title"),
    [
        ("\x0czzqq", "Model"),
        ("\x0bzzqq", "Actions"),
        ("/settings\rzzqq", "Settings"),
        ("/hotkeys\rzzqq", "Keys"),
    ],
)
def test_letters_are_searched_for_where_they_were_meant(keys: str, title: str, tmp_path: Path) -> None:
    with terminal(tmp_path) as shown:
        shown.until(PAGE)
        shown.press(keys)
        shown.until(title)
        shown.until("zzqq")
        shown.press("\x1b")
        shown.until(PAGE)  # nothing of it was written into the editor


def test_a_label_is_asked_for_and_given(tmp_path: Path) -> None:
    """Not one of its letters does what it would do in the tree: fork, clone, merge, compare."""
    with terminal(tmp_path, "help") as shown:
        shown.until("shows this")
        shown.until(PAGE)
        shown.press("/tree\rLfcmd\r")
        shown.until("[fcmd]")
        shown.until("Session tree")


def test_a_prompt_does_not_hold_what_is_typed_behind_it(tmp_path: Path) -> None:
    (tmp_path / "boat.txt").write_text("afloat")
    with terminal(tmp_path) as shown:
        shown.until(PAGE)
        shown.press("read boat.txt\rand then")
        shown.until("afloat")
        shown.until("and then")


@pytest.mark.parametrize(
    "report", ["\x1b[<0;99999999999;3M", "\x1b[<0;3;200M", "\x1b[<64;99999999999;99999999999M"]
)
def test_a_press_beside_the_screen_leaves_the_editor_its_focus(report: str, tmp_path: Path) -> None:
    with terminal(tmp_path) as shown:
        shown.until(PAGE)
        shown.press(report)
        shown.press("afloat")
        shown.until("afloat")
