"""How often one looks at what runs: often while it says something, less so while it is silent."""

from typing import Final

ACTIVE_INTERVAL: Final = 0.1
"""Between two looks at something that speaks."""
SILENT_INTERVAL: Final = 0.4
"""Between two looks at something that has long said nothing: each look wakes the processor."""
_SLOWDOWN_FACTOR: Final = 1.3


class PollInterval:
    def __init__(self) -> None:
        self.seconds = ACTIVE_INTERVAL
        """Until the next look."""

    def update(self, has_news: bool) -> None:
        self.seconds = ACTIVE_INTERVAL if has_news else min(SILENT_INTERVAL, self.seconds * _SLOWDOWN_FACTOR)
