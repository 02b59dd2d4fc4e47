"""Adapts the polling interval of a running process: short while it writes, longer while it is silent."""

from typing import Final

ACTIVE_POLL_INTERVAL: Final = 0.1
"""Seconds between polls of an active process."""
SILENT_POLL_INTERVAL: Final = 0.4
"""Seconds between polls of a process that has long been silent: each poll wakes the processor."""
_SLOWDOWN_FACTOR: Final = 1.3


class PollInterval:
    def __init__(self) -> None:
        self.seconds = ACTIVE_POLL_INTERVAL
        """Seconds until the next poll."""

    def update_interval(self, has_news: bool) -> None:
        self.seconds = (
            ACTIVE_POLL_INTERVAL if has_news else min(SILENT_POLL_INTERVAL, self.seconds * _SLOWDOWN_FACTOR)
        )
