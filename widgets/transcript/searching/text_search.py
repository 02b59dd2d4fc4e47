"""Finds text in a conversation: which blocks contain it, and where in the drawn text.

Blocks are searched in their source, since most are not drawn; hits are then located in the drawn text of visible ones.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

from widgets.transcript.expansion import Expansion

if TYPE_CHECKING:
    from widgets.transcript.item import Item

REGEX = "re:"
MAX_HITS_PER_BLOCK = 1_000


class Hit(NamedTuple):
    block_id: str
    number: int
    """Which of the block's hits."""


class BadPattern(ValueError):
    """The regular expression cannot be read."""


def compile_query(query: str) -> re.Pattern[str] | None:
    """What to look for: case counts when the query has capitals; `re:` in front makes it a regular expression."""
    if query.startswith(REGEX):
        source = query[len(REGEX) :]
        try:
            pattern = re.compile(source, 0 if _has_capitals(source) else re.IGNORECASE)
        except re.error as error:
            raise BadPattern(f"{error}") from error
        return pattern if source and not pattern.match("") else None
    if not query:
        return None
    return re.compile(re.escape(query), 0 if _has_capitals(query) else re.IGNORECASE)


def _has_capitals(source: str) -> bool:
    return any(char.isupper() for char in re.sub(r"\\.", "", source))


class Search:
    """A query, how often each block has it, and the hit that is shown.

    Counting takes a while where there are many blocks, so it is done in parts: `go_on`. Each block keeps its count.
    """

    def __init__(self) -> None:
        self.query = ""
        self.shown: Hit | None = None
        self.count = 0
        """Hits in the blocks that were looked at so far."""
        self._round = 0
        """Which search this is: a block's count is of this one if it says so."""
        self._waiting: list[Item] = []
        """Blocks that are still to be looked at, the next one last."""
        self._needle = ""
        """For queries that are plain text: what is counted, in lower case if case does not matter."""
        self._folds_case = False
        self._pattern: re.Pattern[str] | None = None
        self._spans: dict[int, tuple[int, list[tuple[int, int]]]] = {}

    @property
    def is_on(self) -> bool:
        return self._pattern is not None

    @property
    def is_done(self) -> bool:
        """Every block was looked at."""
        return not self._waiting

    def place(self, items: Sequence[Item], at: int) -> int:
        """Which of all hits is shown, counted from one; 0 for none. `at`: the block that has it."""
        if self.shown is None:
            return 0
        return sum(map(self.hits, islice(items, at))) + self.shown.number + 1

    def hits(self, item: Item) -> int:
        """In a block that was looked at."""
        return item.hits if item.searched == self._round else 0

    def start(self, query: str, items: Sequence[Item], at: int) -> None:
        """Look for a query in all blocks, first in those from one on. Raises BadPattern."""
        self.clear()
        self.query = query
        self._pattern = compile_query(query)
        self._folds_case = not _has_capitals(query)
        if not query.startswith(REGEX):
            self._needle = query.lower() if self._folds_case else query
        if self._pattern is not None:
            self._waiting = [*reversed(items[:at]), *reversed(items[at:])]

    def go_on(self, seconds: float) -> bool:
        """Look at further blocks for a while; whether all were looked at."""
        end = perf_counter() + seconds
        waiting = self._waiting
        while waiting:
            self._look_at(waiting.pop())
            if perf_counter() > end:
                break
        return not waiting

    def update(self, items: Sequence[Item]) -> None:
        """Blocks came or changed."""
        if self.is_done:
            self._waiting = [item for item in items if item.searched != self._round or item.live is not None]
        self.count = sum(map(self.hits, items))

    def _look_at(self, item: Item) -> None:
        self.count -= self.hits(item)
        item.searched, item.hits = self._round, self._count(item.search_text())
        self.count += item.hits

    def _count(self, text: str) -> int:
        count = self._count_in(text)
        if not count and (shown := _as_drawn(text, self._needle)) is not None:
            count = self._count_in(shown)
        return min(count, MAX_HITS_PER_BLOCK)

    def _count_in(self, text: str) -> int:
        if self._needle:
            return (text.lower() if self._folds_case else text).count(self._needle)
        assert self._pattern is not None
        count = 0
        for _ in self._pattern.finditer(text):
            count += 1
            if count >= MAX_HITS_PER_BLOCK:
                break
        return count

    def clear(self) -> None:
        self.query = ""
        self.shown = None
        self.count = 0
        self._round += 1
        self._waiting = []
        self._needle = ""
        self._pattern = None
        self._spans = {}

    def spans(self, item: Item, expansion: Expansion) -> list[tuple[int, int]]:
        """Where the hits are in a block's drawn text."""
        if self._pattern is None:
            return []
        known = self._spans.get(id(item))
        if known is not None and known[0] == item.version:
            return known[1]
        found = []
        for match in self._pattern.finditer(item.text(expansion)):
            found.append(match.span())
            if len(found) >= MAX_HITS_PER_BLOCK:
                break
        if len(self._spans) > 200:
            self._spans.clear()
        self._spans[id(item)] = (item.version, found)
        return found

    def step(self, direction: int, items: Sequence[Item], at: int) -> Hit | None:
        """The next or previous hit from the block of the one that is shown; the first step, the one nearest to a block.

        Of what was not looked at nothing is known: whoever steps early may come by hits that are found later.
        """
        if self.shown is not None:
            number = self.shown.number + direction
            if 0 <= number < self.hits(items[at]):
                self.shown = Hit(self.shown.block_id, number)
                return self.shown
            order = [*range(at + 1, len(items)), *range(at + 1)]
            if direction < 0:
                order = [*range(at - 1, -1, -1), *range(len(items) - 1, at - 1, -1)]
        elif direction > 0:
            order = [*range(at, len(items)), *range(at - 1, -1, -1)]  # else the last one
        else:
            order = [*range(at, -1, -1), *range(len(items) - 1, at, -1)]
        index = next((index for index in order if self.hits(items[index])), None)
        self.shown = None
        if index is not None:
            item = items[index]
            self.shown = Hit(item.block.id, 0 if direction > 0 else item.hits - 1)
        return self.shown

    def is_known_from(self, items: Sequence[Item], at: int) -> bool:
        """Whether the first hit from a block on is known, or that there is none."""
        return self.is_done or any(self.hits(items[index]) for index in range(at, len(items)))


def _as_drawn(text: str, needle: str) -> str | None:
    """The text without signs of Markdown, in one line; None where it has nothing that could stand in a hit's way.

    `needle`: what is looked for, empty for a pattern.
    """
    drawn = text
    if "\n" in text and (" " in needle or not needle):
        drawn = drawn.replace("\n", " ")
    if "*" in text or "`" in text:
        drawn = drawn.replace("*", "").replace("`", "")
    return None if drawn is text else drawn
