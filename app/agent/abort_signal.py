"""The abort signal of a run: parts of the run check it, wait for it, or register callbacks."""

import asyncio
from collections.abc import Callable, Generator
from contextlib import contextmanager


class Aborted(Exception):
    """Raised if the abort signal was set before the work was done."""


class AbortSignal:
    """An abort signal. It is set once; setting it again does nothing."""

    def __init__(self) -> None:
        self.is_set = False
        self._event = asyncio.Event()
        self._callbacks: list[Callable[[], None]] = []

    def set(self) -> None:
        if self.is_set:
            return
        self.is_set = True
        self._event.set()
        callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback()

    async def wait(self) -> None:
        await self._event.wait()

    def on_set(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Calls `callback` when the signal is set, or at once if it is; returns a function that removes
        the callback."""
        if self.is_set:
            callback()
            return lambda: None
        self._callbacks.append(callback)

        def forget() -> None:
            if callback in self._callbacks:
                self._callbacks.remove(callback)

        return forget

    @contextmanager
    def cancel_when_set(self) -> Generator[None]:
        """Cancels what is awaited inside the block when the signal is set, and raises `Aborted` instead of
        `CancelledError`."""
        if self.is_set:
            raise Aborted
        task = asyncio.current_task()
        assert task is not None, "only what runs in a task can be interrupted"
        is_inside = True
        has_cancelled = False

        def cancel() -> None:
            nonlocal has_cancelled
            if is_inside and not has_cancelled:
                has_cancelled = True
                task.cancel()

        def stop() -> None:
            # Code inside the block that sets the signal itself may return first.
            if asyncio.current_task() is task:
                asyncio.get_running_loop().call_soon(cancel)
            else:
                cancel()

        forget = self.on_set(stop)
        try:
            yield
        except asyncio.CancelledError:
            if has_cancelled and task.uncancel() == 0:
                raise Aborted from None
            raise
        finally:
            is_inside = False
            forget()
