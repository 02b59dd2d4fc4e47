"""Defines the deadline of building a file map, and its cancellation by the caller.

All long work of the mapper checks it."""

import threading
import time
from collections.abc import Callable

MapCancelSignal = threading.Event | Callable[[], bool] | None


class FileMapTimeLimitReached(Exception):
    """Raised when the time allowed for a step of building a file map is over."""


class FileMapCancelled(OSError):
    """Raised when the caller no longer waits for a file map."""


class MapDeadline:
    def __init__(self, seconds: float, cancel: MapCancelSignal = None) -> None:
        self._end_time = time.monotonic() + seconds
        self._is_cancelled = cancel.is_set if isinstance(cancel, threading.Event) else cancel

    @property
    def is_cancelled(self) -> bool:
        return self._is_cancelled is not None and self._is_cancelled()

    @property
    def is_over(self) -> bool:
        return time.monotonic() > self._end_time or self.is_cancelled

    @property
    def seconds_until_deadline(self) -> float:
        return max(0.0, self._end_time - time.monotonic())

    def raise_if_deadline_over(self) -> None:
        """Raises `FileMapCancelled` if the caller has cancelled the map, or `FileMapTimeLimitReached` if its time is
        over."""
        if self.is_cancelled:
            raise FileMapCancelled("The map was cancelled.")
        if time.monotonic() > self._end_time:
            raise FileMapTimeLimitReached
