"""Textual's terminal driver with an input thread that sleeps until there is input.

Textual's own thread polls ten times a second, which is most of the CPU use of an idle program; this one is woken
through
a pipe. It also reports Escape as soon as its delay is over, takes input typed before there was a page, and ends the
program when the terminal is gone."""

import asyncio
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Mapping
from concurrent.futures import Future, wait
from typing import Any, Protocol

from textual import events
from textual.app import App
from textual.drivers.linux_driver import LinuxDriver
from textual.geometry import Size
from textual.message import Message

from tools.lazy_patterns import TEXT_DIRECTION_CONTROL_PATTERN, lazy_regex
from widgets import textual_internals as textual_inside
from widgets.graphics.terminal_images import TerminalImages
from widgets.terminal.early_terminal import EarlyTerminal
from widgets.terminal.input_splitter import TerminalInputSplitter, TerminalReply
from widgets.terminal.raw_input import RawInputListeners
from widgets.terminal.terminal_input import TerminalInputReader, join_leading_escape_as_alt
from widgets.textual_internals import TerminalInputParser

_READ_CHUNK_BYTES = 65_536
_KEY_EFFECT_TIMEOUT_SECONDS = 2.0
"""Seconds to wait for the effect of a key before the next key is delivered anyway."""
_ENTER_ALTERNATE_SCREEN_SEQUENCE = "\x1b[?1049h"
_KITTY_KEYBOARD_QUERY = "\x1b[?u"
_KITTY_KEYBOARD_REPLY_PATTERN = lazy_regex(r"\x1b\[\?(\d*)u")
_KITTY_DISAMBIGUATE_ESCAPE_FLAG = 1
"""The flag of kitty's keyboard protocol by which Escape and Alt are sent as distinct sequences."""
_SAVE_TITLE_SEQUENCE = "\x1b[22;0t"
_RESTORE_TITLE_AND_CURSOR_SEQUENCE = "\x1b[23;0t\x1b[0 q"
"""Restores the shell's title and cursor shape, which the shell does not set again."""

FALLBACK_SYMBOL_BY_SYMBOL: Mapping[str, str] = {
    "✓": "√",
    "✗": "×",
    "▸": "►",
    "▾": "▼",
    "◆": "■",
    "◇": "◊",
    "○": "□",
    "◐": "▪",
    "⊘": "Ø",
    "⊟": "═",
    "↻": "↕",
    "✂": "‡",
    "‖": "║",
    "❯": "›",
    "⋯": "…",
    "☐": "□",
    "☑": "■",
}
"""For marks that some monospaced fonts lack: characters of the same width that are in JetBrains Mono, Fira Code and
Liberation Mono (`tests/pictures/test_look.py`)."""
_FALLBACK_SYMBOL_TABLE = str.maketrans(dict(FALLBACK_SYMBOL_BY_SYMBOL))


class _PipeWakingEvent(threading.Event):
    """A thread event that, when it is set, also writes to a pipe and so wakes the thread that waits for terminal
    input."""

    def __init__(self, waker: int) -> None:
        super().__init__()
        self._waker = waker

    def set(self) -> None:
        super().set()  # before the byte is written, so that a thread that misses the byte sees the event
        os.write(self._waker, b"\0")


class KeyDeliveryPacing(Protocol):
    """The protocol that tells the driver which keys are text, and waits until the effects of another key are done,
    before the next key is delivered."""

    def is_text(self, key: events.Key) -> bool: ...
    async def wait_for_key_effects(self) -> None: ...


class AmbiguousAltKey(events.Key):
    """A key event for Alt with a key, or Escape directly followed by that key: most terminals send the same bytes for
    both."""


AmbiguousAltKey.handler_name = events.Key.handler_name


