"""Getting text onto the clipboard, and saying truthfully how far it got.

OSC 52 asks the terminal, also through ssh; nobody answers, so it may come to nothing. A native tool answers.
The transcript only asks for copies; an application calls this, off the event loop when a tool is to run.
"""

import base64
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

OSC52_LIMIT = 74_000
"""Characters of base64 that common terminals take; more is cut off or dropped by them."""
_CHUNK = 250
_PATIENCE = 3.0


class Copied(NamedTuple):
    """Where the text went; every place that is true is named."""

    by_tool: str = ""
    asked_terminal: bool = False
    file: Path | None = None

    @property
    def words(self) -> str:
        if self.by_tool:
            return f"Copied to the clipboard ({self.by_tool})"
        if self.asked_terminal:
            return "Sent to the terminal's clipboard; not every terminal takes it"
        if self.file is not None:
            return f"No clipboard was found; the text is in {self.file}"
        return "Nothing could be copied: there is no clipboard here and no file could be written"


def osc52(text: str, environment: Mapping[str, str] = os.environ) -> str | None:
    """The sequence that asks the terminal, wrapped for tmux and screen; none when the text is too long for it."""
    data = base64.b64encode(text.encode(errors="replace")).decode()
    if len(data) > OSC52_LIMIT:
        return None
    sequence = f"\x1b]52;c;{data}\x07"
    if environment.get("TMUX"):
        return "\x1bPtmux;" + sequence.replace("\x1b", "\x1b\x1b") + "\x1b\\"
    if environment.get("STY") or environment.get("TERM", "").startswith("screen"):
        parts = (sequence[at : at + _CHUNK] for at in range(0, len(sequence), _CHUNK))
        return "".join(f"\x1bP{part}\x1b\\" for part in parts)
    return sequence


def native_command(
    environment: Mapping[str, str] = os.environ, platform: str = sys.platform
) -> list[str] | None:
    """The program that sets the clipboard of this machine's screen; none over ssh, where it would be the wrong one."""
    if environment.get("SSH_CONNECTION") or environment.get("SSH_TTY"):
        return None
    candidates: list[list[str]] = []
    if platform == "darwin":
        candidates.append(["pbcopy"])
    if environment.get("WAYLAND_DISPLAY"):
        candidates.append(["wl-copy"])
    if environment.get("DISPLAY"):
        candidates += [["xclip", "-selection", "clipboard"], ["xsel", "--clipboard", "--input"]]
    if environment.get("WSL_DISTRO_NAME"):
        candidates.append(["clip.exe"])
    path = environment.get("PATH")
    for name, *arguments in candidates:
        if program := shutil.which(name, path=path):
            return [program, *arguments]
    return None


def copy(
    text: str,
    write: Callable[[str], None] | None,
    *,
    fallback: Path | None = None,
    environment: Mapping[str, str] = os.environ,
) -> Copied:
    """Put the text on every clipboard within reach; `write` sends to the terminal, `fallback` is a file."""
    tool = _run_native(text, environment)
    sequence = osc52(text, environment) if write is not None else None
    if write is not None and sequence is not None:
        write(sequence)
    if tool or sequence is not None or fallback is None:
        return Copied(by_tool=tool, asked_terminal=sequence is not None)
    try:
        fallback.parent.mkdir(parents=True, exist_ok=True)
        fallback.write_text(text, encoding="utf-8", errors="replace")
    except OSError:
        return Copied()
    return Copied(file=fallback)


def _run_native(text: str, environment: Mapping[str, str]) -> str:
    command = native_command(environment)
    if command is None:
        return ""
    try:
        done = subprocess.run(
            command,
            input=text.encode(errors="replace"),
            timeout=_PATIENCE,
            check=False,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return Path(command[0]).name if done.returncode == 0 else ""
