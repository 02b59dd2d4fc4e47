"""The position of each transcript block: prefix sums of the blocks' heights, cheap to update at the end."""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate


class BlockHeights:
    """The heights of all transcript blocks in rows, with their prefix sums."""

    def __init__(self) -> None:
        self._heights: list[int] = []
        self._tops: list[int] = [0]
        self._valid = 0
        """The index up to which the tops are valid."""

    def __len__(self) -> int:
        return len(self._heights)

    def __getitem__(self, index: int) -> int:
        return self._heights[index]

    def replace(self, heights: Iterable[int]) -> None:
        self._heights = list(heights)
        self._tops = [0]
        self._valid = 0

    def prepend(self, heights: Iterable[int]) -> None:
        self._heights[:0] = heights
        self._tops = [0]
        self._valid = 0

    def append(self, height: int) -> None:
        self._heights.append(height)

    def remove(self, index: int) -> None:
        del self._heights[index]
        self._valid = min(self._valid, index)

    def set(self, index: int, height: int) -> None:
        if self._heights[index] != height:
            self._heights[index] = height
            self._valid = min(self._valid, index)

    @property
    def total(self) -> int:
        self._update_sums()
        return self._tops[-1]

    def top_of_block(self, index: int) -> int:
        self._update_sums()
        return self._tops[index]

    def tops(self) -> Sequence[int]:
        """The first row of each block, and after them the total height."""
        self._update_sums()
        return self._tops

    def block_at(self, y: int) -> int:
        """Returns the index of the block that covers a row: the last one for rows below everything, -1 if there is
        none."""
        self._update_sums()
        return min(len(self._heights) - 1, bisect_right(self._tops, max(0, y)) - 1)

    def _update_sums(self) -> None:
        count = len(self._heights)
        if self._valid == count and len(self._tops) == count + 1:
            return
        del self._tops[self._valid + 1 :]
        base = self._tops[self._valid]
        self._tops[-1:] = accumulate(self._heights[self._valid :], initial=base)
        self._valid = count
