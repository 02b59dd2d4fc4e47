"""Defines the interfaces by which an interactive command is shown in a terminal overlay."""

from collections.abc import Callable
from typing import Protocol

import msgspec


class PtyProgram(msgspec.Struct, frozen=True, kw_only=True):
    """A running interactive command, as its view controls it. Everything may be called from the event loop."""

    title: str
    send_keys: Callable[[bytes], None]
    """Sends keys that the user pressed, encoded as a terminal would."""
    resize_terminal: Callable[[int, int], None]
    """Sets the numbers of columns and rows of the program's terminal."""
    kill: Callable[[], None]
    is_started_by_user: bool = False
    """Whether the user, and not the model, started the program."""


class PtyView(Protocol):
    """The interface of the view that draws an interactive command's screen."""

    @property
    def size(self) -> tuple[int, int]:
        """Returns the initial columns and rows."""
        ...

    def feed(self, data: bytes) -> None:
        """Receives raw output for a terminal emulator, in order. Called in the reading thread; the program's output
        waits until it returns."""
        ...

    def close(self) -> str:
        """Closes the view when the command has ended, and returns the text on the terminal with its scrollback."""
        ...


class PtyHost(Protocol):
    """The interface of a user interface that can show a terminal overlay; absent in print, JSON and RPC modes."""

    def open(self, program: PtyProgram) -> PtyView: ...
