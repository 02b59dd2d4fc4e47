"""Shows a program that needs a terminal on a separate screen: draws its output, and sends it keys and size changes."""

import asyncio
from typing import Any

from textual.app import App

from tools.running.pty.pty_host import PtyProgram
from widgets.emulator.emulator import TerminalEmulator
from widgets.emulator.terminal_view import TERMINAL_TITLE_AND_HINT_ROWS, TerminalScreen


class ShownTerminalProgram:
    """A terminal program on its screen; implements `tools.running.pty.pty_host.PtyView`."""

    def __init__(self, app: App[Any], program: PtyProgram) -> None:
        self.size = (max(2, app.size.width), max(2, app.size.height - TERMINAL_TITLE_AND_HINT_ROWS))
        self._emulator = TerminalEmulator(*self.size, reply=program.send_keys)
        self._loop = asyncio.get_running_loop()
        self._is_update_scheduled = False
        self.screen = TerminalScreen(
            program.title,
            self._emulator,
            send=program.send_keys,
            resize=program.resize_terminal,
            kill=program.kill,
            is_started_by_user=program.is_started_by_user,
        )
        app.push_screen(self.screen)

    def feed(self, data: bytes) -> None:
        self._emulator.feed(data)
        if not self._is_update_scheduled:
            self._is_update_scheduled = True
            try:
                self._loop.call_soon_threadsafe(self._redraw)
            except RuntimeError:
                pass  # the loop is closed: the screen is gone

    def close(self) -> str:
        self.screen.close()
        return self._emulator.full_text()

    def _redraw(self) -> None:
        self._is_update_scheduled = False
        self.screen.redraw()
