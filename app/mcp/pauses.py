"""How long a server is left alone that fails again and again."""

from collections import deque
from collections.abc import Callable

_FAILURES, _WITHIN_SECONDS = 3, 60.0
_PAUSE_SECONDS, _LONGEST_PAUSE = 30.0, 300.0


class Pauses:
    """How long a server is left alone that fails again and again."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._failures: deque[float] = deque(maxlen=_FAILURES)
        self._pause = _PAUSE_SECONDS
        self._again_at = 0.0

    @property
    def seconds(self) -> float:
        """Until it is tried again."""
        return max(0.0, self._again_at - self._now())

    def failed(self) -> None:
        now = self._now()
        self._failures.append(now)
        if len(self._failures) == _FAILURES and now - self._failures[0] <= _WITHIN_SECONDS:
            self._again_at = now + self._pause
            self._pause = min(2 * self._pause, _LONGEST_PAUSE)

    def forget(self) -> None:
        self._failures.clear()
        self._pause, self._again_at = _PAUSE_SECONDS, 0.0
