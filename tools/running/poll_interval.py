"""Adapts the polling interval of a running process: short while it writes, longer while it is silent."""

from typing import Final

POLL_INTERVAL_DURING_OUTPUT: Final = 0.1
"""The number of seconds between polls of a process that writes output."""
MAX_POLL_INTERVAL_WITHOUT_OUTPUT: Final = 0.4
"""The number of seconds between polls of a process that has long been silent; it is longer because each poll wakes
the processor."""
_POLL_INTERVAL_GROWTH_FACTOR: Final = 1.3


class PollInterval:
    def __init__(self) -> None:
        self.seconds = POLL_INTERVAL_DURING_OUTPUT
        """The number of seconds until the next poll."""

    def update_interval(self, has_news: bool) -> None:
        self.seconds = (
            POLL_INTERVAL_DURING_OUTPUT
            if has_news
            else min(MAX_POLL_INTERVAL_WITHOUT_OUTPUT, self.seconds * _POLL_INTERVAL_GROWTH_FACTOR)
        )
