"""Filters the rows of a list by a typed query and ranks the matches. Pure."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from widgets.fuzzy_matching import FuzzyQuery
from widgets.lists.list_rows import ListRow

RowRankingOrder = Literal["given", "best"]


MIN_MATCHES_FOR_SUBSTRING_RANKING = 300
"""The number of matches from which rows are ranked by a cheaper score."""


class MatchedListRow(NamedTuple):
    """A list row that matches the query, with the positions of its matched characters."""

    row: ListRow
    matched: tuple[int, ...] = ()
    """The positions of matched characters in title and detail."""


class ListRowFilter:
    """Filters and ranks the rows of a list by a query; a longer query searches only the matches of the shorter one."""

    def __init__(self, rows: Sequence[ListRow], order: RowRankingOrder = "best") -> None:
        self.rows = rows
        self.order: RowRankingOrder = order
        self.query_problem = ""
        self._query = ""
        self._candidates: Sequence[ListRow] = rows

    def apply_query(self, query: str) -> list[MatchedListRow]:
        asked = FuzzyQuery(query.strip())
        self.query_problem = asked.problem
        if asked.is_empty:
            self._query, self._candidates = "", self.rows
            return [MatchedListRow(row) for row in self.rows]
        narrows = self._query and query.startswith(self._query) and _is_plain_query(query)
        candidates = self._candidates if narrows else self.rows
        left = [
            row for row in candidates if not row.is_heading and asked.is_match(row.searched, len(row.title))
        ]
        self._query, self._candidates = query, left
        whole = [row for row in left if asked.is_whole_match(row.searched)]
        left = whole or left  # letters scattered over a name are noise beside the whole word
        if self.order == "given":
            return [MatchedListRow(row) for row in left]
        if len(left) > MIN_MATCHES_FOR_SUBSTRING_RANKING and _is_plain_query(query):
            left.sort(
                key=lambda row: (
                    _rough_match_rank(row, query) - _secondary_rank(row) + _exact_name_rank(row, query)
                ),
                reverse=True,
            )
            return [MatchedListRow(row) for row in left]
        scored = [(asked.match(row.searched, len(row.title)), row) for row in left]
        found = [
            (match.score - _secondary_rank(row) + _exact_name_rank(row, query), match.positions, row)
            for match, row in scored
            if match is not None
        ]
        found.sort(key=lambda item: -item[0])
        return [MatchedListRow(row, places) for _, places, row in found]


def find_matched_positions(row: ListRow, query: str, *, scatters: bool = True) -> tuple[int, ...]:
    """Returns the positions of the characters of a list row that the query matches, for highlighting a visible row."""
    match = FuzzyQuery(query.strip()).match(row.searched, len(row.title) if scatters else 0)
    return match.positions if match else ()


def _is_plain_query(query: str) -> bool:
    return not query.startswith("re:") and '"' not in query


def _secondary_rank(row: ListRow) -> float:
    """Returns a penalty for rows that come after other matches: those unavailable now (a model without a key), and
    secondary ones."""
    return (5.0 if row.tone == "dim" else 0.0) + (3.0 if row.is_secondary else 0.0)


def _exact_name_rank(row: ListRow, query: str) -> float:
    """Returns a large bonus for a list row whose whole title, id or slash command was typed, so that it comes first;
    else 0."""
    word = query.strip().lower().lstrip("/")
    return (
        100.0
        if word and word in (row.title.lower().lstrip("/"), row.id.lower(), row.detail.lower().lstrip("/"))
        else 0.0
    )


def _rough_match_rank(row: ListRow, query: str) -> float:
    title, rest = row.title.lower(), f"{row.detail} {row.search_words}".lower()
    score = -len(title) * 0.02
    for word in query.lower().split():
        score += _match_place_score(title, word) or _match_place_score(rest, word) / 2
    return score


def _match_place_score(text: str, word: str) -> float:
    """Returns a score for where a typed word occurs in a text: highest at the beginning, then at the start of a word, 0
    if it does not occur."""
    at = text.find(word)
    if at <= 0:
        return 20.0 if at == 0 else 0.0
    return 8.0 if text[at - 1].isalnum() else 14.0
