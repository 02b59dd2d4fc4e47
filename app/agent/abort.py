"""The wish to stop. One object per run; whoever works in the run looks at it or registers what to call."""

import asyncio
from collections.abc import Callable


class Abort:
    """Set once; asking again does nothing."""

    def __init__(self) -> None:
        self._event = asyncio.Event()
        self._callbacks: list[Callable[[], None]] = []

    @property
    def is_set(self) -> bool:
        return self._event.is_set()

    def set(self) -> None:
        if self._event.is_set():
            return
        self._event.set()
        callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback()

    async def wait(self) -> None:
        await self._event.wait()

    def on_set(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Calls `callback` when set (at once if it is already); returns how to take that back."""
        if self._event.is_set():
            callback()
            return lambda: None
        self._callbacks.append(callback)

        def forget() -> None:
            if callback in self._callbacks:
                self._callbacks.remove(callback)

        return forget
