"""A terminal that changes its size under a running application."""

import asyncio
from typing import Any

from textual.app import App
from textual.pilot import Pilot
from textual.screen import Screen


async def resize(pilot: Pilot[Any], columns: int, lines: int) -> None:
    """Until it is laid out, with all that shows behind: Textual does that some milliseconds after it was told."""
    await pilot.resize_terminal(columns, lines)
    async with asyncio.timeout(20):
        while any(screen._compositor.size != (columns, lines) for screen in _shown(pilot.app)):
            await pilot.pause(0.01)


def _shown(app: App[Any]) -> list[Screen[Any]]:
    return [app.screen, *app._background_screens]
