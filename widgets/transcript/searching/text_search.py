"""Finds text in a transcript: which blocks contain it, and where in the drawn text.

Blocks are searched in their source, since most are not drawn; hits are then located in the drawn text of visible
ones."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

from widgets.transcript.block_expansion import BlockExpansion

if TYPE_CHECKING:
    from widgets.transcript.block_item import BlockItem

REGEX_PREFIX = "re:"
MAX_HITS_PER_BLOCK = 1_000


class Hit(NamedTuple):
    """A search hit: the id of its block, and its number within the block."""

    block_id: str
    index_in_block: int
    """The index of the hit within its block."""


class BadPattern(ValueError):
    """The error for a search whose regular expression is invalid."""


def compile_query(query: str) -> re.Pattern[str] | None:
    """Compiles a search query to a pattern: upper and lower case differ only if the query has capitals; the prefix
    `re:` makes it a regular expression. Raises `BadPattern`."""
    if query.startswith(REGEX_PREFIX):
        source = query[len(REGEX_PREFIX) :]
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


class TextSearch:
    """A search in a transcript: the query, the number of hits in each block, and the current hit.

    Counting takes a while with many blocks, so it is done in steps (`continue_counting`). Each block stores its
    count."""

    def __init__(self) -> None:
        self.query = ""
        self.current_hit: Hit | None = None
        self.count = 0
        """The number of hits in the blocks searched so far."""
        self._search_number = 0
        """The number of the current search; a block's count is valid if it has the same number."""
        self._unsearched_items: list[BlockItem] = []
        """The blocks still to be searched, the next one last."""
        self._needle = ""
        """For plain queries: the text to count, in lower case if case does not matter."""
        self._folds_case = False
        self._pattern: re.Pattern[str] | None = None
        self._spans: dict[int, tuple[int, list[tuple[int, int]]]] = {}

    @property
    def is_on(self) -> bool:
        return self._pattern is not None

    @property
    def is_done(self) -> bool:
        """Whether every block was searched."""
        return not self._unsearched_items

    def hit_number(self, items: Sequence[BlockItem], at: int) -> int:
        """Returns the number of the current hit among all, counted from one; 0 without a current hit. `at`: the index
        of its block."""
        if self.current_hit is None:
            return 0
        return sum(map(self.hits_in, islice(items, at))) + self.current_hit.index_in_block + 1

    def hits_in(self, item: BlockItem) -> int:
        """Returns the number of hits in a block; 0 if it was not searched yet."""
        return item.hits if item.searched == self._search_number else 0

    def start_counting(self, query: str, items: Sequence[BlockItem], at: int) -> None:
        """Starts a search in all blocks, first in those from index `at` on. Raises `BadPattern` for an invalid
        pattern."""
        self.clear()
        self.query = query
        self._pattern = compile_query(query)
        self._folds_case = not _has_capitals(query)
        if not query.startswith(REGEX_PREFIX):
            self._needle = query.lower() if self._folds_case else query
        if self._pattern is not None:
            self._unsearched_items = [*reversed(items[:at]), *reversed(items[at:])]

    def continue_counting(self, seconds: float) -> bool:
        """Searches further blocks for some seconds; returns whether all are searched now."""
        end = perf_counter() + seconds
        waiting = self._unsearched_items
        while waiting:
            self._count_hits_in(waiting.pop())
            if perf_counter() > end:
                break
        return not waiting

    def update(self, items: Sequence[BlockItem]) -> None:
        """Updates the number of hits after blocks were added or changed, and marks new blocks as still to be
        searched."""
        if self.is_done:
            self._unsearched_items = [
                item for item in items if item.searched != self._search_number or item.live is not None
            ]
        self.count = sum(map(self.hits_in, items))

    def _count_hits_in(self, item: BlockItem) -> None:
        self.count -= self.hits_in(item)
        item.searched, item.hits = self._search_number, self._count_in_block_text(item.search_text())
        self.count += item.hits

    def _count_in_block_text(self, text: str) -> int:
        count = self._count_in_text(text)
        if not count and (shown := _text_as_drawn(text, self._needle)) is not None:
            count = self._count_in_text(shown)
        return min(count, MAX_HITS_PER_BLOCK)

    def _count_in_text(self, text: str) -> int:
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
        self.current_hit = None
        self.count = 0
        self._search_number += 1
        self._unsearched_items = []
        self._needle = ""
        self._pattern = None
        self._spans = {}

    def hit_spans(self, item: BlockItem, expansion: BlockExpansion) -> list[tuple[int, int]]:
        """Returns the ranges of the search's hits in a block's drawn text, which are cached until the block changes."""
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

    def step(self, direction: int, items: Sequence[BlockItem], at: int) -> Hit | None:
        """Makes the next or previous hit the current one and returns it; the first step takes the hit nearest to block
        `at`. None if there is no hit.

        Only blocks searched so far count, so an early step may skip hits that are found later."""
        if self.current_hit is not None:
            number = self.current_hit.index_in_block + direction
            if 0 <= number < self.hits_in(items[at]):
                self.current_hit = Hit(self.current_hit.block_id, number)
                return self.current_hit
            order = [*range(at + 1, len(items)), *range(at + 1)]
            if direction < 0:
                order = [*range(at - 1, -1, -1), *range(len(items) - 1, at - 1, -1)]
        elif direction > 0:
            order = [*range(at, len(items)), *range(at - 1, -1, -1)]  # otherwise the last one before
        else:
            order = [*range(at, -1, -1), *range(len(items) - 1, at, -1)]
        index = next((index for index in order if self.hits_in(items[index])), None)
        self.current_hit = None
        if index is not None:
            item = items[index]
            self.current_hit = Hit(item.block.id, 0 if direction > 0 else item.hits - 1)
        return self.current_hit

    def is_first_hit_known(self, items: Sequence[BlockItem], at: int) -> bool:
        """Returns whether the first hit from a block on is known, or it is known that there is none."""
        return self.is_done or any(self.hits_in(items[index]) for index in range(at, len(items)))


def _text_as_drawn(text: str, needle: str) -> str | None:
    """Returns a source text without Markdown signs and line breaks, which could hide a hit; None if it has none.
    `needle`: the searched text; empty for a pattern."""
    drawn = text
    if "\n" in text and (" " in needle or not needle):
        drawn = drawn.replace("\n", " ")
    if "*" in text or "`" in text:
        drawn = drawn.replace("*", "").replace("`", "")
    return None if drawn is text else drawn
