"""Controls the terminal besides drawing: title, progress, notifications, external editors, restoring it.

Pure functions build the sequences; callers write them to the driver or the tty. Text in sequences is cleaned first, so
that a session's name cannot control the terminal."""

import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec
from textual.app import App

from tools.lazy_patterns import lazy_regex
from widgets.row_builder import clean_single_line
from widgets.textual_internals import terminal_driver_of

NotificationMethod = Literal["auto", "bell", "off", "osc9", "osc99", "osc777"]
TerminalProgressState = Literal["none", "busy", "error"]
BELL_CHARACTER = "\x07"
ESCAPE_STRING_TERMINATOR = "\x1b\\"
_GNU_SCREEN_CHUNK_CHARS = 250
"""The number of characters that GNU screen passes on at a time."""
TERMINAL_RESET_SEQUENCE = (
    "\x1b[?2026l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?1015l\x1b[?1016l"  # synchronised output, mouse
    "\x1b[?2004l\x1b[?1004l\x1b[?2048l\x1b[<u\x1b[?1049l"  # paste, focus, resize, keys, screen
    "\x1b[?7h\x1b[0m\x1b[0 q\x1b[?25h\x1b[23;0t"  # wrapping, colours, cursor, title
)
"""Resets every mode that a full-screen program may have set, for unexpected exits."""


def wrap_for_multiplexer(sequence: str, env: Mapping[str, str] = os.environ) -> str:
    """Returns a sequence wrapped so that tmux or screen, if they are in between, pass it to the terminal."""
    if env.get("TMUX"):
        return "\x1bPtmux;" + sequence.replace("\x1b", "\x1b\x1b") + ESCAPE_STRING_TERMINATOR
    if env.get("STY") or env.get("TERM", "").startswith("screen"):
        parts = (
            sequence[at : at + _GNU_SCREEN_CHUNK_CHARS]
            for at in range(0, len(sequence), _GNU_SCREEN_CHUNK_CHARS)
        )
        return "".join(f"\x1bP{part}{ESCAPE_STRING_TERMINATOR}" for part in parts)
    return sequence


def terminal_title_sequence(title: str) -> str:
    return f"\x1b]0;{_shorten_safe_text(title, 120)}{BELL_CHARACTER}"


def terminal_progress_sequence(state: TerminalProgressState, percent: int | None = None) -> str:
    """Returns the sequence (OSC 9;4) that shows progress in the taskbar or tab of the terminal, or ends it."""
    if state == "none":
        return f"\x1b]9;4;0;0{ESCAPE_STRING_TERMINATOR}"
    kind = {"busy": 3 if percent is None else 1, "error": 2}[state]
    return f"\x1b]9;4;{kind};{min(100, max(0, percent or 0))}{ESCAPE_STRING_TERMINATOR}"


def desktop_notification_sequence(
    method: NotificationMethod, title: str, body: str, env: Mapping[str, str] = os.environ
) -> str:
    """Returns the escape sequence for a desktop notification by the given method."""
    title, body = _shorten_safe_text(title, 80), _shorten_safe_text(body, 200)
    match choose_notification_method(env) if method == "auto" else method:
        case "off":
            return ""
        case "osc9":
            return wrap_for_multiplexer(f"\x1b]9;{title}: {body}{ESCAPE_STRING_TERMINATOR}", env)
        case "osc777":
            return wrap_for_multiplexer(
                f"\x1b]777;notify;{title.replace(';', ',')};{body}{ESCAPE_STRING_TERMINATOR}", env
            )
        case "osc99":
            first = f"\x1b]99;i=bayou:d=0;{title}{ESCAPE_STRING_TERMINATOR}"
            return wrap_for_multiplexer(first, env) + wrap_for_multiplexer(
                f"\x1b]99;i=bayou:d=1:p=body;{body}{ESCAPE_STRING_TERMINATOR}", env
            )
        case _:
            return BELL_CHARACTER


def choose_notification_method(env: Mapping[str, str]) -> NotificationMethod:
    """Returns the notification method that the terminal of this environment is known to support; the bell for an
    unknown one."""
    program = env.get("TERM_PROGRAM", "").lower()
    if env.get("KITTY_WINDOW_ID") or "kitty" in env.get("TERM", ""):
        return "osc99"
    if program in ("iterm.app", "ghostty", "vscode", "wezterm") or env.get("WT_SESSION"):
        return "osc9"
    if program == "foot" or env.get("TERM", "").startswith(("foot", "rxvt")):
        return "osc777"
    return "bell"


class DesktopNotifier(msgspec.Struct, eq=False):
    """Sends desktop notifications through the terminal: none while the user looks at it, none for short tasks, at most
    one a second."""

    write: Callable[[str], None]
    method: NotificationMethod = "auto"
    only_when_unfocused: bool = True
    min_seconds: float = 10.0
    clock: Callable[[], float] = time.monotonic
    env: Mapping[str, str] = os.environ
    is_focused: bool = True
    _last_notification: float = msgspec.field(default_factory=lambda: float("-inf"))

    def notify(self, title: str, body: str, *, took: float | None = None) -> bool:
        now = self.clock()
        if self.only_when_unfocused and self.is_focused:
            return False
        if (took is not None and took < self.min_seconds) or now - self._last_notification < 1.0:
            return False
        sequence = desktop_notification_sequence(self.method, title, body, self.env)
        if not sequence:
            return False
        self._last_notification = now
        self.write(sequence)
        return True


