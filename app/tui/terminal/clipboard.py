"""What is copied, into the clipboard of the system or of the terminal."""

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec
from textual.app import App

from app.tui.handed import OwnProgram, Spawn
from widgets import clipboard

SHOWN_SECONDS = 2.5
"""How long a word about what was done stays."""


def say_briefly(app: App[Any], text: str) -> None:
    """One word at a time: what was said before it is over."""
    app.clear_notifications()
    app.notify(text, markup=False, timeout=SHOWN_SECONDS)


class Clipboard(msgspec.Struct, frozen=True):
    """The clipboard as one application reaches it."""

    write: Callable[[], Callable[[str], None] | None]
    """What writes to the terminal, if there is one."""
    notify: Callable[[str], None]
    spawn: Spawn
    fallback: Path
    """A file for when there is no clipboard."""
    env: Mapping[str, str]
    own_program: OwnProgram

    def copy(self, text: str, what: str) -> None:
        """A native tool may take its time, so it runs beside the event loop."""
        self.spawn(self._copy(text, what))

    async def _copy(self, text: str, what: str) -> None:
        copied = await asyncio.to_thread(
            clipboard.copy,
            text,
            self.write(),
            fallback=self.fallback,
            env=self.env,
            find=self.own_program,
        )
        self.notify(f"{copied.text}: {what}")
