"""Scores how often and how recently a path was chosen. The application saves the scores."""

import math
from collections.abc import Callable

HALF_LIFE = 7 * 24 * 3600.0
MAX_PATHS = 2000


class Frecency:
    """Scores paths by how often and how recently they were chosen."""

    def __init__(self, *, clock: Callable[[], float]) -> None:
        self.marks: dict[str, tuple[float, float]] = {}
        """Maps each path to its score and the time of that score; the application saves these."""
        self._clock = clock

    def record(self, path: str) -> None:
        self.marks[path] = (self.weight(path) + 1.0, self._clock())
        if len(self.marks) > MAX_PATHS:
            for path_ in sorted(self.marks, key=self.weight)[: MAX_PATHS // 10]:
                del self.marks[path_]

    def weight(self, path: str) -> float:
        """The path's score, which halves every week."""
        mark = self.marks.get(path)
        if mark is None:
            return 0.0
        weight, at = mark
        return weight * math.pow(0.5, max(0.0, self._clock() - at) / HALF_LIFE)
