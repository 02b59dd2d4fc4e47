"""What a list shows: frozen rows, told apart by their id."""

from collections.abc import Sequence
from typing import Literal

import msgspec

Tone = Literal["text", "strong", "muted", "dim", "accent", "success", "warning", "error"]


class Badge(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A short word behind the title: `default`, `+3 -1`, `$0.02`."""

    text: str
    tone: Tone = "muted"


class ListRow(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    id: str
    title: str
    prefix: str = ""
    """Before the title, never searched: connectors of a tree, a mark."""
    detail: str = ""
    """Behind the title, quieter."""
    right: str = ""
    """At the right edge: an age, a price, a key."""
    right_tone: Tone = "dim"
    badges: tuple[Badge, ...] = ()
    tone: Tone = "text"
    is_checked: bool = False
    """The choice in force."""
    is_heading: bool = False
    """Not to be chosen; stands above the rows that follow."""
    is_disabled: bool = False
    words: str = ""
    """Searched besides title and detail, but not shown."""
    is_secondary: bool = False
    """Of what matches alike the others come first."""

    @property
    def searched(self) -> str:
        return f"{self.title} {self.detail} {self.words}"


def spaced(rows: Sequence[ListRow]) -> tuple[ListRow, ...]:
    """With a blank row above each heading but the first."""
    out: list[ListRow] = []
    for row in rows:
        if row.is_heading and out:
            out.append(ListRow(id=f"{row.id}:above", title="", is_heading=True))
        out.append(row)
    return tuple(out)
