"""The pictures of two sides in pairs, and those that changed alike as one change."""

import hashlib
import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import Literal, NamedTuple

from tests.review.comparing import Difference, Names, difference, similarity
from tests.review.drawing import NOTHING, Drawing, read_drawing
from tests.review.likeness import Seen, groups_of, summary
from tests.review.runs import reviewer_of
from tests.review.sources import Checkout, Commit, Review

Kind = Literal["changed", "same cells", "new", "gone", "renamed"]


class Change(NamedTuple):
    """One picture, before and after."""

    name: str
    kind: Kind
    before: Drawing
    after: Drawing
    difference: Difference
    was: str = ""
    """Its name before, where that was another one."""
    reviewer: str = ""
    """The one who accepted what is now."""

    @property
    def is_broken(self) -> bool:
        return not (self.before.is_whole and self.after.is_whole)


class Alike(NamedTuple):
    """Pictures with the same change."""

    id: str
    kind: Kind
    changes: tuple[Change, ...]

    @property
    def title(self) -> str:
        states = list(dict.fromkeys(place_of(change.name).state for change in self.changes))
        return ", ".join(states[:3]) + (f" and {len(states) - 3} more" if len(states) > 3 else "")

    @property
    def what(self) -> str:
        return (
            summary([change.difference for change in self.changes]) if self.kind == "changed" else self.kind
        )


_LISTED = 20


class Comparison(NamedTuple):
    alike: tuple[Alike, ...]
    """The largest first."""
    same_cells: tuple[Change, ...]
    """Other bytes, the same picture."""

    @property
    def total(self) -> int:
        return sum(len(group.changes) for group in self.alike)

    def told(self) -> str:
        if not self.alike:
            return "no picture differs"
        pictures = "1 picture differs" if self.total == 1 else f"{self.total} pictures differ"
        changes = "1 change" if len(self.alike) == 1 else f"{len(self.alike)} changes"
        return f"{pictures} in {changes}"

    def rows(self) -> list[str]:
        """A line for each change, the largest first: how many pictures, what changed, and in which states."""
        rows = [
            f"  change:{group.id}  {len(group.changes):4}  {group.what}  ({group.title})"
            for group in self.alike[:_LISTED]
        ]
        left_out = len(self.alike) - _LISTED
        return [*rows, f"  and {left_out} more changes"] if left_out > 0 else rows


class Place(NamedTuple):
    """What a picture's name says: `pictures/test_pages[dark][theme-80x24].svg`."""

    module: str
    test: str
    state: str
    size: str
    theme: str


_SIZE = re.compile(r"\d+x\d+")
_THEMES = ("dark", "light")


def place_of(name: str) -> Place:
    path = PurePosixPath(name)
    test, _, rest = path.name.removesuffix(".svg").partition("[")
    size = theme = ""
    state: list[str] = []
    for word in re.split(r"[-\[\]]+", rest):
        if _SIZE.fullmatch(word):
            size = word
        elif word in _THEMES:
            theme = word
        elif word:
            state.append(word)
    return Place(path.parent.as_posix(), test, "-".join(state) or test, size, theme)


def compare(before: Commit, after: Commit | Checkout, review: Review) -> Comparison:
    old_ids, new_ids = before.blobs(), after.blobs()
    gone = [name for name in old_ids if name not in new_ids]
    new = [name for name in new_ids if name not in old_ids]
    both = [name for name in old_ids if name in new_ids and old_ids[name] != new_ids[name]]
    old_texts = dict(zip([*both, *gone], before.read(old_ids[name] for name in (*both, *gone)), strict=True))
    wanted = [*both, *new]
    new_texts = dict(
        zip(
            wanted,
            after.read([new_ids[name] for name in wanted] if isinstance(after, Commit) else wanted),
            strict=True,
        )
    )
    return compare_texts(old_texts, new_texts, review)


