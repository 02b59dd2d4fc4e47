"""Scores paths by how often and how recently they were chosen. The application saves the scores."""

import math
from collections.abc import Callable

FRECENCY_HALF_LIFE = 7 * 24 * 3600.0
MAX_FRECENCY_PATHS = 2000


class PathFrecency:
    """Scores file paths by how often and how recently the user chose them."""

    def __init__(self, *, clock: Callable[[], float]) -> None:
        self.scores_and_times: dict[str, tuple[float, float]] = {}
        """Maps each path to its score and the time of that score; the application saves these."""
        self._clock = clock

    def record_chosen_path(self, path: str) -> None:
        self.scores_and_times[path] = (self.frecency_score(path) + 1.0, self._clock())
        if len(self.scores_and_times) > MAX_FRECENCY_PATHS:
            for path_ in sorted(self.scores_and_times, key=self.frecency_score)[: MAX_FRECENCY_PATHS // 10]:
                del self.scores_and_times[path_]

    def frecency_score(self, path: str) -> float:
        """Returns the score of a path, which halves every week since the path was chosen."""
        mark = self.scores_and_times.get(path)
        if mark is None:
            return 0.0
        weight, at = mark
        return weight * math.pow(0.5, max(0.0, self._clock() - at) / FRECENCY_HALF_LIFE)
