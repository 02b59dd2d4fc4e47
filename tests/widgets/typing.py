"""Typing as a terminal sends it, without the pilot's pause behind each key."""

from typing import Any

from textual.events import Key
from textual.pilot import Pilot


async def type_text(pilot: Pilot[Any], text: str) -> None:
    for char in text:
        assert pilot.app.focused is not None
        pilot.app.focused.post_message(Key(char, char))
    await pilot.pause()
