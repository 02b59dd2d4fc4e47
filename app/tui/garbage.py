"""When garbage is looked for: while nobody waits for a key to be painted.

A collection looks at every value that may be in a cycle, and stops all threads meanwhile: with a long session for as
long as several frames. So what is there after the start is never looked at again, the automatic collections come
seldom, and a full one comes when a person has stopped typing.
"""

import asyncio
import gc

REST = 2.0
"""Seconds without a key."""
_THRESHOLDS = (5_000, 10, 10)


class Garbage:
    def __init__(self, *, rest: float = REST) -> None:
        self._rest = rest
        self._last_key = 0.0
        self._waits: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        """What has been loaded so far stays for good."""
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
        if loop.time() < due:  # another key came meanwhile
            self._waits = loop.call_at(due, self._look)
        else:
            self._waits = None
            gc.collect()
