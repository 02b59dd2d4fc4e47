"""Owns the terminal from the first moment, so that typed text is kept until there is a page to receive it.

On a launch frame, the cached empty page of an earlier start, typed text is also shown. It imports only the standard
library, because it works while everything else is still being imported."""

import os
import select
import sys
import threading
import time

TYPE_CHECKING = False
"""Replaces `typing.TYPE_CHECKING`, because importing `typing` takes as long as all of this
module."""
if TYPE_CHECKING:
    from typing import Any

_TERMIOS_INPUT_FLAGS, _TERMIOS_LOCAL_FLAGS, _TERMIOS_CHARACTERS = 0, 3, 6
"""Indexes in the list that `tcgetattr` returns."""
_ENTER_ALTERNATE_SCREEN_SEQUENCE, _LEAVE_SCREEN_SEQUENCE = b"\x1b[?1049h", b"\x1b[?1049l\x1b[?25h"
_BACKGROUND_COLOR_QUERY = b"\x1b]11;?\x1b\\\x1b[c"
"""Queries for the background colour, followed by one that every terminal answers last."""


class LaunchFrameEchoLine:
    """Where typed text is shown on a launch frame: row and column from 1, width in cells, and text style."""

    def __init__(self, row: int, column: int, room: int, style: bytes) -> None:
        self.row, self.column, self.room, self.style = row, column, room, style

    @property
    def cursor_sequence(self) -> bytes:
        """Returns the sequence that moves the cursor to the first letter of the launch frame's input line."""
        return b"\x1b[%d;%dH" % (self.row, self.column)

    def draw_row(self, text: str) -> bytes | None:
        """Returns the output that shows a typed text with the cursor after it; None if it does not fit or its width is
        unknown."""
        used = 0
        for character in text:
            width = _character_width(character)
            if width is None:
                return None
            used += width
        if used >= self.room:
            return None
        row = self.cursor_sequence + self.style + text.encode() + b" " * (self.room - used) + b"\x1b[0m"
        return row + b"\x1b[%d;%dH" % (self.row, self.column + used)


