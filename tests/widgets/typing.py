"""Typing as a terminal sends it, without the pilot's pause behind each key."""

from typing import Any

from textual.events import Key
from textual.pilot import Pilot


async def type_text(pilot: Pilot[Any], text: str) -> None:
    for char in text:
        if pilot.app.focused is None:  # the first letter brings the line that takes it
            await pilot.press(char)
        else:
            pilot.app.focused.post_message(Key(char, char))
    await pilot.pause()
