"""Shows interactive programs in a terminal on the full screen, as `tools` requests."""

from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from textual.app import App
from textual.screen import Screen

from tools.running.pty.pty_host import PtyProgram

if TYPE_CHECKING:
    from app.tui.terminal.shown_program import ShownProgram


class TerminalHost:
    """Shows programs on screens over one application."""

    def __init__(self, app: App[Any]) -> None:
        self._app = app
        self._screens: WeakSet[Screen[Any]] = WeakSet()

    def open(self, program: PtyProgram) -> "ShownProgram":
        from app.tui.terminal.shown_program import ShownProgram  # noqa: PLC0415  (loads the emulator, with the first program)

        shown = ShownProgram(self._app, program)
        self._screens.add(shown.screen)
        return shown

    @property
    def has_keyboard(self) -> bool:
        """Whether a program is in front and gets all keys."""
        return bool(self._screens) and self._app.screen in self._screens