class EarlyTerminal:
    """Takes the terminal at the start of the program and stores its input without echo, until the page's driver takes
    over or the terminal is restored."""

    def __init__(self) -> None:
        self.terminal_attributes: Any = None
        """The terminal's original attributes."""
        self.background_asked_at = 0.0
        self.is_launch_frame_drawn = False
        """Whether a launch frame is on the alternate screen, which has no other owner yet."""
        self.is_terminal_restored = False
        """Whether the page's driver has restored every mode; a second time would reset modes of a surrounding
        program."""
        self._handle = -1
        self._unread_input = b""
        self._lock = threading.Lock()
        self._echo_line: LaunchFrameEchoLine | None = None
        self._echoed_text = ""
        self._size = (0, 0)
        self._wake_read_end = self._wake_write_end = -1
        self._reader: threading.Thread | None = None

    def note_page_started(self) -> None:
        self.is_terminal_restored = False

    def note_page_stopped(self) -> None:
        self.is_terminal_restored = True

    @property
    def is_holding_terminal(self) -> bool:
        return self._handle >= 0

    def take_over_terminal(self) -> None:
        """Turns off the terminal's echo and line editing, and stores its input from now on; does nothing without a
        terminal."""
        if (
            self.is_holding_terminal
            or sys.platform == "win32"
            or not (sys.stdin.isatty() and sys.stdout.isatty())
        ):
            return
        import termios  # noqa: PLC0415  (not on every system)

        handle = sys.stdin.fileno()
        try:
            before = termios.tcgetattr(handle)
            held = termios.tcgetattr(handle)
            held[_TERMIOS_INPUT_FLAGS] &= ~termios.ICRNL  # Enter stays a carriage return
            held[_TERMIOS_LOCAL_FLAGS] &= ~(
                termios.ECHO | termios.ICANON
            )  # but Ctrl+C still ends the program
            held[_TERMIOS_CHARACTERS][termios.VMIN] = 1
            self.terminal_attributes, self._handle, self.background_asked_at = (
                before,
                handle,
                time.monotonic(),
            )  # a signal may arrive
            termios.tcsetattr(handle, termios.TCSANOW, held)
            os.write(sys.stdout.fileno(), _BACKGROUND_COLOR_QUERY)
        except (termios.error, OSError):
            pass

    def show_launch_frame(self, frame: bytes, place: LaunchFrameEchoLine) -> None:
        """Draws a launch frame (the cached empty page), and from then on the typed text in it."""
        import termios  # noqa: PLC0415  (not on every system)

        if not self.is_holding_terminal:
            return
        try:
            held = termios.tcgetattr(self._handle)
            held[_TERMIOS_CHARACTERS][termios.VSUSP] = (
                b"\0"  # suspended now, it would leave the shell on this screen
            )
            termios.tcsetattr(self._handle, termios.TCSANOW, held)
            self.is_launch_frame_drawn = True  # set first: however this ends, the screen is left
            self._size = tuple(os.get_terminal_size(sys.stdout.fileno()))
            out = _ENTER_ALTERNATE_SCREEN_SEQUENCE + frame + place.cursor_sequence
            while out:
                out = out[os.write(sys.stdout.fileno(), out) :]
        except (termios.error, OSError):
            return
        self._echo_line = place
        self._wake_read_end, self._wake_write_end = os.pipe()
        self._reader = threading.Thread(target=self._read_input, name="launch frame", daemon=True)
        self._reader.start()

    def _read_input(self) -> None:
        while True:
            try:
                ready, _, _ = select.select([self._handle, self._wake_read_end], [], [])
                more = b"" if self._wake_read_end in ready else os.read(self._handle, 4096)
            except (OSError, ValueError):
                return
            if not more:
                return
            with self._lock:
                self._unread_input += more
                self._echo_typed_text()

    def _echo_typed_text(self) -> None:
        if self._echo_line is None:
            return
        text, rest = split_typed_text_from_input(self._unread_input)
        if text == self._echoed_text or rest.startswith((b"\x1b]", b"\x1b[?")):
            return  # a reply, or a part of one
        self._echoed_text = text
        shown = self._echo_line.draw_row(text)
        try:
            is_same_size = tuple(os.get_terminal_size(sys.stdout.fileno())) == self._size
            if shown is not None and not rest and is_same_size:
                os.write(sys.stdout.fileno(), shown)
            else:  # from here on the page shows the text; none is lost
                self._echo_line = None
        except OSError:
            self._echo_line = None

    def _stop_reading(self) -> None:
        reader, self._reader = self._reader, None
        if reader is not None:
            os.write(self._wake_write_end, b"\0")
            try:
                reader.join()
            except RuntimeError:  # a signal arrived during its start: it finds that word and ends by itself
                return
            os.close(self._wake_read_end)
            os.close(self._wake_write_end)

    def wait_for_input(self, seconds: float) -> bool:
        """Waits at most `seconds` for terminal input and stores it; returns whether any arrived."""
        if not self.is_holding_terminal:
            return False
        if self._reader is not None:
            before = len(self._unread_input)
            end = time.monotonic() + seconds
            while len(self._unread_input) == before and self._reader.is_alive() and time.monotonic() < end:
                time.sleep(0.002)
            return len(self._unread_input) > before
        try:
            if not select.select([self._handle], [], [], seconds)[0]:
                return False
            more = os.read(self._handle, 4096)
        except OSError:
            return False
        self._unread_input += more
        return bool(more)

    @property
    def received_input(self) -> bytes:
        """All terminal input stored so far: keys, and replies to queries."""
        return self._unread_input

    def take_typed_text(self) -> str:
        """Returns what the user typed so far, for the editor before the page's first paint, and removes it from the
        stored input; empty if the input has other keys too.

        After this the launch frame shows no further input."""
        with self._lock:
            self._echo_line = None
            text, rest = split_typed_text_from_input(self._unread_input)
            if rest or not text:
                return ""
            self._unread_input = b""
            return text

    def take_stored_input(self) -> bytes:
        """Stops reading the terminal, and returns and clears the stored input, for the terminal's next reader."""
        self._stop_reading()
        while self.is_holding_terminal and self.wait_for_input(0.0):
            pass
        read, self._unread_input = self._unread_input, b""
        # A single line end is an Enter pressed before the terminal was held; several may belong to a text.
        return read.replace(b"\n", b"\r") if read.count(b"\n") == 1 else read

    def hand_over_terminal(self) -> None:
        """Gives up the launch frame: the new owner of the terminal leaves the alternate screen."""
        self.is_launch_frame_drawn = False
        with self._lock:
            self._echo_line = None

    def restore_terminal(self) -> None:
        """Restores the attributes that the terminal had at the start, and removes a launch frame."""
        if self.terminal_attributes is None:
            return
        import termios  # noqa: PLC0415  (not on every system)

        self._stop_reading()
        try:
            if self.is_launch_frame_drawn:
                os.write(sys.stdout.fileno(), b"\x1b[0m" + _LEAVE_SCREEN_SEQUENCE)
        except OSError:
            pass  # the terminal is gone
        self.is_launch_frame_drawn = False
        try:
            termios.tcsetattr(self._handle, termios.TCSADRAIN, self.terminal_attributes)
        except termios.error:
            pass
        self.terminal_attributes, self._handle = None, -1


