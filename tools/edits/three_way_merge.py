"""Merges two changes of one text, line by line, and shows where they meet. Pure."""

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Final

import msgspec

_MAX_MERGED_LINES: Final = 20_000


class _SideChange(msgspec.Struct, frozen=True):
    """The lines of the base text that one version in a merge replaced, and their replacement."""

    first: int
    end: int
    new_lines: tuple[str, ...]


class _MergeRegion(msgspec.Struct, frozen=True):
    """A range of the base text's lines that at least one of the two versions in a merge changed."""

    first: int
    end: int
    mine: tuple[_SideChange, ...]
    other: tuple[_SideChange, ...]

    @property
    def is_conflict(self) -> bool:
        return bool(self.mine) and bool(self.other) and self.mine != self.other


def merge_three_way(base: str, mine: str, other: str) -> str | None:
    """Merges the changes of the texts `mine` and `other` to their common `base`; None if both changed the same
    place."""
    if mine in (base, other):
        return other
    if other == base:
        return mine
    lines = base.splitlines(keepends=True)
    places = _find_merge_regions(lines, mine, other)
    if places is None or any(place.is_conflict for place in places):
        return None
    return "".join(_iterate_merged_lines(lines, places, ("", "")))


def format_conflicts(base: str, mine: str, other: str, names: tuple[str, str]) -> str:
    """Returns the merged text with git's conflict marks around both versions of each place that both sides changed.
    Empty for texts that are too long."""
    lines = base.splitlines(keepends=True)
    places = _find_merge_regions(lines, mine, other)
    return "" if places is None else "".join(_iterate_merged_lines(lines, places, names))


def _find_merge_regions(lines: list[str], mine: str, other: str) -> list[_MergeRegion] | None:
    sides = mine.splitlines(keepends=True), other.splitlines(keepends=True)
    if max(len(lines), *map(len, sides)) > _MAX_MERGED_LINES:
        return None
    spans = sorted(
        ((span, is_other) for is_other, side in enumerate(sides) for span in _find_side_changes(lines, side)),
        key=lambda one: (one[0].first, one[0].end),
    )
    places: list[_MergeRegion] = []
    for span, is_other in spans:
        found = ((), (span,)) if is_other else ((span,), ())
        last = places[-1] if places else None
        if last is not None and span.first <= last.end:
            places[-1] = _MergeRegion(
                last.first, max(last.end, span.end), (*last.mine, *found[0]), (*last.other, *found[1])
            )
        else:
            places.append(_MergeRegion(span.first, span.end, *found))
    return places


def _iterate_merged_lines(
    lines: list[str], places: Sequence[_MergeRegion], names: tuple[str, str]
) -> Iterator[str]:
    at = 0
    for place in places:
        yield from lines[at : place.first]
        at = place.end
        sides = [_apply_side_changes(lines, place, spans) for spans in (place.mine, place.other)]
        if place.is_conflict:
            yield f"<<<<<<< {names[0]}\n"
            yield from _add_final_line_feed(sides[0])
            yield "=======\n"
            yield from _add_final_line_feed(sides[1])
            yield f">>>>>>> {names[1]}\n"
        else:
            yield from sides[0 if place.mine else 1]
    yield from lines[at:]


def _apply_side_changes(lines: list[str], place: _MergeRegion, spans: Sequence[_SideChange]) -> list[str]:
    """Returns the lines of a changed range as one of the two versions in a merge has them."""
    made: list[str] = []
    at = place.first
    for span in spans:
        made += lines[at : span.first]
        made += span.new_lines
        at = span.end
    return [*made, *lines[at : place.end]]


def _add_final_line_feed(lines: list[str]) -> list[str]:
    """Returns lines that end with a line feed, so that a conflict mark can follow them."""
    return [*lines[:-1], f"{lines[-1]}\n"] if lines and not lines[-1].endswith(("\n", "\r")) else lines


def _find_side_changes(base: list[str], changed: list[str]) -> list[_SideChange]:
    matcher = SequenceMatcher(None, base, changed, autojunk=False)
    return [
        _SideChange(first, end, tuple(changed[there:until]))
        for tag, first, end, there, until in matcher.get_opcodes()
        if tag != "equal"
    ]
