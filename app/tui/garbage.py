"""Runs Python's garbage collection while the user is not typing.

A collection visits every object that may be in a cycle and stops all threads, in long sessions for several frames.
Objects that exist after the start are never visited again, automatic collections are rare, and a full one runs when
the user has stopped typing."""

import asyncio
import gc

REST = 2.0
"""Seconds without a key before a full collection."""
_THRESHOLDS = (5_000, 10, 10)


class Garbage:
    """Schedules garbage collections for pauses in typing."""

    def __init__(self, *, rest: float = REST) -> None:
        self._rest = rest
        self._last_key = 0.0
        self._waits: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        """Excludes all objects that exist now from collections, and makes automatic ones rare."""
        gc.freeze()
        gc.set_threshold(*_THRESHOLDS)
        gc.enable()

    def note_key(self) -> None:
        loop = asyncio.get_running_loop()
        self._last_key = loop.time()
        if self._waits is None:
            self._waits = loop.call_later(self._rest, self._look)

    def _look(self) -> None:
        loop = asyncio.get_running_loop()
        due = self._last_key + self._rest
        if loop.time() < due:  # another key was pressed meanwhile
            self._waits = loop.call_at(due, self._look)
        else:
            self._waits = None
            gc.collect()
