"""Decides when a question that appeared by itself accepts keys, so that keys meant for the editor do not answer it.

It must have been completely visible for a while, and no key may have been pressed for a shorter while. Each key
restarts
the second period, and so does a time in which the program was blocked."""

MIN_VISIBLE_SECONDS = 0.6
MIN_QUIET_SECONDS = 0.35
STALLED_SECONDS = 0.5
"""Seconds between two checks after which keys may have accumulated meanwhile."""


class InputGuard:
    """Tells whether a visible question accepts keys yet."""

    def __init__(self) -> None:
        self._shown_at: float | None = None
        self._key_at = float("-inf")
        self._last_check: float | None = None
        self.was_armed = False
        """Whether keys were accepted when the current key arrived."""

    def shown(self, now: float) -> None:
        """Called when the question has become completely visible."""
        self._shown_at = self._last_check = now
        self.was_armed = False

    def hidden(self) -> None:
        self._shown_at = None
        self.was_armed = False

    def look(self, now: float) -> None:
        """Called regularly while the question is visible."""
        self._reset_after_stall(now)
        self._last_check = now

    def key(self, now: float) -> None:
        """Called for any key, paste or click before it is handled."""
        self._reset_after_stall(now)
        self.was_armed = self.is_armed(now)
        self._key_at = now

    def is_armed(self, now: float) -> bool:
        if self._shown_at is None:
            return False
        return now - self._shown_at >= MIN_VISIBLE_SECONDS and now - self._key_at >= MIN_QUIET_SECONDS

    def is_shown_long(self, now: float) -> bool:
        """Whether the question has been visible for long enough, whenever the last key was pressed."""
        return self._shown_at is not None and now - self._shown_at >= MIN_VISIBLE_SECONDS

    def _reset_after_stall(self, now: float) -> None:
        if self._last_check is not None and now - self._last_check > STALLED_SECONDS:
            self._key_at = now
            self._last_check = now
