"""How a command gets a terminal that a person sees: what the screen must offer, and what it gets to hold."""

from collections.abc import Callable
from typing import Protocol

import msgspec


class PtyProgram(msgspec.Struct, frozen=True, kw_only=True):
    """A running interactive command, as its view controls it. All may be called from the event loop."""

    title: str
    send: Callable[[bytes], None]
    """Keys that the person pressed, as a terminal would send them."""
    resize: Callable[[int, int], None]
    """Columns and rows."""
    kill: Callable[[], None]
    is_own: bool = False
    """The person started it, and not the model."""


class PtyView(Protocol):
    """Where the command's screen is drawn."""

    @property
    def size(self) -> tuple[int, int]:
        """Columns and rows to start with."""
        ...

    def feed(self, data: bytes) -> None:
        """Raw output for a terminal emulator, in order. Called in the thread that reads it: while this works, the
        program waits."""
        ...

    def close(self) -> str:
        """The command has ended. Answers the text that is on the terminal now, with what scrolled away."""
        ...


class PtyHost(Protocol):
    """Offered by a face that can show an overlay; absent in print, JSON and RPC modes."""

    def open(self, program: PtyProgram) -> PtyView: ...
