"""The launch frame: the empty page at once, what is typed on it seen and kept, and a sane terminal however it ends."""

import os
import re
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from app.resources import launch_frame
from app.version import VERSION
from tests.support.terminals import Terminal, terminal
from widgets.terminal.early_terminal import LaunchFrameEchoLine, split_typed_text_from_input

PAGE = "Ask anything"
MODEL = "guide  medium"
SIZE = (80, 24)
HELD = """
import builtins, os, sys, time
usual = builtins.__import__
def held(name, *more, **how):
    if name == "app.tui.run":
        builtins.__import__ = usual
        open("waits", "w").close()
        while not os.path.exists("go"):
            time.sleep(0.005)
        {then}
    return usual(name, *more, **how)
builtins.__import__ = held
sys.argv = ["bayou", *sys.argv[1:]]
from app.cli.main import main
main()
"""
"""bayou, which waits on its launch frame until the file `go` is there."""
STRUCK = """
import os, signal, sys, threading
usual = threading.Event.wait
def wait(event, timeout=None):
    if not event.is_set():
        os.kill(os.getpid(), signal.SIGTERM)
    return usual(event, timeout)
threading.Event.wait = wait
threading.Thread._bootstrap_inner = lambda thread: None
sys.argv = ["bayou", *sys.argv[1:]]
from app.cli.main import main
main()
"""
"""bayou, whose first thread is still being born when a signal comes."""


@pytest.fixture
def bare(tmp_path: Path) -> dict[str, str]:
    """bayou was never started here."""
    root = str(Path(__file__).parents[2])
    return {"BAYOU_AGENT_DIR": str(tmp_path / "agent"), "TERM": "xterm-256color", "PYTHONPATH": root}


@pytest.fixture(scope="module")
def drawn() -> dict[str, bytes]:
    """The frame as the first start drew it, once there was one: it fits every folder as deep as that."""
    return {}


@pytest.fixture
def env(tmp_path: Path, bare: dict[str, str], drawn: dict[str, bytes]) -> dict[str, str]:
    """An earlier start has left its frame."""
    file = frame_file(tmp_path)
    if not drawn:
        start_once(tmp_path, bare)
        drawn["frame"] = file.read_bytes()
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(drawn["frame"])
    file.chmod(0o600)
    return bare


def frame_file(tmp_path: Path, size: tuple[int, int] = SIZE) -> Path:
    return tmp_path / "agent" / "cache" / "launch" / f"{size[0]}x{size[1]}"


def start_once(tmp_path: Path, env: dict[str, str]) -> str:
    """So that there is a frame. Returns the page."""
    (tmp_path / "README.md").touch()  # what the page suggests to read, whatever else the first start makes
    with terminal(tmp_path, "--no-session", env=env, is_cold=True) as shown:
        shown.until(MODEL)
        shown.until(frame_file(tmp_path).exists)
        return shown.screen


@contextmanager
def on_the_frame(
    tmp_path: Path, env: dict[str, str], *words: str, then: str = "pass"
) -> Iterator[tuple[Terminal, Callable[[], None]]]:
    """bayou while it is loading, with what lets it go on."""
    program = HELD.format(then=then)
    with terminal(tmp_path, *(words or ("--no-session",)), program=program, env=env) as shown:
        shown.until((tmp_path / "waits").exists)
        shown.until(PAGE)
        assert MODEL not in shown.screen
        yield shown, (tmp_path / "go").touch


def test_the_next_start_shows_the_empty_page_at_once_and_enters_the_screen_once(
    tmp_path: Path, bare: dict[str, str]
):
    page = start_once(tmp_path, bare)
    with terminal(tmp_path, "--no-session", env=bare, is_cold=True) as shown:
        shown.until(MODEL)
        assert shown.screen == page
        assert shown.sent.count(b"\x1b[?1049h") == 1
        assert shown.sent.index(PAGE.encode()) < shown.sent.index(b"\x1b[?1000h")
        shown.press("\x04")
        assert shown.ended() == 0
        assert shown.left_behind() == []