def write_through_driver(app: App[Any], sequence: str) -> None:
    """Writes an escape sequence through the application's terminal driver; does nothing without a terminal."""
    driver = terminal_driver_of(app)
    if driver is not None and not app.is_headless and sequence:
        driver.write(sequence)
        driver.flush()


def restore_terminal(line_discipline: Any = None) -> None:
    """Resets every terminal mode, after a process that could not end properly.

    `line_discipline`: the attributes that `tcgetattr` returned before."""
    try:
        if sys.__stdout__ is not None and sys.__stdout__.isatty():
            _set_line_discipline(line_discipline)
            os.write(sys.__stdout__.fileno(), TERMINAL_RESET_SEQUENCE.encode())
    except (OSError, ValueError):
        pass


def _set_line_discipline(attributes: Any) -> None:
    if attributes is None:
        return
    import termios  # noqa: PLC0415  (not on every system)

    try:
        termios.tcsetattr(sys.__stdin__.fileno() if sys.__stdin__ else 0, termios.TCSANOW, attributes)
    except termios.error:
        pass


def find_editor_command(setting: str = "", env: Mapping[str, str] = os.environ) -> list[str]:
    """Returns the command of the user's editor: from the setting, `$VISUAL` or `$EDITOR`, else an installed one."""
    for wanted in (setting, env.get("VISUAL", ""), env.get("EDITOR", "")):
        if wanted.strip():
            return shlex.split(wanted)
    return [next((name for name in ("nano", "vim", "vi") if shutil.which(name)), "nano")]


def edit_text_externally(
    app: App[Any], text: str, command: list[str], folder: Path, env: Mapping[str, str] = os.environ
) -> tuple[str | None, str]:
    """Edits a text in another program, started with `env`, while bayou is suspended.

    Returns the text, or None and the reason. The file is named `.md`, so that editors highlight
    it. `folder`: a private folder, which the caller removes."""
    path = folder / "prompt.md"
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
    with app.suspend():  # no exception may be raised inside, or the terminal would not be taken back
        code, problem = _run_editor_program([*command, str(path)], env)
    app.refresh(layout=True)
    if problem:
        return None, f"{command[0]} cannot be started: {problem}. Set another editor in $EDITOR."
    if code:
        return None, f"{command[0]} failed with exit code {code}; the prompt was not changed"
    return path.read_text(encoding="utf-8", errors="replace").removesuffix("\n"), ""


_EDITORS_WITH_PLUS_LINE_OPTION_PATTERN = lazy_regex(
    r"(g?vim?|nvim|view|nano|pico|emacs(client)?|micro|kak|joe|jed|mcedit|ne|less)\Z"
)
"""Editors that accept `+LINE` before the file."""
_EDITORS_WITH_COLON_LINE_SUFFIX_PATTERN = lazy_regex(r"(hx|helix|zed|subl)\Z")
"""Editors that accept `FILE:LINE`."""
_EDITORS_WITH_GOTO_OPTION_PATTERN = lazy_regex(r"(code(-insiders)?|codium|cursor|windsurf)\Z")
"""Editors that accept `FILE:LINE` after `--goto`."""


def editor_command_at_line(command: list[str], path: Path, line: int) -> list[str]:
    """Returns the command that opens a file at a line, if the editor is known to support it."""
    name = Path(command[0]).name.removesuffix(".exe")
    if _EDITORS_WITH_PLUS_LINE_OPTION_PATTERN.match(name):
        return [*command, f"+{line}", str(path)]
    if _EDITORS_WITH_COLON_LINE_SUFFIX_PATTERN.match(name):
        return [*command, f"{path}:{line}"]
    if _EDITORS_WITH_GOTO_OPTION_PATTERN.match(name):
        return [*command, "--goto", f"{path}:{line}"]
    return [*command, str(path)]


def open_in_external_editor(
    app: App[Any], path: Path, line: int, command: list[str], env: Mapping[str, str] = os.environ
) -> str:
    """Opens a file in another program, started with `env`, while bayou is suspended; returns an error
    or an empty text."""
    with app.suspend():  # no exception may be raised inside, or the terminal would not be taken back
        code, problem = _run_editor_program(editor_command_at_line(command, path, line), env)
    app.refresh(layout=True)
    if problem:
        return f"{command[0]} cannot be started: {problem}. Set another editor in $EDITOR."
    return f"{command[0]} failed with exit code {code}" if code else ""


def _run_editor_program(command: list[str], env: Mapping[str, str]) -> tuple[int, str]:
    """Runs an editor and waits for it; returns its exit code, and the reason if it could not start."""
    try:
        return subprocess.run(command, env=env, check=False).returncode, ""
    except (OSError, ValueError) as error:
        return 0, getattr(error, "strerror", None) or str(error)


def _shorten_safe_text(text: str, longest: int) -> str:
    return clean_single_line(text)[:longest]
