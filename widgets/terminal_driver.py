"""Keys from the terminal, by a thread that sleeps until there are some.

Textual's own thread looks ten times a second whether it should end, which is most of what a waiting program costs;
this one is woken through a pipe. It also sees Escape as soon as its delay is over, keeps late answers to the
terminal's questions out of the editor, and ends the program when the terminal has gone.
"""

import os
import re
import select
import signal
import sys
import threading
import time
from typing import Any

from textual._parser import ParseError
from textual._xterm_parser import XTermParser
from textual.drivers.linux_driver import LinuxDriver

from widgets.terminal_input import Reader

_CHUNK = 4096
_ANSWERS = re.compile("\x1b\\]\\d+;[^\x07\x1b]*(?:\x07|\x1b\\\\)|\x1b\\[\\?[\\d;]*c")


class _WakingEvent(threading.Event):
    """Setting it also wakes a thread that waits for input."""

    def __init__(self, waker: int) -> None:
        super().__init__()
        self._waker = waker

    def set(self) -> None:
        super().set()  # before the byte: who has missed that sees this
        os.write(self._waker, b"\0")


class TerminalDriver(LinuxDriver):
    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        if sys.__stderr__ is not None and not sys.__stderr__.isatty():
            self._file = sys.__stdout__  # `bayou 2>file` draws on the terminal all the same
        self._wakes, waker = os.pipe()
        os.set_blocking(self._wakes, False)
        self.exit_event = _WakingEvent(waker)

    def run_input_thread(self) -> None:
        """Until `disable_input`, which may be followed by another such thread (a suspended program goes on)."""
        _empty(self._wakes)
        parser, reader = XTermParser(self._debug), Reader()
        while not self.exit_event.is_set():
            ready, _, _ = select.select([self.fileno, self._wakes], [], [], _patience(parser))
            if self.fileno in ready:
                data = _read(self.fileno)
                if not data:
                    os.kill(os.getpid(), signal.SIGHUP)  # the terminal has gone
                    return
                self._take(parser, reader.read(data))
            for event in parser.tick():
                self.process_message(event)
        try:
            for _ in parser.feed(""):
                pass
        except (EOFError, ParseError):
            pass

    def _take(self, parser: XTermParser, text: str) -> None:
        if "\x1b" in text:
            text = _ANSWERS.sub("", text)
        if text:  # to the parser, nothing means the end
            for event in parser.feed(text):
                self.process_message(event)


def _patience(parser: XTermParser) -> float | None:
    """Seconds until the parser takes a lone Escape for a key; None while it waits for nothing."""
    due = parser._timeout_time
    return None if due is None else max(0.0, due - time.monotonic())


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, _CHUNK)
    except OSError:
        return b""


def _empty(descriptor: int) -> None:
    try:
        while os.read(descriptor, _CHUNK):
            pass
    except BlockingIOError:
        pass