def test_the_launch_frame_contains_no_session_data_and_is_private(tmp_path: Path, bare: dict[str, str]):
    folder = tmp_path / "secret-boats"
    folder.mkdir()
    (folder / "notes.txt").write_text("Treasure.")
    with terminal(folder, "read notes.txt", env=bare, is_cold=True) as shown:
        shown.until("Treasure")
        shown.until(frame_file(tmp_path).exists)
    kept = frame_file(tmp_path).read_bytes()
    assert frame_file(tmp_path).stat().st_mode & 0o777 == 0o600
    assert PAGE.encode() in kept
    for word in (b"secret", b"boats", b"guide", b"offline", b"Treasure", b"notes"):
        assert word not in kept


def test_what_is_typed_on_it_is_seen_and_never_goes_away_again(tmp_path: Path, env: dict[str, str]):
    with on_the_frame(tmp_path, env) as (shown, go_on):
        shown.press("hello böat 船x")
        shown.until("hello böat 船x")
        shown.press("\x7f")
        shown.until(lambda: "船x" not in shown.screen)
        go_on()
        while MODEL not in shown.screen:
            shown.read()
            assert "hello böat 船" in shown.screen
        shown.press("!")
        shown.until("hello böat 船!")


def test_keys_that_are_no_letters_wait_for_the_page(tmp_path: Path, env: dict[str, str]):
    with on_the_frame(tmp_path, env) as (shown, go_on):
        shown.press("one")
        shown.until("one")
        shown.press("\x1b[D\x1b[D-\x01>")
        go_on()
        shown.until(">o-ne")


def test_a_line_that_is_longer_than_there_is_room_arrives(tmp_path: Path, env: dict[str, str]):
    text = " ".join(f"word{number}" for number in range(20))
    with on_the_frame(tmp_path, env) as (shown, go_on):
        shown.press(text)
        go_on()
        shown.until(text)


def test_a_prompt_that_is_sent_from_it_is_answered(tmp_path: Path, env: dict[str, str]):
    (tmp_path / "boat.txt").write_text("afloat")
    with on_the_frame(tmp_path, env) as (shown, go_on):
        shown.press("read boat.txt\r")
        go_on()
        shown.until("afloat")


def test_a_terminal_that_is_resized_meanwhile(tmp_path: Path, env: dict[str, str]):
    with on_the_frame(tmp_path, env) as (shown, go_on):
        shown.resize(100, 30)
        shown.press("abc")
        go_on()
        shown.until(MODEL)
        shown.until("abc")
        rows = shown.screen.splitlines()
        assert MODEL in "".join(rows[-3:]) and "abc" in "".join(rows[-6:])


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGQUIT, 131)],
)
@pytest.mark.parametrize("is_early", [True, False])
def test_signals(tmp_path: Path, env: dict[str, str], number: signal.Signals, code: int, is_early: bool):
    with on_the_frame(tmp_path, env) as (shown, go_on):
        if not is_early:
            go_on()
        shown.process.send_signal(number)
        assert shown.ended() in ((code,) if is_early else (code, 0))
        assert shown.left_behind() == []


def test_a_signal_while_its_reader_is_being_started(tmp_path: Path, env: dict[str, str]):
    """`Thread.start` waits for what it started: that is where a signal came."""
    with terminal(tmp_path, "--no-session", program=STRUCK, env=env) as shown:
        assert shown.ended() == 143
        assert shown.left_behind() == []


@pytest.mark.parametrize(
    ("then", "told", "code"),
    [
        ("raise ImportError('a broken installation')", "a broken installation", 70),
        ("sys.exit(3)", "", 3),
        ("usual('tests.no_such_module')", "no_such_module", 70),
    ],
)
def test_a_start_that_fails_tells_it_on_the_shell_s_screen(
    tmp_path: Path, env: dict[str, str], then: str, told: str, code: int
):
    with on_the_frame(tmp_path, env, then=then) as (shown, go_on):
        shown.press("typed")
        go_on()
        assert shown.ended() == code or told
        assert shown.left_behind() == []
        after = shown.sent.rpartition(b"\x1b[?1049l")[2]
        assert (not told or b"bayou:" in after) and PAGE.encode() not in after


def test_a_missing_session_is_reported_on_the_shell_screen(tmp_path: Path, env: dict[str, str]):
    with on_the_frame(tmp_path, env, "--session", "00000000") as (shown, go_on):
        go_on()
        assert shown.ended() == 2
        assert shown.left_behind() == []
        assert b"no session id begins with '00000000'" in shown.sent.rpartition(b"\x1b[?1049l")[2]


