"""Opens screens over the page, waits for their results, and routes their requests to the code that opened them."""

import asyncio
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

from textual.app import App
from textual.screen import Screen

from app.tui.page_protocols import OnRequest
from app.tui.tasks import Tasks
from widgets.screens.requests import ScreenRequest


class Screens:
    """Opens screens of one application and returns their answers."""

    def __init__(self, app: App[Any], tasks: Tasks) -> None:
        self._app = app
        self._tasks = tasks
        self.opened: Callable[[Screen[Any]], None] = lambda screen: None
        """Called with each screen that has opened."""
        self._askers: WeakKeyDictionary[Screen[Any], OnRequest] = WeakKeyDictionary()
        """The request handlers by screen, kept as long as the screen, because requests may arrive after its
        end."""

    async def ask(self, screen: Screen[Any], *, on_request: OnRequest | None = None) -> Any:
        """Shows a screen and waits for its answer; None if there was none."""
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

        def take(result: Any) -> None:
            if not answer.done():
                answer.set_result(result)

        if on_request is not None:
            self._askers[screen] = on_request
        mounted = asyncio.ensure_future(self._app.push_screen(screen, take))
        try:
            await asyncio.shield(mounted)
            self.opened(screen)
            return await answer
        finally:
            await mounted  # a screen cannot be closed while it is being mounted
            if self._app.screen_stack[-1:] == [screen]:  # the caller was cancelled
                self._app.pop_screen()

    def requested(self, request: ScreenRequest[Any]) -> None:
        """Passes a screen's request to the code that opened the screen."""
        asker = self._askers.get(request.screen)
        answer = asker(request) if asker is not None else None
        if answer is not None:
            self._tasks.choose(answer)
