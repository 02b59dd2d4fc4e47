"""The clipboard: written with OSC 52 and the system's programs, read with the programs. A copy reports which way
worked.

Text that is too long for a terminal is written to a file."""

import base64
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from widgets.editor.image_attachments import image_from_bytes
from widgets.editor.prompt_chips import ImageAttachment
from widgets.terminal.terminal_control import wrap_for_multiplexer

MAX_OSC52_BASE64_CHARS = 74_000
"""The maximum base64 length that common terminals accept; they cut or drop longer text."""
CLIPBOARD_PROGRAM_TIMEOUT_SECONDS = 3.0


class ClipboardCopyOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """Where a copied text went: to a program, to the terminal, which never confirms it, or into a file."""

    program: str = ""
    """The program that accepted the text."""
    is_sent: bool = False
    fallback_path: Path | None = None

    @property
    def text(self) -> str:
        """Returns a message for the user that says where the copied text went."""
        if self.program:
            return f"Copied with {self.program}"
        if self.is_sent:
            return "Copied, if your terminal allows it"
        if self.fallback_path is not None:
            return f"No clipboard was found; the text is in {self.fallback_path}"
        return "Nothing was copied: no clipboard was found and no file could be written"


def osc52_sequence(text: str, env: Mapping[str, str] = os.environ, *, target: str = "c") -> str:
    """Returns the sequence that sets the terminal's clipboard (`c`) or selection (`p`); empty if the
    text is too long."""
    data = base64.b64encode(text.encode(errors="replace")).decode()
    return (
        wrap_for_multiplexer(f"\x1b]52;{target};{data}\x1b\\", env)
        if len(data) <= MAX_OSC52_BASE64_CHARS
        else ""
    )


def copy_to_clipboard(
    text: str,
    write: Callable[[str], None] | None,
    *,
    fallback: Path,
    env: Mapping[str, str] = os.environ,
    find: Callable[[str], str | None] = shutil.which,
) -> ClipboardCopyOutcome:
    """Copies a text by every available way and returns which worked. `write` sends to the terminal; `fallback` is the
    file for when there is no clipboard; `env`: the environment, also passed to programs. Runs programs, so call it in a
    thread."""
    by = ""
    for command in _list_copy_commands(env):
        program = find(command[0])
        if program and _copy_with_program((program, *command[1:]), text, env):
            by = command[0]
            break
    sequence = osc52_sequence(text, env) if write is not None else ""
    if write is not None and sequence:
        write(sequence)
    if by or sequence:
        return ClipboardCopyOutcome(program=by, is_sent=bool(sequence))
    try:
        fallback.parent.mkdir(parents=True, exist_ok=True)
        fallback.write_text(text, encoding="utf-8", errors="replace")
    except OSError:
        return ClipboardCopyOutcome()
    return ClipboardCopyOutcome(fallback_path=fallback)


def read_clipboard(
    *, env: Mapping[str, str] = os.environ, find: Callable[[str], str | None] = shutil.which
) -> ImageAttachment | str | None:
    """Returns the system clipboard's image or text; None if it is empty or unreadable. Call it in a
    thread."""
    for image_command, text_command in _list_paste_commands(env):
        program = find(text_command[0])
        if not program:
            continue
        image_program = find(image_command[0]) if image_command else None
        if image_program:
            data = _run_for_output((image_program, *image_command[1:]), env)
            image = image_from_bytes(data, "clipboard") if data else None
            if image is not None:
                return image
        data = _run_for_output((program, *text_command[1:]), env)
        if data:
            return data.decode(errors="replace")
    return None


def _list_copy_commands(env: Mapping[str, str]) -> list[Sequence[str]]:
    tmux: list[Sequence[str]] = [("tmux", "load-buffer", "-w", "-")] if env.get("TMUX") else []
    """Commands for tmux, which by default does not pass on wrapped sequences (`allow-passthrough`)."""
    if sys.platform == "darwin":
        return [("pbcopy",), *tmux]
    if env.get("SSH_TTY") or env.get("SSH_CONNECTION"):
        return tmux  # other programs would set the clipboard of the wrong machine
    found: list[Sequence[str]] = []
    if env.get("WAYLAND_DISPLAY"):
        found.append(("wl-copy",))
    if env.get("DISPLAY"):
        found += [("xclip", "-selection", "clipboard"), ("xsel", "--clipboard", "--input")]
    if env.get("WSL_DISTRO_NAME"):
        found.append(("clip.exe",))
    return [*found, *tmux]


def _list_paste_commands(env: Mapping[str, str]) -> list[tuple[Sequence[str], Sequence[str]]]:
    if sys.platform == "darwin":
        return [(("pngpaste", "-"), ("pbpaste",))]
    found: list[tuple[Sequence[str], Sequence[str]]] = []
    if env.get("WAYLAND_DISPLAY"):
        found.append((("wl-paste", "--type", "image/png"), ("wl-paste", "--no-newline")))
    if env.get("DISPLAY"):
        clip = ("xclip", "-selection", "clipboard", "-o")
        found += [((*clip, "-t", "image/png"), clip), ((), ("xsel", "--clipboard", "--output"))]
    if env.get("WSL_DISTRO_NAME"):
        found.append(((), ("powershell.exe", "-NoProfile", "-Command", "Get-Clipboard")))
    return found


def _copy_with_program(command: Sequence[str], text: str, env: Mapping[str, str]) -> bool:
    try:
        done = subprocess.run(
            command,
            env=env,
            input=text.encode(errors="replace"),
            stdout=subprocess.DEVNULL,  # the program keeps running and would hold a pipe open
            stderr=subprocess.DEVNULL,
            timeout=CLIPBOARD_PROGRAM_TIMEOUT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def _run_for_output(command: Sequence[str], env: Mapping[str, str]) -> bytes:
    try:
        done = subprocess.run(
            command, env=env, capture_output=True, timeout=CLIPBOARD_PROGRAM_TIMEOUT_SECONDS, check=False
        )
        return done.stdout
    except (OSError, subprocess.TimeoutExpired):
        return b""
