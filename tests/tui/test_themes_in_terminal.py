"""How the real program looks in a real pseudo-terminal: its ground, its colours or none, what moves, and the mouse."""

import base64
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.terminals import Terminal, terminal

PAGE = "Ask anything"
SGR = re.compile(rb"\x1b\[([\d;:]*)m")
DARK_GROUND, LIGHT_GROUND = b"48;2;18;24;26", b"48;2;251;250;246"
LIGHT, DARK = "rgb:fbfb/fafa/f6f6", "rgb:1212/1818/1a1a"


def wish(**settings: object) -> None:
    file = Path(os.environ["BAYOU_AGENT_DIR"]) / "settings.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(settings), encoding="utf-8")


def colours(sent: bytes) -> set[bytes]:
    """The sequences that ask for a colour other than the terminal's own."""
    return {sequence for sequence in SGR.findall(sent) if any(map(_is_colour, sequence.split(b";")))}


def _is_colour(number: bytes) -> bool:
    value = int(number.split(b":")[0] or 0)
    return 30 <= value <= 38 or 40 <= value <= 48 or 90 <= value <= 107


# The ground


@pytest.mark.parametrize(("background", "ground"), [(LIGHT, LIGHT_GROUND), (DARK, DARK_GROUND)])
def test_the_theme_fits_what_the_terminal_says_of_its_ground(
    background: str, ground: bytes, tmp_path: Path
) -> None:
    with terminal(tmp_path, background=background) as shown:
        shown.until(PAGE)
        assert ground in shown.sent
        assert "rgb" not in shown.screen


@pytest.mark.parametrize("is_mute", [False, True], ids=["says nothing of its ground", "says nothing at all"])
def test_a_silent_terminal_is_taken_for_dark(is_mute: bool, tmp_path: Path) -> None:
    with terminal(tmp_path, is_mute=is_mute) as shown:
        shown.until(PAGE)
        assert DARK_GROUND in shown.sent


def test_what_the_environment_says_counts_when_the_terminal_is_silent(tmp_path: Path) -> None:
    with terminal(tmp_path, env={"COLORFGBG": "0;15"}) as shown:
        shown.until(PAGE)
        assert LIGHT_GROUND in shown.sent


def test_an_answer_that_comes_late_is_not_typed(tmp_path: Path) -> None:
    with terminal(tmp_path, is_mute=True) as shown:
        shown.until(PAGE)
        shown.press("one")
        shown.until("one")
        shown.press(f"\x1b]11;{LIGHT}\x1b\\\x1b[?62;22c")
        shown.press("two")
        shown.until("onetwo")
        assert "rgb" not in shown.screen


# Colours


def test_without_colours_it_sends_none_and_can_be_used(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("def f():\n    return 1\n")
    with terminal(tmp_path, env={"NO_COLOR": "1"}, size=(90, 30)) as shown:
        shown.until(PAGE)
        shown.press("read a.py\r")
        shown.until("return 1")
        shown.press("run printf '\\033[31mred\\033[0m'\r")
        shown.until("succeeded and wrote")
        shown.press("/mo")
        shown.until("/scoped-models")
        assert "› /model" in shown.screen
        shown.press("\x15/theme nord\r")
        shown.until("NO_COLOR is set: unset it to see the theme 'nord'")
        shown.press("/tree\r")
        shown.until("enter go to")
        assert "← here" in shown.screen
        shown.press("\x1b")
        shown.until("Ask anything")
        shown.press("\x06")  # the search in the transcript
        shown.until("words, or re:pattern")
        shown.press("succeeded")
        shown.until("1 of 1")
        assert colours(shown.sent) == set()
        attributes = set(b";".join(SGR.findall(shown.sent)).split(b";"))
        assert {b"1", b"7"} <= attributes, "bold and reversed words mark what the colours would"


@pytest.mark.parametrize(
    ("wanted", "env", "sent", "not_sent"),
    [
        ("off", {"COLORTERM": "truecolor"}, b"38;5;", b"38;2;"),
        ("on", {"COLORTERM": "", "TERM": "xterm"}, b"38;2;", b"38;5;"),
    ],
)
def test_true_colours_are_a_setting(
    wanted: str, env: Mapping[str, str], sent: bytes, not_sent: bytes, tmp_path: Path
) -> None:
    wish(terminal={"trueColor": wanted})
    with terminal(tmp_path, env=env) as shown:
        shown.until(PAGE)
        assert sent in shown.sent
        assert not_sent not in shown.sent


# What moves


@pytest.mark.parametrize(
    ("settings", "blinks"),
    [({"cursorBlink": True}, True), ({"cursorBlink": True, "animations": "off"}, False)],
)
def test_the_cursor_blinks_only_where_that_is_wished_and_things_may_move(
    settings: Mapping[str, object], blinks: bool, tmp_path: Path
) -> None:
    wish(**settings)
    with terminal(tmp_path) as shown:
        shown.until(PAGE)
        assert (b"\x1b[1 q" in shown.sent) == blinks
        assert (b"\x1b[2 q" in shown.sent) or blinks


# The mouse


def wheel_up(column: int, line: int) -> str:
    return f"\x1b[<64;{column};{line}M"


@pytest.mark.parametrize("lines", [1, 5])
def test_a_step_of_the_wheel_is_as_long_as_is_wished(lines: int, tmp_path: Path) -> None:
    wish(fullscreenWheelScrollLines=lines)
    with terminal(tmp_path, "help", size=(80, 15)) as shown:
        shown.until("shows this")
        row = shown.screen.splitlines().index(last := line_with(shown, "shows this"))
        shown.press(wheel_up(10, 5))
        shown.until(lambda: last not in shown.screen or shown.screen.splitlines().index(last) == row + lines)


def line_with(shown: Terminal, text: str) -> str:
    return next(line for line in shown.screen.splitlines() if text in line)


def drag(shown: Terminal, text: str) -> None:
    line = next(y for y, row in enumerate(shown.screen.splitlines()) if text in row)
    column = shown.screen.splitlines()[line].index(text)
    shown.press(f"\x1b[<0;{column + 1};{line + 1}M")
    shown.press(f"\x1b[<32;{column + len(text)};{line + 1}M")
    shown.press(f"\x1b[<0;{column + len(text)};{line + 1}m")


def copied(shown: Terminal) -> list[str]:
    return [base64.b64decode(text).decode() for text in re.findall(rb"\x1b\]52;c;([\w+/=]+)", shown.sent)]


def test_what_the_mouse_selects_is_copied(shared_terminal: Terminal) -> None:
    shared_terminal.until("No model is connected")
    drag(shared_terminal, "No model is connected")
    shared_terminal.until(lambda: copied(shared_terminal) == ["No model is connected"])


def test_without_copy_on_select_ctrl_c_copies(tmp_path: Path) -> None:
    wish(fullscreenCopyOnSelect=False)
    with terminal(tmp_path) as shown:
        shown.until("No model is connected")
        drag(shown, "No model is connected")
        shown.press("kept")
        shown.until("kept")
        assert copied(shown) == []
        shown.press("\x03")
        shown.until(lambda: copied(shown) == ["No model is connected"])
        assert "kept" in shown.screen