def split_typed_text_from_input(read: bytes) -> tuple[str, bytes]:
    """Splits terminal input into the typed text, with backspaces applied, and the rest from the first key on that is no
    text. Replies of the terminal are left out."""
    text: list[str] = []
    at = 0
    while at < len(read):
        if read[at] == 0x1B:
            length = _terminal_reply_length(read[at:])
            if length == 0:
                return "".join(text), read[at:]
            at += length
            continue
        if read[at] in b"\x7f\x08":
            if text:
                text.pop()
            at += 1
            continue
        size = _utf8_character_length(read[at])
        letter = read[at : at + size].decode("utf-8", "replace")
        if not letter.isprintable() or "\ufffd" in letter:
            return "".join(text), read[at:]
        text.append(letter)
        at += size
    return "".join(text), b""


def _utf8_character_length(first: int) -> int:
    return 1 if first < 0xC0 else 2 if first < 0xE0 else 3 if first < 0xF0 else 4


def _terminal_reply_length(read: bytes) -> int:
    """Returns the length of the terminal's reply at the start of the input; 0 if a key is there, or the reply is
    incomplete."""
    if read.startswith(b"\x1b]"):
        ends = [end + len(mark) for mark in (b"\x07", b"\x1b\\") if (end := read.find(mark)) > 0]
        return min(ends, default=0)
    if read.startswith(b"\x1b[?"):
        end = read.find(b"c")
        return end + 1 if end > 0 and all(byte in b"0123456789;" for byte in read[3:end]) else 0
    if read.startswith((b"\x1b_G", b"\x1bP>|")):
        return read.find(b"\x1b\\") + 2 if b"\x1b\\" in read else 0
    if read.startswith(b"\x1b[6;"):
        end = read.find(b"t")
        return end + 1 if end > 0 and all(byte in b"0123456789;" for byte in read[4:end]) else 0
    return 0


def _character_width(character: str) -> int | None:
    """Returns the width of a character in cells; None if it depends on its neighbours."""
    if ord(character) < 0x300:
        return 1
    import unicodedata  # noqa: PLC0415  (most letters are narrow and do not need it)

    if unicodedata.category(character) in ("Mn", "Me", "Cf", "Lm", "Sk"):
        return None
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
