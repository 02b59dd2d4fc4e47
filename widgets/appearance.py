"""Whether the terminal is dark or light, asked early: the answer arrives while everything else is being loaded.

From then on the terminal is held: what is typed is not echoed, and the first page gets it. Needs nothing of Textual,
so that the question can go out before Textual is read.
"""

import os
import re
import select
import sys
import time
from typing import Any, Literal

from widgets.colors import is_dark

_INPUT_FLAGS, _LOCAL_FLAGS, _CHARACTERS = 0, 3, 6
"""Where they stand in what `tcgetattr` gives."""
Appearance = Literal["dark", "light"]
_PART = rb"([0-9a-fA-F]{1,4})"
_BACKGROUND = re.compile(rb"\x1b\]11;rgba?:" + b"/".join((_PART,) * 3) + rb"[^\x07\x1b]*(\x07|\x1b\\)")
_ATTRIBUTES = re.compile(rb"\x1b\[\?[\d;]*c")
"""The answer to a question that every terminal answers: behind it, no other answer comes."""


class AppearanceQuestion:
    """Asked once; from then until `end`, which must be called, what is typed is kept and not echoed."""

    def __init__(self) -> None:
        self.attributes: Any = None
        """The terminal's, as they were before."""
        self._handle = -1
        self._asked = 0.0
        self._read = b""

    def ask(self) -> None:
        if sys.platform == "win32" or not (sys.stdin.isatty() and sys.stdout.isatty()):
            return
        import termios  # noqa: PLC0415  (not on every system)

        handle = sys.stdin.fileno()
        try:
            before = termios.tcgetattr(handle)
            held = termios.tcgetattr(handle)
            held[_INPUT_FLAGS] &= ~termios.ICRNL  # Enter stays Enter
            held[_LOCAL_FLAGS] &= ~(termios.ECHO | termios.ICANON)  # but Ctrl+C ends the program
            held[_CHARACTERS][termios.VMIN] = 1
            self.attributes, self._handle, self._asked = before, handle, time.monotonic()  # a signal may come
            termios.tcsetattr(handle, termios.TCSANOW, held)
            os.write(sys.stdout.fileno(), b"\x1b]11;?\x1b\\\x1b[c")
        except (termios.error, OSError):
            pass

    def answer(self, patience: float = 0.1) -> Appearance | None:
        """None when the terminal does not say within `patience` seconds after it was asked."""
        deadline = self._asked + patience
        while self._handle >= 0 and not _ATTRIBUTES.search(self._read):
            if not self._read_more(max(0.0, deadline - time.monotonic())):
                break
        color = background_from(self._read)
        return None if color is None else "dark" if is_dark(color) else "light"

    def _read_more(self, patience: float) -> bool:
        try:
            if not select.select([self._handle], [], [], patience)[0]:
                return False
            more = os.read(self._handle, 4096)
        except OSError:
            return False
        self._read += more
        return bool(more)

    def take_read(self) -> bytes:
        """What the terminal has sent, answers and keys: whoever reads the terminal next begins with it."""
        while self._handle >= 0 and self._read_more(0.0):
            pass
        read, self._read = self._read, b""
        # One line end can only be Enter, from before the terminal was held; several may be a text.
        return read.replace(b"\n", b"\r") if read.count(b"\n") == 1 else read

    def end(self) -> None:
        """Gives the terminal back as it was."""
        if self.attributes is None:
            return
        import termios  # noqa: PLC0415  (not on every system)

        try:
            termios.tcsetattr(self._handle, termios.TCSADRAIN, self.attributes)
        except termios.error:
            pass
        self.attributes, self._handle = None, -1


def background_from(answer: bytes) -> str | None:
    """The colour in a terminal's answer to OSC 11."""
    match = _BACKGROUND.search(answer)
    if match is None:
        return None
    parts = (round(int(part, 16) / (16 ** len(part) - 1) * 255) for part in match.groups()[:3])
    return "#" + "".join(f"{part:02x}" for part in parts)
