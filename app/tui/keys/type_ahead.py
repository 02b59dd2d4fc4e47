"""Holds keys typed before the screen they are meant for is open.

For example `/tree`, Enter and a search typed at once. Keys arrive one by one, but the effect of a key passes through
widgets, messages and tasks, so the next letters would arrive too early. Only the real terminal waits
(`TerminalDriver`); this tells it for what."""

import asyncio
from collections.abc import Set as AbstractSet
from typing import Any

from textual import events
from textual.app import App
from textual.message import Message

from app.tui.tasks import Tasks
from widgets.editor.line_input import LineInput
from widgets.editor.prompt import PromptEditor

PATIENCE = 0.25
"""Seconds for what a key has begun to open its screen; what takes longer is no screen to type into."""
_LOOKS = 0.005


class QueueMarker(Message):
    """Goes the way of what a key brings out, behind it."""

    def __init__(self, arrived: asyncio.Event) -> None:
        super().__init__()
        self.arrived = arrived


class TypeAhead:
    def __init__(self, app: App[Any], tasks: Tasks) -> None:
        self._app = app
        self._tasks = tasks

    def is_text(self, key: events.Key) -> bool:
        """Whether it does nothing but write, so that nobody need wait for it."""
        return key.is_printable and isinstance(self._app.focused, PromptEditor | LineInput)

    async def settle(self) -> None:
        """Until what the last key has set going has opened its screen, or opens none."""
        screens, tasks = list(self._app.screen_stack), self._tasks.running
        await self._pass()  # its way up
        await self._pass()  # and that of what the page or a screen made of it
        await self._begin(screens, tasks)
        top = self._app.screen
        if top not in screens:
            end = asyncio.get_running_loop().time() + PATIENCE
            while not top.is_mounted and asyncio.get_running_loop().time() < end:  # until it listens to keys
                await self._pass()
            await self._pass()

    async def _begin(self, screens: list[Any], before: AbstractSet["asyncio.Task[Any]"]) -> None:
        end = asyncio.get_running_loop().time() + PATIENCE
        while list(self._app.screen_stack) == screens and asyncio.get_running_loop().time() < end:
            if not self._tasks.running - before:
                return
            await asyncio.sleep(_LOOKS)

    async def _pass(self) -> None:
        arrived = asyncio.Event()
        target = self._app.focused or self._app.screen
        target.call_later(target.post_message, QueueMarker(arrived))
        try:
            async with asyncio.timeout(PATIENCE):
                await arrived.wait()
        except TimeoutError:
            pass  # it was taken away meanwhile
