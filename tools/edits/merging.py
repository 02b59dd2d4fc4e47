"""Merges two changes of one text, line by line, and shows where they meet. Pure."""

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Final

import msgspec

_MAX_LINES: Final = 20_000


class _Span(msgspec.Struct, frozen=True):
    """Lines of the base that one side replaced."""

    first: int
    end: int
    new: tuple[str, ...]


class _Place(msgspec.Struct, frozen=True):
    """A place of the base that at least one side changed."""

    first: int
    end: int
    mine: tuple[_Span, ...]
    other: tuple[_Span, ...]

    @property
    def is_conflict(self) -> bool:
        return bool(self.mine) and bool(self.other) and self.mine != self.other


def three_way_merge(base: str, mine: str, other: str) -> str | None:
    """Applies the changes of `mine` and of `other` to `base`; None where both changed the same place."""
    if mine in (base, other):
        return other
    if other == base:
        return mine
    lines = base.splitlines(keepends=True)
    places = _places(lines, mine, other)
    if places is None or any(place.is_conflict for place in places):
        return None
    return "".join(_merged(lines, places, ("", "")))


def conflict_text(base: str, mine: str, other: str, names: tuple[str, str]) -> str:
    """Returns the merged text with both versions of each place that both sides changed, marked as git marks them with
    the names of the two sides. Empty for texts that are too long."""
    lines = base.splitlines(keepends=True)
    places = _places(lines, mine, other)
    return "" if places is None else "".join(_merged(lines, places, names))


def _places(lines: list[str], mine: str, other: str) -> list[_Place] | None:
    sides = mine.splitlines(keepends=True), other.splitlines(keepends=True)
    if max(len(lines), *map(len, sides)) > _MAX_LINES:
        return None
    spans = sorted(
        ((span, is_other) for is_other, side in enumerate(sides) for span in _spans(lines, side)),
        key=lambda one: (one[0].first, one[0].end),
    )
    places: list[_Place] = []
    for span, is_other in spans:
        found = ((), (span,)) if is_other else ((span,), ())
        last = places[-1] if places else None
        if last is not None and span.first <= last.end:
            places[-1] = _Place(
                last.first, max(last.end, span.end), (*last.mine, *found[0]), (*last.other, *found[1])
            )
        else:
            places.append(_Place(span.first, span.end, *found))
    return places


def _merged(lines: list[str], places: Sequence[_Place], names: tuple[str, str]) -> Iterator[str]:
    at = 0
    for place in places:
        yield from lines[at : place.first]
        at = place.end
        sides = [_applied(lines, place, spans) for spans in (place.mine, place.other)]
        if place.is_conflict:
            yield f"<<<<<<< {names[0]}\n"
            yield from _ended(sides[0])
            yield "=======\n"
            yield from _ended(sides[1])
            yield f">>>>>>> {names[1]}\n"
        else:
            yield from sides[0 if place.mine else 1]
    yield from lines[at:]


def _applied(lines: list[str], place: _Place, spans: Sequence[_Span]) -> list[str]:
    """Returns the lines of a place as one side has them."""
    made: list[str] = []
    at = place.first
    for span in spans:
        made += lines[at : span.first]
        made += span.new
        at = span.end
    return [*made, *lines[at : place.end]]


def _ended(lines: list[str]) -> list[str]:
    """Returns the lines with an end of line behind the last one, for the mark that follows."""
    return [*lines[:-1], f"{lines[-1]}\n"] if lines and not lines[-1].endswith(("\n", "\r")) else lines


def _spans(base: list[str], changed: list[str]) -> list[_Span]:
    matcher = SequenceMatcher(None, base, changed, autojunk=False)
    return [
        _Span(first, end, tuple(changed[there:until]))
        for tag, first, end, there, until in matcher.get_opcodes()
        if tag != "equal"
    ]
