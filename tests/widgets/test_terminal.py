"""Sequences for terminal and clipboard: foreign text is cleaned, and reports are true."""

import base64
import contextlib
import os
import pty
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from textual.app import App

from app.tui.current_theme import parse_background_reply
from widgets.terminal import clipboard
from widgets.terminal.terminal_control import (
    BELL_CHARACTER,
    TERMINAL_RESET_SEQUENCE,
    DesktopNotifier,
    choose_notification_method,
    desktop_notification_sequence,
    edit_text_externally,
    find_editor_command,
    terminal_progress_sequence,
    terminal_title_sequence,
    wrap_for_multiplexer,
)


def test_a_title_cannot_command_the_terminal() -> None:
    sequence = terminal_title_sequence("work\x1b]52;c;x\x07\nmore")
    assert sequence.startswith("\x1b]0;")
    assert sequence.count("\x1b") == 1
    assert sequence.count(BELL_CHARACTER) == 1


def test_progress() -> None:
    assert terminal_progress_sequence("busy") == "\x1b]9;4;3;0\x1b\\"
    assert terminal_progress_sequence("busy", 40) == "\x1b]9;4;1;40\x1b\\"
    assert terminal_progress_sequence("none") == "\x1b]9;4;0;0\x1b\\"


@pytest.mark.parametrize(
    ("env", "method"),
    [
        ({"KITTY_WINDOW_ID": "1"}, "osc99"),
        ({"TERM_PROGRAM": "ghostty"}, "osc9"),
        ({"TERM": "foot"}, "osc777"),
        ({"TERM": "dumb"}, "bell"),
        ({}, "bell"),
    ],
)
def test_how_to_notify_is_told_by_the_terminal(env: dict[str, str], method: str) -> None:
    assert choose_notification_method(env) == method
    assert desktop_notification_sequence("auto", "bayou", "done\x1b[2J", env).count("\x1b[2J") == 0


def test_tmux_gets_it_wrapped() -> None:
    assert wrap_for_multiplexer("\x1b]9;x\x1b\\", {"TMUX": "1"}) == "\x1bPtmux;\x1b\x1b]9;x\x1b\x1b\\\x1b\\"
    assert wrap_for_multiplexer("\x1b]9;x\x1b\\", {}) == "\x1b]9;x\x1b\\"


def test_one_is_told_only_when_one_looks_elsewhere_and_it_took_a_while() -> None:
    said: list[str] = []
    now = [0.0]
    notifier = DesktopNotifier(said.append, method="bell", clock=lambda: now[0], env={})
    assert not notifier.notify("bayou", "done", took=60)
    notifier.is_focused = False
    assert not notifier.notify("bayou", "done", took=3)
    assert notifier.notify("bayou", "done", took=60)
    assert not notifier.notify("bayou", "done", took=60), "not twice within a second"
    now[0] += 2
    assert notifier.notify("bayou", "a question")
    assert said == [BELL_CHARACTER, BELL_CHARACTER]


def test_the_answer_about_the_background() -> None:
    assert parse_background_reply(b"\x1b]11;rgb:1212/1818/1a1a\x1b\\") == "#12181a"
    assert parse_background_reply(b"\x1b]11;rgb:ff/ff/ff\x07\x1b[?62c") == "#ffffff"
    assert parse_background_reply(b"\x1b[?62c") is None


@pytest.mark.parametrize(
    ("answer", "appearance"),
    [
        (b"\x1b]11;rgb:fbfb/fafa/f6f6\x1b\\\x1b[?62c", "light"),
        (b"\x1b]11;rgb:1212/1818/1a1a\x1b\\\x1b[?62c", "dark"),
        (b"\x1b[?62c", "None"),
        (b"who\r\x1b]11;rgb:1212/1818/1a1a\x1b\\\x1b[?62c", "dark with Enter"),
    ],
)
def test_asking_a_real_terminal(answer: bytes, appearance: str) -> None:
    code = (
        "from app.tui.current_theme import query_terminal_appearance\n"
        "from widgets.terminal.early_terminal import EarlyTerminal\n"
        "held = EarlyTerminal()\n"
        "held.take_over_terminal()\n"
        "appearance, read = query_terminal_appearance(held, 5.0), held.take_stored_input()\n"
        "held.restore_terminal()\n"
        "print('is', appearance, 'with Enter' if b'who\\r' in read else '', flush=True)\n"
    )
    root = Path(__file__).parents[2]
    child, handle = pty.fork()
    if child == 0:  # pragma: no cover (the other process)
        os.chdir(root)
        os.execve(sys.executable, [sys.executable, "-c", code], {**os.environ, "PYTHONPATH": str(root)})
    said = b""
    watchdog = threading.Timer(30, os.kill, (child, 9))
    watchdog.start()
    try:
        has_answered = False
        while b"is " not in said or not said.rstrip().endswith(appearance.encode()):
            said += os.read(handle, 1024)
            if b"\x1b[c" in said and not has_answered:
                has_answered = True
                os.write(handle, answer)
    except OSError:
        pass
    finally:
        watchdog.cancel()
        os.close(handle)
        os.waitpid(child, 0)
    assert f"is {appearance}" in said.decode()


def test_every_mode_is_undone() -> None:
    for mode in ("?1049l", "?25h", "?2004l", "?1004l", "?1003l", "?1006l", "<u"):
        assert f"\x1b[{mode}" in TERMINAL_RESET_SEQUENCE


def test_which_editor() -> None:
    assert find_editor_command("code --wait", {"EDITOR": "vi"}) == ["code", "--wait"]
    assert find_editor_command("", {"VISUAL": "hx", "EDITOR": "vi"}) == ["hx"]


