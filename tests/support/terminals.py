"""A whole process in a real pseudo-terminal, with an emulator that keeps the screen and every
mode."""

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from app.cli.subcommands import SUBCOMMANDS
from tests.support import warm_bayou
from tests.support.warm_bayou import WarmProcess
from widgets.emulator.emulator import TerminalEmulator

LIMIT = 20.0
WRITTEN_NOTHING = "Ask anything"
"""A text that is on the page while the editor is empty."""
_MODE = re.compile(rb"\x1b\[\?([\d;]+)([hl])")
_KEYBOARD = re.compile(rb"\x1b\[([<>])\d*u")
_TITLE = re.compile(rb"\x1b\[2([23]);0t")
_ON_AT_FIRST = {7, 25}
"""The modes that are on at first: wrapping and a visible cursor."""


class Terminal:
    """Runs a program in a pseudo-terminal. `words` follow the tests' Python; without `program` they
    are bayou's arguments."""

    def __init__(
        self,
        cwd: Path,
        *words: str,
        program: str = "",
        size: tuple[int, int] = (80, 24),
        env: Mapping[str, str] | None = None,
        before: Callable[[], None] | None = None,
        errors: int | None = None,
        background: str = "",
        keyboard: int | None = None,
        is_mute: bool = False,
        is_cold: bool = False,
        emulator: Callable[..., TerminalEmulator] = TerminalEmulator,
    ) -> None:
        """bayou runs without approvals, unless `words` set the permissions.

        `before`: called in the new process. `is_cold`: bayou has to import itself, as for a person;
        else it is forked from a process that has done so. `errors`: where standard error goes, if not to the
        terminal.

        `background`: the terminal's reply to a query for its colour, as `rgb:ffff/ffff/ffff`.
        `is_mute`: no query is answered. `keyboard`: its reply about kitty's keyboard protocol, if
        it supports that."""
        self.sent = b""
        self._background = background
        self._is_mute = is_mute
        self._keyboard = keyboard
        self._ours, theirs = pty.openpty()
        self.emulator = emulator(*size, reply=self._answer)
        os.set_blocking(self._ours, False)
        self.resize(*size, tells=False)
        self.attributes = termios.tcgetattr(self._ours)
        if not program and not SUBCOMMANDS.keys() & set(words[:1]) and "--permissions" not in words:
            words = (*words, "--permissions", "full")
        streams = theirs, theirs, theirs if errors is None else errors
        if program or before or is_cold:
            start = ["-c", program] if program else ["-m", "app"]
            self.process: subprocess.Popen[bytes] | WarmProcess = subprocess.Popen(
                [sys.executable, "-P", *start, *words],
                cwd=cwd, stdin=streams[0], stdout=streams[1], stderr=streams[2],
                env=_environment(env or {}), start_new_session=True, preexec_fn=lambda: _begin(before),
            )  # fmt: skip
        else:
            self.process = warm_bayou.start(*words, cwd=cwd, streams=streams, env=_environment(env or {}))
        os.close(theirs)

    @property
    def screen(self) -> str:
        return self.emulator.full_text()

    def press(self, keys: str | bytes) -> None:
        """Writes keys as fast as the program reads them, reading its output meanwhile."""
        left = keys.encode() if isinstance(keys, str) else keys
        end = time.monotonic() + LIMIT
        while left:
            try:
                left = left[os.write(self._ours, left[:4096]) :]
            except BlockingIOError:
                assert time.monotonic() < end, f"it takes no more keys. The screen:\n{self.screen}"
                self.read()

    def _answer(self, data: bytes) -> None:
        if not self._is_mute:
            self.press(data)

    def resize(self, columns: int, lines: int, *, tells: bool = True) -> None:
        self.size = columns, lines
        fcntl.ioctl(self._ours, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        self.emulator.resize(columns, lines)
        if tells:
            self.process.send_signal(
                signal.SIGWINCH
            )  # the process has no controlling terminal that would send the signal

    def until(self, condition: str | Callable[[], bool]) -> None:
        """Reads until a text is on the screen or a condition holds."""
        is_so = condition if callable(condition) else lambda: _unwrapped(condition) in _unwrapped(self.screen)
        end = time.monotonic() + LIMIT
        while not is_so():
            assert time.monotonic() < end, f"{condition!r} did not happen. The screen:\n{self.screen}"
            # The last words of a process may arrive between a read of nothing and its end, so its end is asked first.
            has_ended = self.process.poll() is not None
            assert self.read() or not has_ended or is_so(), f"it has ended:\n{self.screen}"

    def until_idle(self) -> None:
        """Reads until the agent no longer works, so that leaving asks nothing."""
        self.until(lambda: "esc stop" not in self.screen)

    def ended(self) -> int:
        end = time.monotonic() + LIMIT
        while self.process.poll() is None:
            assert time.monotonic() < end, f"it did not end. The screen:\n{self.screen}"
            self.read()
        while self.read():
            pass
        return self.process.wait()

    def read(self) -> bool:
        try:
            data = os.read(self._ours, 65536)
        except (BlockingIOError, OSError):
            time.sleep(0.01)  # like a user, who does not type while the screen is being drawn
            return False
        self.sent += data
        if self._background and b"\x1b]11;?" in data:
            self.press(f"\x1b]11;{self._background}\x1b\\")
        if self._keyboard is not None and b"\x1b[?u" in data:
            self.press(f"\x1b[?{self._keyboard}u")
        self.emulator.feed(data)
        return True

    def close_program_pipes(self) -> None:
        os.close(self._ours)

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def left_behind(self) -> list[str]:
        """Returns what was not restored: modes, keyboard, title, line discipline."""
        modes: dict[int, bool] = {}
        for numbers, switch in _MODE.findall(self.sent):
            modes |= {int(number): switch == b"h" for number in numbers.split(b";")}
        found = [f"mode {n} is {on}" for n, on in modes.items() if on != (n in _ON_AT_FIRST)]
        for name, pattern in (("keyboard", _KEYBOARD), ("title", _TITLE)):
            kinds = pattern.findall(self.sent)
            if kinds and kinds.count(kinds[0]) * 2 != len(kinds):
                found.append(f"{name}: {kinds}")
        if termios.tcgetattr(self._ours)[:4] != self.attributes[:4]:
            found.append("the line discipline is another")
        return found


@contextmanager
def terminal(cwd: Path, *words: str, **how: object) -> Iterator[Terminal]:
    opened = Terminal(cwd, *words, **how)  # pyright: ignore[reportArgumentType]  (its own arguments)
    try:
        yield opened
    finally:
        opened.kill()


class KeptTerminal:
    """A terminal in which bayou stays open from one test to the next."""

    def __init__(self, home: Path, env: Mapping[str, str]) -> None:
        self._home = home
        self._env = env
        self._terminal: Terminal | None = None

    def opened(self) -> Terminal:
        """Returns the terminal with bayou on its page and an empty editor."""
        shown = self._terminal
        if shown is None or shown.process.poll() is not None:
            shown = self._terminal = Terminal(self._home, env=self._env)
        while shown.read():
            pass
        if shown.size != (80, 24):
            shown.emulator.feed(b"\x1b[2J")  # what is on the screen from now on was drawn for the new size
            shown.resize(80, 24)
            shown.until(lambda: "›" in shown.screen)  # the editor's first line
        if WRITTEN_NOTHING not in shown.screen and shown.sent:
            shown.press(
                "\x15" * 12
            )  # line by line, because a second Ctrl+C shortly after the first would leave
        shown.until(WRITTEN_NOTHING)
        shown.sent = b""
        return shown

    def close(self) -> None:
        if self._terminal is not None:
            self._terminal.kill()


def _begin(before: Callable[[], None] | None) -> None:
    """Enables Ctrl+C in the new process, which a shell's `&` disables."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if before is not None:
        before()


def _environment(more: Mapping[str, str]) -> dict[str, str]:
    """Returns the environment without the size of another terminal, unless it is given."""
    mine = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    return {**mine, **more}


def _unwrapped(text: str) -> str:
    """Removes white space, because a long path may have been wrapped anywhere."""
    return "".join(text.split())
