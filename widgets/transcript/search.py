"""Finding text in a conversation: which blocks have it, and where in what is drawn.

Blocks are searched in their source, since most are not drawn; the places to highlight are then looked for in the
drawn text of the few that are.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

from widgets.transcript.drawing import Expansion
from widgets.transcript.item import Item
from widgets.transcript.text import clean

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
        self.hits: list[Hit] = []
        self.current = -1
        self._pattern: re.Pattern[str] | None = None
        self._spans: dict[int, tuple[object, list[tuple[int, int]]]] = {}

    @property
    def is_on(self) -> bool:
        return self._pattern is not None

    def start(self, query: str, items: Iterable[Item]) -> None:
        """Look for a query in all blocks. Raises BadPattern."""
        self.clear()
        self.query = query
        self._pattern = compile_query(query)
        self.update(items)

    def update(self, items: Iterable[Item]) -> None:
        """Look again: blocks came or changed."""
        here = self.hits[self.current] if 0 <= self.current < len(self.hits) else None
        self.hits = [hit for item in items for hit in self._hits(item)]
        self.current = self.hits.index(here) if here is not None and here in self.hits else -1

    def _hits(self, item: Item) -> list[Hit]:
        pattern = self._pattern
        if pattern is None:
            return []
        text = item.search_text()
        if pattern.search(text) is None and ("*" not in text and "`" not in text and "\n" not in text):
            return []
        count = _count(pattern, text) or _count(pattern, text.translate(_MARKUP))
        return [Hit(item.block.id, number) for number in range(count)]

    def clear(self) -> None:
        self.query = ""
        self.hits = []
        self.current = -1
        self._pattern = None
        self._spans = {}

    def spans(self, item: Item, expansion: Expansion) -> list[tuple[int, int]]:
        """Where the hits are in a block's drawn text."""
        if self._pattern is None:
            return []
        known = self._spans.get(id(item))
        if known is not None and known[0] is item.leaves and item.live is None:
            return known[1]
        found = []
        for match in self._pattern.finditer(item.text(expansion)):
            found.append(match.span())
            if len(found) >= MOST_PER_BLOCK:
                break
        if len(self._spans) > 200:
            self._spans.clear()
        self._spans[id(item)] = (item.leaves, found)
        return found

    def step(self, direction: int, items: list[Item], at: int) -> Hit | None:
        """The next or previous hit; the first step goes to the one nearest to a block."""
        if not self.hits:
            return None
        if self.current < 0:
            order = {item.block.id: index for index, item in enumerate(items)}
            places = [order.get(hit.block_id, 0) for hit in self.hits]
            if direction > 0:
                self.current = next((i for i, place in enumerate(places) if place >= at), 0)
            else:
                last = len(places) - 1
                self.current = next((i for i in range(last, -1, -1) if places[i] <= at), last)
        else:
            self.current = (self.current + direction) % len(self.hits)
        return self.hits[self.current]

    @property
    def shown(self) -> Hit | None:
        return self.hits[self.current] if 0 <= self.current < len(self.hits) else None


def _count(pattern: re.Pattern[str], text: str) -> int:
    count = 0
    for _ in pattern.finditer(clean(text) if not text.isascii() else text):
        count += 1
        if count >= MOST_PER_BLOCK:
            break
    return count