def compare_texts(before: Mapping[str, str], after: Mapping[str, str], review: Review) -> Comparison:
    """Each mapping has the pictures that are not byte by byte those of the other."""
    old = {name: read_drawing(text) for name, text in before.items()}
    new = {name: read_drawing(text) for name, text in after.items()}
    changes = [_change(name, "changed", old[name], new[name], review) for name in old if name in new]
    gone = {name: drawing for name, drawing in old.items() if name not in new}
    fresh = {name: drawing for name, drawing in new.items() if name not in old}
    for was, name in _renames(gone, fresh):
        changes.append(_change(name, "renamed", gone.pop(was), fresh.pop(name), review)._replace(was=was))
    changes += [_change(name, "gone", drawing, NOTHING, review) for name, drawing in gone.items()]
    changes += [_change(name, "new", NOTHING, drawing, review) for name, drawing in fresh.items()]
    changes = [one._replace(reviewer=reviewer_of(after.get(one.name, ""))) for one in changes]
    same = tuple(change for change in changes if _is_same(change))
    unlike = [change for change in changes if not _is_same(change)]
    return Comparison(_grouped(unlike), tuple(change._replace(kind="same cells") for change in same))


def _is_same(change: Change) -> bool:
    """The meaning of a file that is no picture is unknown."""
    return change.kind == "changed" and change.difference.is_none and not change.is_broken


def _change(name: str, kind: Kind, before: Drawing, after: Drawing, review: Review) -> Change:
    return Change(name, kind, before, after, difference(before, after, _names(before, after, review)))


def _names(before: Drawing, after: Drawing, review: Review) -> Names:
    """Those of the theme that most of the colours are from."""
    used = {
        colour
        for drawing in (before, after)
        for line in drawing.lines
        for colour in (
            *(piece.ink.colour for piece in line.pieces),
            *(ground.colour for ground in line.grounds),
        )
    }
    themes = review.themes.values()
    return max(themes, key=lambda theme: len(used & theme.keys()), default={})


_RENAMED = 0.6
_MOST_PAIRS = 40_000


def _renames(gone: Mapping[str, Drawing], fresh: Mapping[str, Drawing]) -> list[tuple[str, str]]:
    """Pairs of (was, is): the likest first, and only such as are mostly the same."""
    if len(gone) * len(fresh) > _MOST_PAIRS:
        return []
    pairs = [
        (similarity(old, new), was, name)
        for was, old in gone.items()
        for name, new in fresh.items()
        if old.columns == new.columns and place_of(was).theme == place_of(name).theme
    ]
    taken: set[str] = set()
    found: list[tuple[str, str]] = []
    for how_like, was, name in sorted(pairs, key=lambda pair: (-pair[0], *pair[1:])):
        if how_like >= _RENAMED and was not in taken and name not in taken:
            taken |= {was, name}
            found.append((was, name))
    return found


_SHOWN_FIRST = 80
"""Columns: one sees the whole picture, and what changed is large."""


def _grouped(changes: list[Change]) -> tuple[Alike, ...]:
    changed = [change for change in changes if change.kind == "changed"]
    seen = [Seen(_state_of(change), change.difference) for change in changed]
    groups = [[changed[number] for number in numbers] for numbers in groups_of(seen)]
    others: dict[object, list[Change]] = {}
    for change in changes:
        if change.kind != "changed":
            others.setdefault((change.kind, *_state_of(change)), []).append(change)
    for members in (groups := [*groups, *others.values()]):
        members.sort(key=lambda change: (abs(change.after.columns - _SHOWN_FIRST), change.name))
    alike = [Alike(_id_of(members), members[0].kind, tuple(members)) for members in groups]
    return tuple(sorted(alike, key=lambda group: (-len(group.changes), group.changes[0].name)))


def _state_of(change: Change) -> tuple[str, str, str]:
    place = place_of(change.name)
    return place.module, place.test, place.state


def _id_of(changes: list[Change]) -> str:
    """Stays as long as the pictures and what changed in them stay."""
    told = [
        (change.name, change.kind, change.difference.words, change.difference.recoloured)
        for change in changes
    ]
    return hashlib.sha256(repr(sorted(told)).encode()).hexdigest()[:6]


def is_made_up(name: str, review: Review) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in review.made_up)
