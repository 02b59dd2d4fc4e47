"""Copies text to the system's or the terminal's clipboard."""

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from textual.app import App

from app.tui.page_protocols import FindProgram, Spawn
from widgets.terminal import clipboard

SHOWN_SECONDS = 2.5
"""Seconds for which a confirmation is shown."""


def say_briefly(app: App[Any], text: str) -> None:
    """Shows a short confirmation in place of the previous one."""
    app.clear_notifications()
    app.notify(text, markup=False, timeout=SHOWN_SECONDS)


class Clipboard:
    """Copies text for one application."""

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
        """`write`: writes to the terminal, if there is one; `fallback`: the file to write without a
        clipboard."""
        self._write = write
        self._notify = notify
        self._spawn = spawn
        self._fallback = fallback
        self._env = env
        self._own_program = find_program

    def copy(self, text: str, what: str) -> None:
        """Copies the text in the background, because a system tool may take a while."""
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