def test_without_a_wish_an_editor_that_is_there_is_taken(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_editor_command("", {}) == ["nano"]
    (tmp_path / "vi").write_text("#!/bin/sh\n")
    (tmp_path / "vi").chmod(0o755)
    assert find_editor_command("", {}) == ["vi"]


class _Aside(App[None]):
    """Steps aside as Textual does: what is raised meanwhile keeps it from coming back."""

    is_back = False

    @contextlib.contextmanager
    def suspend(self) -> Iterator[None]:
        yield
        self.is_back = True


@pytest.mark.parametrize("command", [["no-such-editor-anywhere"], ["/"], ["bad\0name"]])
def test_an_editor_that_cannot_be_started_gives_the_terminal_back(command: list[str], tmp_path: Path) -> None:
    app = _Aside()
    text, problem = edit_text_externally(app, "a prompt", command, tmp_path)
    assert app.is_back
    assert text is None
    assert "cannot be started" in problem


def test_what_the_editor_wrote_comes_back(tmp_path: Path) -> None:
    script = tmp_path / "ed"
    script.write_text('#!/bin/sh\necho "second line" >> "$1"\nstat -c %a "$1" >> "$1"\n')
    script.chmod(0o755)
    found = edit_text_externally(_Aside(), "a prompt\n", [str(script)], tmp_path)
    assert found == ("a prompt\nsecond line\n600", "")


# -- clipboard -----------------------------------------------------------------------------------------------


def test_a_copy_goes_to_the_terminal_and_says_so(tmp_path: Path) -> None:
    written: list[str] = []
    done = clipboard.copy_to_clipboard(
        "grüße", written.append, fallback=tmp_path / "f", env={}, find=lambda name: None
    )
    assert base64.b64decode(written[0][len("\x1b]52;c;") : -2]).decode() == "grüße"
    assert done.text == "Copied, if your terminal allows it"


def test_multiplexers_hand_a_copy_on() -> None:
    assert (
        clipboard.osc52_sequence("x", {"TMUX": "/tmp/socket"})
        == "\x1bPtmux;\x1b\x1b]52;c;eA==\x1b\x1b\\\x1b\\"
    )
    in_screen = clipboard.osc52_sequence("x" * 400, {"TERM": "screen"})
    assert in_screen.count("\x1bP") == 3
    assert max(len(part) for part in in_screen.split("\x1bP")) < 256


def test_in_tmux_a_copy_is_given_to_tmux_over_ssh_too(tmp_path: Path) -> None:
    program = tmp_path / "tmux"
    program.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/asked\ncat > {tmp_path}/taken\n')
    program.chmod(0o755)
    env = {"TMUX": "/tmp/socket,1,0", "SSH_TTY": "/dev/pts/1", "PATH": os.environ["PATH"]}
    names = {"tmux": str(program)}
    done = clipboard.copy_to_clipboard("grüße", [].append, fallback=tmp_path / "f", env=env, find=names.get)
    assert (tmp_path / "taken").read_text() == "grüße"
    assert (tmp_path / "asked").read_text() == "load-buffer -w -\n"
    assert done.text == "Copied with tmux"


def test_what_is_too_long_for_a_terminal_goes_into_a_file(tmp_path: Path) -> None:
    written: list[str] = []
    place = tmp_path / "sub" / "copy.txt"
    done = clipboard.copy_to_clipboard(
        "x" * 200_000, written.append, fallback=place, env={}, find=lambda name: None
    )
    assert written == []
    assert place.read_text() == "x" * 200_000
    assert str(place) in done.text


def test_where_nothing_takes_a_copy_that_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = clipboard.copy_to_clipboard(
        "x", None, fallback=tmp_path / "file" / "copy.txt", env={}, find=lambda name: None
    )
    assert done.text.startswith("Nothing was copied")


@pytest.mark.skipif(sys.platform == "darwin", reason="the programs of another system")
def test_a_program_that_fails_is_not_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "xclip").write_text("#!/bin/sh\ncat > /dev/null\nexit 1\n")
    (tmp_path / "xclip").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    done = clipboard.copy_to_clipboard("text", [].append, fallback=tmp_path / "f", env={"DISPLAY": ":0"})
    assert done.program == ""
    assert done.is_sent


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    store = tmp_path / "clipboard"
    for name, script in (
        (
            "xclip",
            f'#!/bin/sh\ncase "$*" in *image/png*) exit 1;; *-o*) cat {store};; *) cat > {store};; esac\n',
        ),
    ):
        path = tmp_path / name
        path.write_text(script)
        path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    return store


@pytest.mark.skipif(sys.platform == "darwin", reason="the programs of another system")
def test_the_systems_program_takes_it_and_gives_it_back(programs: Path) -> None:
    env = {"DISPLAY": ":0"}
    done = clipboard.copy_to_clipboard("a\nb", lambda sequence: None, fallback=programs, env=env)
    assert done.text == "Copied with xclip"
    assert programs.read_text() == "a\nb"
    assert clipboard.read_clipboard(env=env) == "a\nb"


@pytest.mark.skipif(sys.platform == "darwin", reason="the programs of another system")
def test_over_ssh_only_the_terminal_is_asked(programs: Path) -> None:
    env = {"DISPLAY": ":0", "SSH_TTY": "/dev/pts/1"}
    done = clipboard.copy_to_clipboard("a", lambda sequence: None, fallback=programs, env=env)
    assert done.program == ""
    assert done.is_sent
    assert not programs.exists()
