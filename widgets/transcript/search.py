"""Finding text in a conversation: which blocks have it, and where in what is drawn.

Blocks are searched in their source, since most are not drawn; the places to highlight are then looked for in the
drawn text of the few that are.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

from widgets.transcript.drawing import Expansion
from widgets.transcript.item import Item

REGEX = "re:"
MOST_PER_BLOCK = 1_000
_MARKUP = str.maketrans({"*": None, "`": None, "\n": " "})


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
    """A query, its hits in order, and the one that is shown."""

    def __init__(self) -> None:
        self.query = ""
        self.found: list[tuple[str, int]] = []
        """Blocks with hits, and how many each has."""
        self.shown: Hit | None = None
        self._needle = ""
        """For queries that are plain text: what is counted, in lower case if case does not matter."""
        self._pattern: re.Pattern[str] | None = None
        self._spans: dict[int, tuple[int, list[tuple[int, int]]]] = {}

    @property
    def is_on(self) -> bool:
        return self._pattern is not None

    @property
    def count(self) -> int:
        return sum(count for _, count in self.found)

    @property
    def place(self) -> int:
        """Which of all hits is shown, counted from one; 0 for none."""
        if self.shown is None:
            return 0
        before = 0
        for block_id, count in self.found:
            if block_id == self.shown.block_id:
                return before + self.shown.number + 1
            before += count
        return 0

    def start(self, query: str, items: Iterable[Item]) -> None:
        """Look for a query in all blocks. Raises BadPattern."""
        self.clear()
        self.query = query
        self._pattern = compile_query(query)
        if not query.startswith(REGEX):
            self._needle = query if _has_capitals(query) else query.lower()
        self.update(items)

    def update(self, items: Iterable[Item]) -> None:
        """Look again: blocks came or changed."""
        self.found = [(item.block.id, count) for item in items if (count := self._count(item))]
        if self.shown is not None:
            counts = dict(self.found)
            if self.shown.number >= counts.get(self.shown.block_id, 0):
                self.shown = None

    def _count(self, item: Item) -> int:
        if self._pattern is None:
            return 0
        text = item.search_text()
        count = self._count_in(text)
        if not count and ("*" in text or "`" in text or "\n" in text):
            count = self._count_in(text.translate(_MARKUP))
        return min(count, MOST_PER_BLOCK)

    def _count_in(self, text: str) -> int:
        if self._needle:
            return (text if _has_capitals(self.query) else text.lower()).count(self._needle)
        assert self._pattern is not None
        count = 0
        for _ in self._pattern.finditer(text):
            count += 1
            if count >= MOST_PER_BLOCK:
                break
        return count

    def clear(self) -> None:
        self.query = ""
        self.found = []
        self.shown = None
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
            if len(found) >= MOST_PER_BLOCK:
                break
        if len(self._spans) > 200:
            self._spans.clear()
        self._spans[id(item)] = (item.version, found)
        return found

    def step(self, direction: int, items: list[Item], at: int) -> Hit | None:
        """The next or previous hit; the first step goes to the one nearest to a block."""
        if not self.found:
            return None
        if self.shown is None:
            index = self._nearest(direction, items, at)
            self.shown = Hit(self.found[index][0], 0 if direction > 0 else self.found[index][1] - 1)
            return self.shown
        index = next(i for i, (block_id, _) in enumerate(self.found) if block_id == self.shown.block_id)
        number = self.shown.number + direction
        if not 0 <= number < self.found[index][1]:
            index = (index + direction) % len(self.found)
            number = 0 if direction > 0 else self.found[index][1] - 1
        self.shown = Hit(self.found[index][0], number)
        return self.shown

    def _nearest(self, direction: int, items: list[Item], at: int) -> int:
        order = {item.block.id: index for index, item in enumerate(items)}
        places = [order.get(block_id, 0) for block_id, _ in self.found]
        if direction > 0:
            return next((i for i, place in enumerate(places) if place >= at), len(places) - 1)
        last = len(places) - 1
        return next((i for i in range(last, -1, -1) if places[i] <= at), last)
