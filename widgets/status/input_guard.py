"""When a question that comes up by itself may be answered: not by keys that were meant for something else.

It listens once it has stood there whole for a while, and for a shorter while no key came. Each key, whatever it does,
begins the second one anew; so does a time in which nothing was heard of the program itself.
"""

SHOWN_SECONDS = 0.6
QUIET_SECONDS = 0.35
STALLED_SECONDS = 0.5
"""Longer between two looks, and keys may have piled up meanwhile."""


class InputGuard:
    def __init__(self) -> None:
        self._shown_at: float | None = None
        self._key_at = float("-inf")
        self._looked_at: float | None = None
        self.was_armed = False
        """When the key came that is being dealt with."""

    def shown(self, now: float) -> None:
        """It stands there whole from now on."""
        self._shown_at = self._looked_at = now
        self.was_armed = False

    def hidden(self) -> None:
        self._shown_at = None
        self.was_armed = False

    def look(self, now: float) -> None:
        """Told again and again while it stands there."""
        self._reset_after_stall(now)
        self._looked_at = now

    def key(self, now: float) -> None:
        """Any key, any paste, any click: before it does what it does."""
        self._reset_after_stall(now)
        self.was_armed = self.is_armed(now)
        self._key_at = now

    def is_armed(self, now: float) -> bool:
        if self._shown_at is None:
            return False
        return now - self._shown_at >= SHOWN_SECONDS and now - self._key_at >= QUIET_SECONDS

    def _reset_after_stall(self, now: float) -> None:
        if self._looked_at is not None and now - self._looked_at > STALLED_SECONDS:
            self._key_at = now
            self._looked_at = now