class TerminalDriver(LinuxDriver):
    """The driver for a real terminal, with an input thread that sleeps while idle."""

    def __init__(
        self,
        app: App[Any],
        *,
        debug: bool = False,
        mouse: bool = True,
        size: tuple[int, int] | None = None,
        held: EarlyTerminal | None = None,
        ahead: KeyDeliveryPacing | None = None,
        raw: RawInputListeners | None = None,
        images: TerminalImages | None = None,
        has_plain_marks: bool = False,
    ) -> None:
        """Creates the driver. `held`: the terminal as held since the start, with its original state. `raw`: gets input
        before it is parsed. `images`: the terminal's images, which are notified when bayou takes or leaves the terminal
        and get its replies. `has_plain_marks`: marks that some fonts lack are written as others."""
        super().__init__(app, debug=debug, mouse=mouse, size=size)
        if sys.__stderr__ is not None and not sys.__stderr__.isatty():
            textual_inside.set_driver_output_file(self, sys.__stdout__)
        _set_utf8_output(sys.__stdout__)
        _set_utf8_output(textual_inside.driver_output_file(self))
        self._driven_app = app
        self._has_plain_marks = has_plain_marks
        self._events = asyncio.get_running_loop()
        self._is_debugging = debug
        self._early_terminal = held
        self._key_pacing = ahead
        self._raw_input = raw
        self._images = images
        self._settled_future: Future[None] | None = None
        self._input_splitter = TerminalInputSplitter()
        self._has_page = False
        self._has_key_protocol = False
        self._wake_read_end, self._wake_write_end = os.pipe()
        os.set_blocking(self._wake_read_end, False)
        self.exit_event = _PipeWakingEvent(self._wake_write_end)

    @property
    def reports_alt_separately(self) -> bool:
        """Whether this terminal sends Alt with a key in another way than an Escape followed by that key."""
        return self._has_key_protocol

    def start_application_mode(self) -> None:
        if self._early_terminal is not None:
            self._early_terminal.note_page_started()
        super().start_application_mode()
        # A plain handler runs between any two steps of Python: a second signal would overtake the first, and an old
        # size would come last. asyncio's handler alone would lose the signal while many keys wait.
        tell_size = signal.getsignal(signal.SIGWINCH)
        if callable(tell_size):
            loop = asyncio.get_running_loop()
            loop.add_signal_handler(signal.SIGWINCH, lambda: None)  # wakes the loop
            signal.signal(
                signal.SIGWINCH, lambda number, _: loop.call_soon_threadsafe(tell_size, number, None)
            )
        if self._early_terminal is not None and self._early_terminal.terminal_attributes is not None:
            self.attrs_before = self._early_terminal.terminal_attributes
        self.write(_SAVE_TITLE_SEQUENCE + _KITTY_KEYBOARD_QUERY)
        if self._images is not None:
            self.write(self._images.begin_terminal_use())

    def write(self, data: str) -> None:
        if (
            data == _ENTER_ALTERNATE_SCREEN_SEQUENCE
            and self._early_terminal is not None
            and self._early_terminal.is_launch_frame_drawn
        ):
            self._early_terminal.hand_over_terminal()  # already entered, and some terminals would clear it again
            return
        if not data.isascii():
            data = TEXT_DIRECTION_CONTROL_PATTERN.sub(
                "", data
            )  # these take no cell, but move the text after them
            if self._has_plain_marks:
                data = data.translate(_FALLBACK_SYMBOL_TABLE)
        super().write(data)

    def stop_application_mode(self) -> None:
        if self._images is not None:
            self.write(self._images.end_terminal_use())
        self.write(_RESTORE_TITLE_AND_CURSOR_SEQUENCE)
        super().stop_application_mode()
        if self._early_terminal is not None:
            self._early_terminal.note_page_stopped()

    def suspend_to_shell(self) -> bool:
        """Gives the terminal to the shell until it resumes bayou; returns False if there is no shell that could."""
        self.suspend_application_mode()
        with self.no_automatic_restart():
            was_away = _stop_process_group()
        self.resume_application_mode()
        return was_away

    def run_input_thread(self) -> None:
        """Reads terminal input in a thread until `disable_input`; another such thread may follow after a suspension."""
        try:
            self._read_keys()
        except Exception as error:  # noqa: BLE001  (a listener's boundary: the app reports it)
            self._driven_app.call_later(raise_in_app_thread, error)

    def _read_keys(self) -> None:
        self._wait_for_page()
        parser, reader = TerminalInputParser(debug=self._is_debugging), TerminalInputReader()
        if self._early_terminal is not None:
            self._handle_input(
                parser,
                reader.read_text(self._early_terminal.take_stored_input()),
                is_guessed=reader.has_guessed_alt,
            )
        while not self.exit_event.is_set():
            ready, _, _ = select.select(
                [self.fileno, self._wake_read_end], [], [], _next_input_timeout(parser, self._input_splitter)
            )
            if self.fileno in ready:
                data = _read_available_input(self.fileno)
                if not data:
                    os.kill(os.getpid(), signal.SIGHUP)  # the terminal is gone
                    return
                self._handle_input(parser, reader.read_text(data), is_guessed=reader.has_guessed_alt)
            for event in parser.feed_final(
                join_leading_escape_as_alt(self._input_splitter.release_held_input(), is_whole=True)
            ):
                self._deliver_event(self._as_alt_key(event))
            for event in parser.tick():
                self._deliver_event(self._as_alt_key(event))
        parser.close()

    def allow_key_delivery(self) -> None:
        """Allows the input thread to deliver keys; before this no widget would receive them."""
        self._has_page = True
        os.write(self._wake_write_end, b"\0")

    def _wait_for_page(self) -> None:
        while not (self._has_page or self.exit_event.is_set()):
            select.select([self._wake_read_end], [], [])
            _drain_pipe(self._wake_read_end)
        _drain_pipe(self._wake_read_end)

    def _handle_input(self, parser: TerminalInputParser, text: str, *, is_guessed: bool) -> None:
        """Delivers the keys and pastes in terminal input as events, and handles replies. `is_guessed`: this terminal
        has sent Alt as a leading Escape, although it reported that it sends Alt distinctly."""
        if text and self._raw_input is not None and self._raw_input.has_listeners:
            text = self._pass_to_listeners(self._raw_input, text)
        for part in self._input_splitter.feed(text):
            if isinstance(part, events.Paste):
                self._deliver_event(part)
            elif isinstance(part, TerminalReply):
                self._handle_reply(part)
            else:
                self._has_key_protocol &= not is_guessed
                for event in parser.feed(join_leading_escape_as_alt(part)):
                    self._deliver_event(self._as_alt_key(event))

    def _handle_reply(self, answer: TerminalReply) -> None:
        if (found := _KITTY_KEYBOARD_REPLY_PATTERN.fullmatch(answer)) is not None:
            self._has_key_protocol = bool(int(found[1] or 0) & _KITTY_DISAMBIGUATE_ESCAPE_FLAG)
        elif self._images is not None:
            self._events.call_soon_threadsafe(self._images.handle_reply, str(answer))

    def _as_alt_key(self, event: Message) -> Message:
        """Returns a key event for Alt with a key that types nothing, ambiguous if the terminal sends Escape and a key
        alike; other events are unchanged. What is then Alt with Tab is Shift with Tab on the console of Linux."""
        if not isinstance(event, events.Key) or not event.key.startswith("alt+"):
            return event
        character = None if event.is_printable else event.character
        if self._has_key_protocol:
            return events.Key(event.key, character)
        return AmbiguousAltKey("shift+tab" if event.key == "alt+tab" else event.key, character)

    def _pass_to_listeners(self, raw: RawInputListeners, text: str) -> str:
        """Passes input to the listeners in the application's thread and returns what they leave; a listener that hangs
        is skipped."""

        async def ask() -> str:
            return raw.pass_to_listeners(text)

        asked = asyncio.run_coroutine_threadsafe(ask(), self._events)
        end = time.monotonic() + _KEY_EFFECT_TIMEOUT_SECONDS
        while not asked.done() and time.monotonic() < end and not self.exit_event.is_set():
            wait([asked], 0.05)
        return asked.result() if asked.done() else text

    def _deliver_event(self, event: Message) -> None:
        """Delivers an event to the application; a key or a paste only once the previous key has taken effect."""
        if isinstance(event, events.Key | events.Paste):
            self._wait_for_previous_key()
        if isinstance(event, events.MouseEvent) and not is_mouse_inside_screen(event, self._driven_app.size):
            return
        self.process_message(event)
        if self._images is not None and self._images.needs_retry:
            self._events.call_soon_threadsafe(self._images.retry_images)
        if (
            self._key_pacing is not None
            and isinstance(event, events.Key)
            and not self._key_pacing.is_text(event)
        ):
            self._settled_future = asyncio.run_coroutine_threadsafe(
                self._key_pacing.wait_for_key_effects(), self._events
            )

    def _wait_for_previous_key(self) -> None:
        settling, self._settled_future = self._settled_future, None
        end = time.monotonic() + _KEY_EFFECT_TIMEOUT_SECONDS
        while settling is not None and not settling.done() and not self.exit_event.is_set():
            if time.monotonic() > end:
                return
            wait([settling], 0.05)


