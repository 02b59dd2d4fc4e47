"""Fuzzy matching for lists that are filtered while typing.

Every word of a query must match: as a substring, or with its characters in order within the first `reach` characters,
which are the item's name (matches scattered over its description would be noise). Lower-case letters match both cases,
capitals only capitals. `re:` starts a regular expression, quotes a phrase. Matches score higher at the start of a word,
without gaps, early, and in short texts."""

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

T = TypeVar("T")


class FuzzyMatch(NamedTuple):
    """How a text matched a query: a score and the positions of the matched characters."""

    score: float
    positions: tuple[int, ...]
    """The positions of the matched characters, in order."""


class FuzzyQuery:
    """A search query, parsed once and then matched against many texts."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.problem = ""
        """The error of an invalid regular expression, which matches nothing."""
        self._words: list[_FuzzyQueryWord] = []
        self._regex: re.Pattern[str] | None = None
        if text.startswith("re:"):
            try:
                self._regex = re.compile(text[3:], re.IGNORECASE)
            except re.error as error:
                self.problem = f"not a regular expression: {error}"
        else:
            self._words = [_parse_word(word) for word in _split_query(text)]

    @property
    def is_empty(self) -> bool:
        return not self._words and self._regex is None and not self.problem

    def is_match(self, text: str, reach: int | None = None) -> bool:
        """Returns whether a text matches the query; this costs less than `match`. `reach`: the number of characters at
        the start within which the letters of a word may be scattered."""
        if self._regex is not None:
            return self._regex.search(text) is not None
        if self.problem:
            return False
        end = len(text) if reach is None else reach
        return all(
            word.whole.search(text) or (word.scattered is not None and word.scattered.search(text, 0, end))
            for word in self._words
        )

    def is_whole_match(self, text: str) -> bool:
        """Returns whether a text has each word of the query without gaps between its letters."""
        return self._regex is not None or all(word.whole.search(text) for word in self._words)

    def match(self, text: str, reach: int | None = None) -> FuzzyMatch | None:
        if self._regex is not None:
            found = self._regex.search(text)
            return FuzzyMatch(-found.start(), tuple(range(*found.span()))) if found else None
        if self.problem:
            return None
        score = 0.0
        places: set[int] = set()
        for word in self._words:
            found = _best_match(word, text, len(text) if reach is None else reach)
            if found is None:
                return None
            score += found.score
            places.update(found.positions)
        return FuzzyMatch(score - len(text) * 0.02, tuple(sorted(places)))


class _FuzzyQueryWord(NamedTuple):
    """A word of a search query, with one pattern for the whole word and one for its letters with gaps."""

    text: str
    whole: re.Pattern[str]
    scattered: re.Pattern[str] | None
    """A pattern of the word's characters in order; None for a phrase."""


def _split_query(text: str) -> list[str]:
    return [word for word in re.findall(r'"[^"]+"|\S+', text) if word]


def _parse_word(word: str) -> _FuzzyQueryWord:
    is_phrase = len(word) > 2 and word[0] == word[-1] == '"'
    if is_phrase:
        word = word[1:-1]
    flags = re.IGNORECASE if word == word.lower() else 0
    whole = re.compile(re.escape(word), flags)
    if is_phrase:
        return _FuzzyQueryWord(word, whole, None)
    rest = "".join(f"[^{re.escape(char)}]*+{re.escape(char)}" for char in word[1:])
    return _FuzzyQueryWord(word, whole, re.compile(re.escape(word[0]) + rest, flags | re.DOTALL))


def _best_match(asked: _FuzzyQueryWord, text: str, reach: int) -> FuzzyMatch | None:
    """Returns the best match of a query's word in a text: as a substring, else with its letters scattered within
    `reach`, tried at the first few positions. None if it does not occur."""
    word, pattern = asked.text, asked.scattered
    folded = word == word.lower()
    haystack = text.lower() if folded else text
    if len(haystack) != len(text):  # some letters get longer when folded, and positions refer to `text`
        haystack = "".join(lower if len(lower := char.lower()) == 1 else char for char in text)
    at = haystack.find(word)
    if at >= 0:
        starts = at == 0 or not text[at - 1].isalnum()
        if not starts:  # the same letters at the start of a word count more
            later = _find_at_word_start(haystack, word, at)
            at, starts = (later, True) if later >= 0 else (at, False)
        bonus = 12.0 if starts else 4.0
        exact = 6.0 if len(word) == len(text) else 0.0
        return FuzzyMatch(len(word) * 4 + bonus + exact - at * 0.05, tuple(range(at, at + len(word))))
    if pattern is None:
        return None
    best: FuzzyMatch | None = None
    begin = 0
    for _ in range(4):
        found = pattern.search(text, begin, reach)
        if found is None:
            break
        candidate = _match_scattered(word, haystack, text, found.start())
        if best is None or candidate.score > best.score:
            best = candidate
        begin = found.start() + 1
    return best


def _find_at_word_start(haystack: str, word: str, at: int) -> int:
    while at >= 0:
        if at == 0 or not haystack[at - 1].isalnum():
            return at
        at = haystack.find(word, at + 1)
    return -1


def _match_scattered(word: str, haystack: str, text: str, start: int) -> FuzzyMatch:
    places: list[int] = []
    score = -start * 0.05
    at = start
    for char in word:
        found = haystack.find(char, at)
        if found < 0:
            break
        if places and found == places[-1] + 1:
            score += 3.0
        elif (
            found == 0
            or not text[found - 1].isalnum()
            or (text[found].isupper() and text[found - 1].islower())
        ):
            score += 2.5
        else:
            score += 0.5 - min(2.0, (found - at) * 0.1)
        places.append(found)
        at = found + 1
    return FuzzyMatch(score, tuple(places))


def rank_fuzzy_matches(
    query: str, items: Sequence[T], text_of: Callable[[T], str], limit: int = 0
) -> list[tuple[T, FuzzyMatch]]:
    """Returns the items whose text matches a query, best first, each with its match; all in the given order if the
    query is empty."""
    asked = FuzzyQuery(query)
    if asked.is_empty:
        return [(item, FuzzyMatch(0.0, ())) for item in (items[:limit] if limit else items)]
    found = [(item, match) for item in items if (match := asked.match(text_of(item))) is not None]
    found.sort(key=lambda pair: -pair[1].score)
    return found[:limit] if limit else found
