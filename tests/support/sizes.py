"""A terminal that changes its size under a running application."""

import asyncio
from typing import Any

from textual.pilot import Pilot

from tests.support.idle import is_laid_out


async def resize(pilot: Pilot[Any], columns: int, lines: int) -> None:
    """Until it is laid out, with all that shows behind."""
    await pilot.resize_terminal(columns, lines)
    async with asyncio.timeout(20):
        while not is_laid_out(pilot.app, columns, lines):
            await pilot.pause()
