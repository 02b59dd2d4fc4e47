"""Which pictures changed alike: what was replaced in a row counts, not the row; in any size, theme and test.

An edit may be shared as a whole (`oars` → `sails`), by what is there now (… → `bayou`), or by what was there before.
"""

import difflib
import re
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from itertools import chain
from typing import NamedTuple

from tests.review.comparing import Difference, Words

COMMON_STATES = 4
"""From as many states on, an edit is a change of its own, and not a part of what else changed in a picture."""
_MIN_SHARED_WORDS = 0.3
"""Of two rows: below, one replaced the other as a whole."""


class Edit(NamedTuple):
    """The words that were in one place of a row, and those that are; empty: none."""

    before: str
    after: str
    row: str = ""
    """The row with figures as `#`, if only figures changed."""

    @property
    def forms(self) -> tuple[Hashable, ...]:
        """By what it may be the same as another, the most exact first."""
        whole: tuple[Hashable, ...] = (("all", self.before, self.after),)
        if self.row:
            return (*whole, ("figures", self.row))
        if not (self.before and self.after) and _figureless(self.before + self.after) == "#":
            return (*whole, ("figure", bool(self.before)))
        if self.before and self.after:
            return (*whole, ("now", self.after), ("before", self.before))
        return whole

    def summary(self, form: Hashable = None) -> str:
        """`form`: what it shares with others, of which there is more to say than of the rest."""
        if form == ("now", self.after):
            return f"… → “{_short(self.after)}”"
        if form == ("before", self.before):
            return f"“{_short(self.before)}” → …"
        if not self.after:
            return f"without “{_short(self.before)}”"
        if not self.before:
            return f"with “{_short(self.after)}”"
        return f"“{_short(self.before)}” → “{_short(self.after)}”"


class Seen(NamedTuple):
    """A picture that changed, by number."""

    state: Hashable
    """The same in every size and theme."""
    difference: Difference


def groups_of(pictures: Sequence[Seen]) -> list[list[int]]:
    """Numbers of the pictures that changed alike.

    Pictures are alike if what changed in them is, apart from edits that many others have too; and in two sizes or
    themes of one state, if they share an edit."""
    edits = [edits_of(picture.difference) for picture in pictures]
    forms = [_forms(own) or _looks(one.difference) for own, one in zip(edits, pictures, strict=True)]
    states = _states_of_forms(pictures, forms)
    keys = [
        frozenset(max(one, key=lambda form: len(states[form])) for one in own) or _places(picture.difference)
        for own, picture in zip(forms, pictures, strict=True)
    ]
    groups = _Groups(len(pictures))
    first_of: dict[Hashable, int] = {}
    for number, (picture, key) in enumerate(zip(pictures, keys, strict=True)):
        groups.join(number, first_of.setdefault(_without_common(key, states), number))
        for form in key:
            groups.join(number, first_of.setdefault((picture.state, form), number))
    return groups.all()


def edits_of(difference: Difference) -> tuple[Edit, ...]:
    return tuple(dict.fromkeys(edit for words in difference.words for edit in _edits(words)))


def summary(differences: Sequence[Difference]) -> str:
    """What changed in pictures that changed alike, in a few words: the first two edits of the first picture."""
    first = differences[0]
    edits = edits_of(first)
    if not edits:
        return "moved" if first.moved else "other colours" if first.recoloured else "other marks"
    counted = Counter(form for one in differences for edit in edits_of(one) for form in edit.forms)
    shown = [edit.summary(max(edit.forms, key=counted.__getitem__)) for edit in edits[:2]]
    return " · ".join(shown) + (" …" if len(edits) > 2 else "")


def further_edits(difference: Difference, shown: Difference) -> tuple[Edit, ...]:
    """Those that are in no form among the edits that were shown already."""
    seen = {form for edit in edits_of(shown) for form in edit.forms}
    return tuple(edit for edit in edits_of(difference) if seen.isdisjoint(edit.forms))


def _edits(words: Words) -> Iterable[Edit]:
    old, new = _tokens(words.before), _tokens(words.after)
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    if matcher.ratio() < _MIN_SHARED_WORDS and old != new:
        yield Edit(" ".join(old), " ".join(new))
        return
    for kind, a, b, c, d in matcher.get_opcodes():
        if kind != "equal":
            before, after = " ".join(old[a:b]), " ".join(new[c:d])
            is_figure = bool(_FIGURE.search(before)) and _figureless(before) == _figureless(after)
            yield Edit(before, after, _figureless(words.after) if is_figure else "")


def _tokens(text: str) -> list[str]:
    """Without rules and frames."""
    return [token for token in text.split() if not _FRAME.fullmatch(token)]


_FRAME = re.compile("[\u2500-\u259f]+")
_FIGURE = re.compile(r"\d[\d.,]*k?")


def _figureless(text: str) -> str:
    return _FIGURE.sub("#", text)


Forms = tuple[tuple[Hashable, ...], ...]
"""Of each thing that changed in a picture: by what it may be the same as one in another picture."""


def _forms(edits: tuple[Edit, ...]) -> Forms:
    return tuple(edit.forms for edit in edits)


def _looks(difference: Difference) -> Forms:
    """Of a picture without a changed word. Where lines moved, looks are compared with those of other lines."""
    if difference.moved:
        return ()
    looks = dict.fromkeys((_look(one.before), _look(one.after)) for one in difference.recoloured)
    return tuple((("look", before, after),) for before, after in looks)


def _places(difference: Difference) -> frozenset[Hashable]:
    """How lines moved, if that is all."""
    return frozenset({("moved", frozenset(one[1:] for one in difference.moved))})


def _states_of_forms(pictures: Sequence[Seen], forms: Sequence[Forms]) -> dict[Hashable, set[Hashable]]:
    states: dict[Hashable, set[Hashable]] = {}
    for picture, own in zip(pictures, forms, strict=True):
        for form in chain.from_iterable(own):
            states.setdefault(form, set()).add(picture.state)
    return states


def _without_common(key: frozenset[Hashable], states: dict[Hashable, set[Hashable]]) -> Hashable:
    """What a picture has for itself, or else the commonest of its edits."""
    rest = frozenset(form for form in key if len(states.get(form, ())) < COMMON_STATES)
    return rest or max(key, key=lambda form: (len(states.get(form, ())), repr(form)))


def _look(told: str) -> str:
    """In any theme: there an ink may be brought nearer to be readable on its ground."""
    return told.replace(", nearer", "")


def _short(text: str) -> str:
    return text if len(text) <= 40 else text[:39] + "…"


class _Groups:
    """Numbers that belong together, joined two by two."""

    def __init__(self, count: int) -> None:
        self._above = list(range(count))

    def join(self, one: int, other: int) -> None:
        self._above[self._top(one)] = self._top(other)

    def all(self) -> list[list[int]]:
        found: dict[int, list[int]] = {}
        for number in range(len(self._above)):
            found.setdefault(self._top(number), []).append(number)
        return list(found.values())

    def _top(self, number: int) -> int:
        while self._above[number] != number:
            self._above[number] = self._above[self._above[number]]
            number = self._above[number]
        return number
