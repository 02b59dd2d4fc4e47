"""What the real program says to its terminal beside the page, and what it makes of what the terminal says."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.terminals import Terminal, terminal

PAGE = "Ask anything"
AWAY, BACK = "\x1b[O", "\x1b[I"
ASKING = """
def extension(api):
    @api.command("ask")
    async def ask(arguments, context):
        await context.ui.confirm("Launch?", "It may rain.")
"""


def wish(**settings: object) -> None:
    write("settings.json", json.dumps(settings))


def write(name: str, text: str) -> None:
    file = Path(os.environ["BAYOU_AGENT_DIR"]) / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def titles(shown: Terminal) -> list[str]:
    return [title.decode() for title in re.findall(rb"\x1b\]0;([^\x07]*)\x07", shown.sent)]


def progress(shown: Terminal) -> list[bytes]:
    return re.findall(rb"\x1b\]9;4;(\d)", shown.sent)


# Title and progress


def test_the_title_tells_the_session_and_whether_it_works(tmp_path: Path) -> None:
    folder = tmp_path / "harbour"
    folder.mkdir()
    with terminal(folder) as shown:
        shown.until(lambda: titles(shown) == ["bayou · harbour"])
        shown.press("help\r")
        shown.until(lambda: titles(shown)[1:] == ["bayou · harbour · working", "bayou · harbour"])
        shown.press("/name Tides\x1b]0;evil\x07\r")
        shown.until(lambda: titles(shown)[3:] != [])
        assert titles(shown)[3].startswith("bayou · Tides")
        assert progress(shown) == []


def test_no_title_where_none_is_wished_and_progress_where_it_is(tmp_path: Path) -> None:
    wish(terminal={"title": False, "progress": True})
    with terminal(tmp_path, "help") as shown:
        shown.until(lambda: progress(shown) == [b"3", b"0"])
        assert titles(shown) == []


# Being told of


METHODS = {
    "bell": b"\x07",
    "osc99": b"\x1b]99;i=bayou:d=1:p=body;The agent is done\x1b\\",
}


@pytest.mark.parametrize("method", METHODS)
def test_an_unfocused_terminal_is_notified_at_the_end(method: str, tmp_path: Path) -> None:
    wish(notifications={"method": method, "minSeconds": 0}, terminal={"title": False})
    with terminal(tmp_path) as shown:
        shown.until(PAGE)
        already = shown.sent.count(METHODS[method])
        shown.press("help\r")
        shown.until("shows this")
        shown.press("one")
        shown.until("one")
        assert shown.sent.count(METHODS[method]) == already, "one looks at it"
        shown.press(f"\x15{AWAY}help\r")
        shown.until(lambda: shown.sent.count(METHODS[method]) == already + 1)


@pytest.mark.parametrize(
    ("program", "told"), [("", b"\x07"), ("ghostty", b"\x1b]9;bayou: The agent is done\x1b\\")]
)
def test_it_is_reported_without_a_wish_and_as_the_terminal_understands_it(
    program: str, told: bytes, tmp_path: Path
) -> None:
    wish(notifications={"minSeconds": 0}, terminal={"title": False})
    with terminal(tmp_path, env={"TERM_PROGRAM": program}) as shown:
        shown.until(PAGE)
        already = shown.sent.count(told)
        shown.press(f"{AWAY}help\r")
        shown.until(lambda: shown.sent.count(told) == already + 1)


def test_a_quick_answer_is_not_told_of(tmp_path: Path) -> None:
    with terminal(tmp_path, env={"TERM_PROGRAM": "ghostty"}) as shown:
        shown.until(PAGE)
        shown.press(f"{AWAY}help\r")
        shown.until("shows this")
        shown.press("one")
        shown.until("one")
        assert b"The agent is done" not in shown.sent


def test_a_question_is_notified_again_after_losing_focus(tmp_path: Path) -> None:
    wish(notifications={"method": "osc9", "minSeconds": 0, "onDone": False})
    with terminal(tmp_path, "--permissions", "ask") as shown:
        shown.until(PAGE)
        shown.press("run touch afloat\r")
        shown.until("Run this command?")
        assert b"\x1b]9;bayou" not in shown.sent, "one looks at it"
        shown.press(AWAY)
        shown.until(lambda: b"\x1b]9;bayou" in shown.sent)
        assert titles(shown)[-1].endswith("waiting for your answer")


def test_an_unfocused_terminal_is_notified_of_a_question(tmp_path: Path) -> None:
    wish(notifications={"method": "osc9", "onDone": False})
    write("extensions/asks.py", ASKING)
    with terminal(tmp_path) as shown:
        shown.until(PAGE)
        shown.press(f"{AWAY}/ask\r")
        shown.until(lambda: b"\x1b]9;bayou: Launch?\x1b\\" in shown.sent)


def test_looking_elsewhere_and_back_paints_nothing(tmp_path: Path) -> None:
    with terminal(tmp_path) as shown:
        shown.until(lambda: PAGE in shown.screen and titles(shown) != [])  # all of the start is behind it
        shown.press("before")
        shown.until("before")
        already = len(shown.sent)
        shown.press(AWAY + BACK + AWAY + BACK + "x")
        shown.until("beforex")
        assert shown.sent[already:].count(b"x") == 1
        assert len(shown.sent) - already < 200, "more than a letter was painted"


# Ways out


def test_a_tool_that_is_killed_from_outside_ends_nothing_else(tmp_path: Path) -> None:
    with terminal(tmp_path, "run echo $$ > pid; sleep 600") as shown:
        pid = tmp_path / "pid"
        shown.until(lambda: pid.exists() and pid.read_text().strip() != "")
        os.killpg(os.getpgid(int(pid.read_text())), signal.SIGKILL)
        shown.until("✗ bash")
        shown.until_idle()
        shown.press("\x04")
        assert shown.ended() == 0
        assert shown.left_behind() == []


def test_the_last_answer_and_the_way_back_are_what_it_leaves(tmp_path: Path) -> None:
    (tmp_path / "boat.txt").write_text("afloat")
    with terminal(tmp_path, "read boat.txt") as shown:
        shown.until("afloat")
        shown.until_idle()
        shown.press("\x04")
        assert shown.ended() == 0
        assert shown.left_behind() == []
        assert "afloat" in shown.screen
        assert "To resume this session: bayou --session" in shown.screen


# Another terminal takes over


def client(server: str, *words: str) -> str:
    """The program of a terminal that takes part in a tmux server."""
    return f"import os; os.execvp('tmux', {['tmux', '-L', server, '-f', os.devnull, *words]!r})"


@pytest.fixture
def server() -> Iterator[str]:
    name = f"bayou-{uuid.uuid4().hex[:8]}"
    yield name
    subprocess.run(["tmux", "-L", name, "kill-server"], check=False, capture_output=True)


def wheel_up(shown: Terminal) -> None:
    """In the encoding that the terminal was asked for."""
    shown.press(b"\x1b[<64;10;5M" if b"\x1b[?1006h" in shown.sent else b"\x1b[M\x60\x2a\x25")


@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
@pytest.mark.parametrize("kind", ["xterm", "linux"])
def test_keys_and_mouse_are_right_after_a_reattach_from_another_terminal(
    kind: str, server: str, tmp_path: Path
) -> None:
    bayou = f"{sys.executable} -P -m app help"
    begin = client(server, "set", "-g", "mouse", "on", ";", "new-session", bayou)
    with terminal(tmp_path, program=begin, size=(90, 24)) as first:
        first.until("shows this")
        first.press("draft")
        first.until("draft")
        first.press("\x02d")  # tmux's own: detach
        assert first.ended() == 0
    with terminal(tmp_path, program=client(server, "attach"), size=(70, 20), env={"TERM": kind}) as second:
        second.until("draft")
        second.press("\x1b[D\x1b[D")
        second.press("X")
        second.until("draXft")
        second.press("\x1bb")  # Alt+B: a word to the left
        second.press("Y")
        second.until("YdraXft")
        last = second.screen.splitlines()[-7]
        wheel_up(second)
        second.until(lambda: second.screen.splitlines()[-7] != last)


def test_what_turns_the_direction_of_writing_does_not_reach_the_terminal(tmp_path: Path) -> None:
    with terminal(tmp_path, "read \u202eboat\u2067.txt") as shown:
        shown.until(lambda: shown.screen.count("boat.txt") >= 2)
        assert not {"\u202e", "\u2067"} & set(shown.sent.decode(errors="replace"))
