"""Whether the terminal is dark or light, asked early: the answer arrives while everything else is being loaded.

Needs nothing of Textual, so that the question can go out before Textual is read.
"""

import os
import re
import select
import sys
import time
from typing import Any, Literal

from widgets.colors import is_dark

Appearance = Literal["dark", "light"]
_PART = rb"([0-9a-fA-F]{1,4})"
_BACKGROUND = re.compile(rb"\x1b\]11;rgba?:" + b"/".join((_PART,) * 3) + rb"[^\x07\x1b]*(\x07|\x1b\\)")
_ATTRIBUTES = re.compile(rb"\x1b\[\?[\d;]*c")
"""The answer to a question that every terminal answers: behind it, no other answer comes."""


class AppearanceQuestion:
    """Asked once; while it is open, what is typed is kept and not echoed. `end` must be called."""

    def __init__(self) -> None:
        self._before: Any = None
        self._handle = -1
        self._asked = 0.0
        self._read = b""

    def ask(self) -> None:
        if sys.platform == "win32" or not (sys.stdin.isatty() and sys.stdout.isatty()):
            return
        import termios  # noqa: PLC0415  (not on every system)
        import tty  # noqa: PLC0415  (not on every system)

        handle = sys.stdin.fileno()
        try:
            self._before = termios.tcgetattr(handle)
            tty.setcbreak(handle, termios.TCSANOW)
            os.write(sys.stdout.fileno(), b"\x1b]11;?\x1b\\\x1b[c")
        except (termios.error, OSError):
            return
        self._handle, self._asked = handle, time.monotonic()

    def answer(self, patience: float = 0.1) -> Appearance | None:
        """None when the terminal does not say within `patience` seconds after it was asked."""
        deadline = self._asked + patience
        while self._handle >= 0 and not _ATTRIBUTES.search(self._read):
            left = max(0.0, deadline - time.monotonic())
            try:
                if not select.select([self._handle], [], [], left)[0]:
                    break
                self._read += os.read(self._handle, 4096)
            except OSError:
                break
        color = background_from(self._read)
        return None if color is None else "dark" if is_dark(color) else "light"

    def end(self) -> str:
        """Gives the terminal back as it was; returns what was typed meanwhile."""
        if self._before is not None:
            import termios  # noqa: PLC0415  (not on every system)

            try:
                termios.tcsetattr(self._handle, termios.TCSADRAIN, self._before)
            except termios.error:
                pass
            self._before, self._handle = None, -1
        return typed_in(self._read)


def background_from(answer: bytes) -> str | None:
    """The colour in a terminal's answer to OSC 11."""
    match = _BACKGROUND.search(answer)
    if match is None:
        return None
    parts = (round(int(part, 16) / (16 ** len(part) - 1) * 255) for part in match.groups()[:3])
    return "#" + "".join(f"{part:02x}" for part in parts)


def typed_in(read: bytes) -> str:
    """The text among a terminal's answers, of somebody who did not wait for the first picture."""
    rest = _ATTRIBUTES.sub(b"", _BACKGROUND.sub(b"", read)).split(b"\x1b", 1)[0]
    text = rest.decode("utf-8", "ignore").replace("\r", "\n")
    return "".join(char for char in text if char.isprintable() or char == "\n")
