"""How often one looks at what runs: often while it says something, less so while it is silent."""

from typing import Final

UPDATE_SECONDS: Final = 0.1
"""Between two looks at something that speaks."""
SILENT_SECONDS: Final = 0.4
"""Between two looks at something that has long said nothing: each look wakes the processor."""
_SLOWER: Final = 1.3


class Pace:
    def __init__(self) -> None:
        self.seconds = UPDATE_SECONDS
        """Until the next look."""

    def saw(self, has_news: bool) -> None:
        self.seconds = UPDATE_SECONDS if has_news else min(SILENT_SECONDS, self.seconds * _SLOWER)
