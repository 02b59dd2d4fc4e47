"""Adapts the polling interval of a running process: short while it writes, longer while it is silent."""

from typing import Final

ACTIVE_POLL_INTERVAL: Final = 0.1
"""The number of seconds between polls of a process that writes output."""
SILENT_POLL_INTERVAL: Final = 0.4
"""The number of seconds between polls of a process that has long been silent; it is longer because each poll wakes
the processor."""
_SLOWDOWN_FACTOR: Final = 1.3


class PollInterval:
    def __init__(self) -> None:
        self.seconds = ACTIVE_POLL_INTERVAL
        """The number of seconds until the next poll."""

    def update_interval(self, has_news: bool) -> None:
        self.seconds = (
            ACTIVE_POLL_INTERVAL if has_news else min(SILENT_POLL_INTERVAL, self.seconds * _SLOWDOWN_FACTOR)
        )
