"""Copies text to the system's or the terminal's clipboard."""

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from textual.app import App

from app.tui.page_protocols import FindProgram, Spawn
from widgets.terminal import clipboard

SHOWN_SECONDS = 2.5
"""How long a word about what was done stays."""


def say_briefly(app: App[Any], text: str) -> None:
    """One word at a time: what was said before it is over."""
    app.clear_notifications()
    app.notify(text, markup=False, timeout=SHOWN_SECONDS)


class Clipboard:
    """The clipboard as one application reaches it."""

    def __init__(
        self,
        write: Callable[[], Callable[[str], None] | None],
        notify: Callable[[str], None],
        spawn: Spawn,
        *,
        fallback: Path,
        env: Mapping[str, str],
        find_program: FindProgram,
    ) -> None:
        """`write`: what writes to the terminal, if there is one; `fallback`: a file for when there is no clipboard."""
        self._write = write
        self._notify = notify
        self._spawn = spawn
        self._fallback = fallback
        self._env = env
        self._own_program = find_program

    def copy(self, text: str, what: str) -> None:
        """A native tool may take its time, so it runs beside the event loop."""
        self._spawn(self._copy(text, what))

    async def _copy(self, text: str, what: str) -> None:
        copied = await asyncio.to_thread(
            clipboard.copy,
            text,
            self._write(),
            fallback=self._fallback,
            env=self._env,
            find=self._own_program,
        )
        self._notify(f"{copied.text}: {what}")
