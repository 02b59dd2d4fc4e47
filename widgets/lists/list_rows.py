"""The data of list rows: frozen values, identified by their id."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Literal

import msgspec

RowTone = Literal[
    "text",
    "strong",
    "muted",
    "dim",
    "accent",
    "primary",
    "secondary",
    "number",
    "success",
    "warning",
    "error",
]


class RowBadge(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A short word after the title of a list row: `default`, `+3 -1`, `$0.02`."""

    text: str
    tone: RowTone = "muted"
    gap: int = 2
    """Blanks before it; 0 joins it to the badge before it."""
    is_pill: bool = False
    """Whether it has a ground in its tone, as a state."""


PILL_TONES: tuple[RowTone, ...] = ("accent", "success", "warning", "error", "muted")
"""The tones that a badge with a ground may have."""


class ListRow(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A row of a list: its id, title, and the texts before, after and at the right of the title."""

    id: str
    title: str
    prefix: str = ""
    """Shown before the title, never searched: tree connectors, a mark."""
    lead_word: str = ""
    """A word before the title in its own colour, never searched: a verb, the speaker."""
    lead_tone: RowTone = "muted"
    detail: str = ""
    """Dimmed text after the title."""
    right: str = ""
    """Text at the right edge: an age, a price, a key."""
    right_tone: RowTone = "dim"
    right_tones: tuple[tuple[int, RowTone], ...] = ()
    """The tones of the columns in `right`, each with its cells; empty if all of it has one tone."""
    badges: tuple[RowBadge, ...] = ()
    tone: RowTone = "text"
    is_checked: bool = False
    """The choice that is currently active."""
    is_heading: bool = False
    """A heading of the rows below; cannot be chosen."""
    is_disabled: bool = False
    search_words: str = ""
    """Additional search text that is not shown."""
    is_secondary: bool = False
    """Whether the row is ranked after other rows that match equally well."""

    @property
    def before(self) -> str:
        """The text before the title of a list row: its prefix and its lead word."""
        return self.prefix + self.lead_word

    @property
    def searched(self) -> str:
        return f"{self.title} {self.detail} {self.search_words}"


def make_column_heads(
    title: str, *, badges: Sequence[str] = (), detail: str = "", right: str = "", prefix: str = ""
) -> ListRow:
    """Returns the row with the heads of a list's columns, aligned as the rows' texts are."""
    return ListRow(
        id="heads",
        title=title,
        prefix=prefix,
        badges=tuple(RowBadge(text=badge) for badge in badges),
        detail=detail,
        right=right,
        right_tone="muted",
        tone="muted",
    )


def add_group_headings(rows: Iterable[tuple[str, ListRow]]) -> list[ListRow]:
    """Returns list rows with a heading row above each run of rows of the same group; `rows` are pairs of group and
    row."""
    out: list[ListRow] = []
    for group, ours in groupby(rows, key=itemgetter(0)):
        if group:
            out.append(ListRow(id=f"#{group}", title=group, is_heading=True))
        out += [row for _, row in ours]
    return out


def insert_blank_rows_before_headings(rows: Sequence[ListRow]) -> tuple[ListRow, ...]:
    """Inserts a blank row above each heading of a list except the first."""
    out: list[ListRow] = []
    for row in rows:
        if row.is_heading and out:
            out.append(ListRow(id=f"{row.id}:above", title="", is_heading=True))
        out.append(row)
    return tuple(out)