def is_mouse_inside_screen(event: events.MouseEvent, size: Size) -> bool:
    """Returns whether a mouse event is inside the screen, or is a release. A press outside would take the focus from
    the editor."""
    return isinstance(event, events.MouseUp) or (0 <= event.x < size.width and 0 <= event.y < size.height)


def raise_in_app_thread(error: Exception) -> None:
    """Raises an error in the application's thread, so that the application ends with a report."""
    raise error


def _next_input_timeout(parser: TerminalInputParser, incoming: TerminalInputSplitter) -> float | None:
    """Returns the seconds until the parser or the splitter stops waiting for more terminal input; None if neither
    waits."""
    waits = [
        seconds for seconds in (parser.escape_timeout, incoming.held_input_timeout) if seconds is not None
    ]
    return min(waits, default=None)


def _set_utf8_output(file: Any) -> None:
    """Makes a terminal's output stream UTF-8 whatever the locale is; characters that cannot be encoded are replaced."""
    if file is not None:
        file.reconfigure(encoding="utf-8", errors="replace")


def _read_available_input(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, _READ_CHUNK_BYTES)
    except OSError:
        return b""


def _drain_pipe(descriptor: int) -> None:
    try:
        while os.read(descriptor, _READ_CHUNK_BYTES):
            pass
    except BlockingIOError:
        pass


def _stop_process_group() -> bool:
    """Stops bayou and all other foreground processes, as the terminal's Ctrl+Z does, and returns when they continue.

    Parent processes (`make`, `time`, a script) must stop too, because the shell waits for them. Returns False if bayou
    was not stopped, because there is no shell that could resume it."""
    has_stopped = False

    def note(number: int, frame: object) -> None:
        nonlocal has_stopped
        has_stopped = True

    stopping = signal.signal(signal.SIGTSTP, signal.SIG_DFL)
    going_on = signal.signal(signal.SIGCONT, note)
    try:
        # A single call: if a shell resumes bayou before it has stopped, that cancels the pending stop signal. Without a
        # shell the system ignores the signal.
        os.killpg(0, signal.SIGTSTP)
    finally:
        signal.signal(signal.SIGTSTP, stopping)
        signal.signal(signal.SIGCONT, going_on)
    return has_stopped
