"""Holds keys that were typed before the screen they are meant for is open, for example `/tree`, Enter and a search
typed at once.

Keys arrive one by one, but the effect of a key passes through widgets, messages and tasks, so the next letters would
arrive too early. Only the real terminal (`TerminalDriver`) waits for `TypeAheadBuffer`."""

import asyncio
from collections.abc import Set as AbstractSet
from typing import Any

from textual import events
from textual.app import App
from textual.message import Message

from app.tui.background_tasks import BackgroundTasks
from widgets.editor.line_input import LineInput
from widgets.editor.prompt_editor import PromptEditor

KEY_EFFECT_TIMEOUT = 0.25
"""Seconds to wait until a key opens its screen."""
_KEY_EFFECT_POLL_SECONDS = 0.005


class MessageQueueMarker(Message):
    """A message that is put into a message queue to tell, when it is handled, that all earlier messages were."""

    def __init__(self, arrived: asyncio.Event) -> None:
        super().__init__()
        self.on_arrival = arrived


class TypeAheadBuffer:
    """Waits for the effects of each key, such as an opening screen, before the next one is delivered."""

    def __init__(self, app: App[Any], tasks: BackgroundTasks) -> None:
        self._app = app
        self._tasks = tasks

    def is_text(self, key: events.Key) -> bool:
        """Returns whether the key only types text, so that no screen needs to be awaited."""
        return key.is_printable and isinstance(self._app.focused, PromptEditor | LineInput)

    async def wait_for_key_effects(self) -> None:
        """Waits until the last key's effects are done: a screen has opened, or it is clear that none opens."""
        screens, tasks = list(self._app.screen_stack), self._tasks.running
        await self._wait_for_queue()  # the key reaches its widget
        await self._wait_for_queue()  # and the resulting messages reach the page or the screen
        await self._wait_for_screen(screens, tasks)
        top = self._app.screen
        if top not in screens:
            end = asyncio.get_running_loop().time() + KEY_EFFECT_TIMEOUT
            while (
                not top.is_mounted and asyncio.get_running_loop().time() < end
            ):  # until the screen receives keys
                await self._wait_for_queue()
            await self._wait_for_queue()

    async def _wait_for_screen(self, screens: list[Any], before: AbstractSet["asyncio.Task[Any]"]) -> None:
        end = asyncio.get_running_loop().time() + KEY_EFFECT_TIMEOUT
        while list(self._app.screen_stack) == screens and asyncio.get_running_loop().time() < end:
            if not self._tasks.running - before:
                return
            await asyncio.sleep(_KEY_EFFECT_POLL_SECONDS)

    async def _wait_for_queue(self) -> None:
        arrived = asyncio.Event()
        target = self._app.focused or self._app.screen
        target.call_later(target.post_message, MessageQueueMarker(arrived))
        try:
            async with asyncio.timeout(KEY_EFFECT_TIMEOUT):
                await arrived.wait()
        except TimeoutError:
            pass  # the widget was removed meanwhile
