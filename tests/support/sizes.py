"""Resizes the terminal of a running application."""

import asyncio
from typing import Any

from textual.pilot import Pilot

from tests.support.idle import is_laid_out


async def resize(pilot: Pilot[Any], columns: int, lines: int) -> None:
    """Resizes the terminal and waits until all visible screens have the new size."""
    await pilot.resize_terminal(columns, lines)
    async with asyncio.timeout(20):
        while not is_laid_out(pilot.app, columns, lines):
            await pilot.pause()
