"""Copies go where they are said to go."""

import base64
from pathlib import Path

from widgets.transcript.clipboard import OSC52_LIMIT, copy, native_command, osc52


def tool(folder: Path, name: str, *, works: bool = True) -> dict[str, str]:
    """A clipboard program that writes what it gets into a file."""
    program = folder / name
    program.write_text(f"#!/bin/sh\ncat > {folder}/clipboard\nexit {0 if works else 1}\n")
    program.chmod(0o755)
    return {"PATH": f"{folder}:/usr/bin:/bin", "DISPLAY": ":0"}


def test_the_terminal_is_asked_with_osc_52() -> None:
    assert osc52("hé", {}) == f"\x1b]52;c;{base64.b64encode('hé'.encode()).decode()}\x07"


def test_multiplexers_pass_it_on() -> None:
    inside_tmux = osc52("x", {"TMUX": "/tmp/socket"})
    assert inside_tmux == "\x1bPtmux;\x1b\x1b]52;c;eA==\x07\x1b\\"
    inside_screen = osc52("x" * 400, {"TERM": "screen"})
    assert inside_screen is not None
    assert inside_screen.count("\x1bP") == inside_screen.count("\x1b\\") > 1


def test_what_is_too_long_for_terminals_is_not_sent() -> None:
    assert osc52("x" * OSC52_LIMIT, {}) is None


def test_a_tool_of_this_machine_is_named(tmp_path: Path) -> None:
    sent: list[str] = []
    copied = copy("text", sent.append, environment=tool(tmp_path, "xclip"))
    assert (tmp_path / "clipboard").read_text() == "text"
    assert copied.words == "Copied to the clipboard (xclip)"
    assert len(sent) == 1


def test_a_tool_that_fails_is_not_believed(tmp_path: Path) -> None:
    copied = copy("text", [].append, environment=tool(tmp_path, "xclip", works=False))
    assert copied.words == "Sent to the terminal's clipboard; not every terminal takes it"


def test_over_ssh_this_machines_clipboard_is_the_wrong_one(tmp_path: Path) -> None:
    environment = tool(tmp_path, "xclip") | {"SSH_CONNECTION": "1.2.3.4"}
    assert native_command(environment, "linux") is None


def test_without_any_clipboard_the_text_goes_to_a_file(tmp_path: Path) -> None:
    copied = copy(
        "x" * OSC52_LIMIT, [].append, fallback=tmp_path / "sub" / "copy.txt", environment={"PATH": ""}
    )
    assert copied.file is not None
    assert copied.file.read_text() == "x" * OSC52_LIMIT
    assert str(copied.file) in copied.words
    (tmp_path / "file").write_text("")
    nowhere = copy("x" * OSC52_LIMIT, None, fallback=tmp_path / "file" / "copy.txt", environment={"PATH": ""})
    assert nowhere.words.startswith("Nothing could be copied")