def test_a_terminal_that_goes_away(tmp_path: Path, env: dict[str, str]):
    with on_the_frame(tmp_path, env) as (shown, go_on):
        shown.close_program_pipes()
        go_on()
        shown.process.wait(20)


@pytest.mark.parametrize(
    "change",
    ["size", "terminal", "colours", "settings", "project", "version", "cut", "others", "words", "off"],
)
def test_where_it_does_not_fit_there_is_none(
    tmp_path: Path, env: dict[str, str], change: str, monkeypatch: pytest.MonkeyPatch
):
    seen, size, file = dict(env), SIZE, frame_file(tmp_path)
    words = ["--no-session"]
    match change:
        case "size":
            size = (81, 24)
        case "terminal":
            seen["TERM"] = "dumb"
        case "colours":
            seen["NO_COLOR"] = "1"
        case "settings":
            (tmp_path / "agent" / "settings.json").write_text('{"theme": "bayou-light"}')
        case "project":
            (tmp_path / ".bayou").mkdir()
            (tmp_path / ".bayou" / "settings.json").write_text("{}")
        case "version":
            file.write_bytes(file.read_bytes().replace(VERSION.encode(), b"9.9.9", 1))
        case "cut":
            file.write_bytes(file.read_bytes()[:-9])
        case "others":
            file.chmod(0o644)
        case "words":
            words = ["--no-session", "--theme", "bayou-light"]
        case _:
            (tmp_path / "agent" / "settings.json").write_text('{"terminal": {"launchFrame": false}}')
    with terminal(tmp_path, *words, size=size, env=seen, is_cold=True) as shown:
        shown.until(MODEL)
        start = shown.sent.index(b"\x1b[?1049h")
        assert PAGE.encode() not in shown.sent[: shown.sent.index(b"\x1b[?1004h", start)]
        if change == "off":
            shown.until(lambda: not file.exists())
            assert not list(file.parent.iterdir())


def test_a_frame_of_no_size_that_there_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    env, folder = {"HOME": str(tmp_path)}, tmp_path / ".bayou/agent/cache/launch"
    for number in range(12):
        frame = launch_frame.LaunchFrame(row=1, column=1, room=9, style=b"", theme="", content=b"x")
        launch_frame.write_launch_frame(frame, (10, 10 + number), env, "/")
        os.utime(folder / f"10x{10 + number}", (number, number))
    assert len(list(folder.iterdir())) == 8
    found = launch_frame.read_launch_frame((10, 21), env, "/")
    assert found is not None and found.content == b"x"
    frame = launch_frame.LaunchFrame(row=40, column=1, room=9, style=b"", theme="", content=b"x")
    launch_frame.write_launch_frame(frame, (10, 21), env, "/")
    assert launch_frame.read_launch_frame((10, 21), env, "/") is None, (
        "it would be typed outside of the screen"
    )


@pytest.mark.parametrize(
    ("read", "text", "rest"),
    [
        (b"hi", "hi", b""),
        (b"hi\x7f\x7f\x7fo", "o", b""),
        (b"h\x1b]11;rgb:00/00/00\x1b\\i\x1b[?62;4c!", "hi!", b""),
        (b"h\x1b]11;rgb:00/0", "h", b"\x1b]11;rgb:00/0"),
        (b"h\x1b[?6", "h", b"\x1b[?6"),
        (b"h\x1b[Ai", "h", b"\x1b[Ai"),
        (b"h\ri", "h", b"\ri"),
        ("ü船".encode(), "ü船", b""),
        ("ü船".encode()[:-1], "ü", "船".encode()[:-1]),
        (b"a\xffb", "a", b"\xffb"),
    ],
)
def test_what_is_text_of_what_has_come(read: bytes, text: str, rest: bytes):
    assert split_typed_text_from_input(read) == (text, rest)


def test_letters_are_drawn_in_their_place_as_far_as_there_is_room():
    place = LaunchFrameEchoLine(3, 5, 4, b"\x1b[1m")
    assert place.draw_row("") == b"\x1b[3;5H\x1b[1m    \x1b[0m\x1b[3;5H"
    assert place.draw_row("a船") == "\x1b[3;5H\x1b[1ma船 \x1b[0m\x1b[3;8H".encode()
    assert place.draw_row("abcd") is None
    assert place.draw_row("e\u0301") is None
    assert re.search(rb"\x1b\[3;6H$", place.draw_row("a") or b"")
