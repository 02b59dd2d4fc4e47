"""What is different between two drawings: which cells, which words, which colours."""

import difflib
import re
from collections import Counter
from collections.abc import Mapping
from itertools import starmap, zip_longest
from typing import NamedTuple

from tests.review.drawing import Cell, Drawing, Line, cells_of, columns_of, words_of


class Outline(NamedTuple):
    """A rectangle of changed cells."""

    column: int
    line: int
    width: int
    height: int


class Words(NamedTuple):
    """A line before and after; empty: there was none."""

    before: str
    after: str


class Recolouring(NamedTuple):
    """The same words, looking different."""

    text: str
    before: str
    after: str


class Moved(NamedTuple):
    """A line with the same words in another place."""

    text: str
    rows: int
    """Down; less than 0: up."""
    columns: int
    """To the right."""
    is_spread: bool
    """More or less is between its words."""


class Difference(NamedTuple):
    cells: int
    outlines: tuple[Outline, ...]
    words: tuple[Words, ...]
    recoloured: tuple[Recolouring, ...]
    moved: tuple["Moved", ...] = ()

    @property
    def is_none(self) -> bool:
        return not self.cells


Names = Mapping[str, str]
"""A colour's name, where it has one."""


def difference(before: Drawing, after: Drawing, names: Names) -> Difference:
    columns = max(before.columns, after.columns)
    are_both = bool(before.height and after.height)
    changed: dict[int, list[int]] = {}
    recoloured: dict[Recolouring, None] = {}
    for row in range(max(before.height, after.height)):
        old, new = before.line(row), after.line(row)
        if old == new:
            continue
        old_cells, new_cells = cells_of(old, columns), cells_of(new, columns)
        columns_changed = [column for column in range(columns) if old_cells[column] != new_cells[column]]
        if columns_changed:
            changed[row] = columns_changed
            if are_both:
                recoloured.update(dict.fromkeys(_recolourings(old_cells, new_cells, columns_changed, names)))
    return Difference(
        cells=sum(map(len, changed.values())),
        outlines=_outlines(changed),
        words=_changed_words(before, after) if changed else (),
        recoloured=tuple(recoloured),
        moved=_moved(before, after) if are_both else (),
    )


def _moved(before: Drawing, after: Drawing) -> tuple[Moved, ...]:
    """Those whose words are in both drawings, not in the same places."""
    places: tuple[dict[str, list[tuple[int, str]]], ...] = ({}, {})
    for drawing, found in zip((before, after), places, strict=True):
        for row, line in enumerate(drawing.lines):
            if text := _read(line):
                found.setdefault(text, []).append((row, words_of(line)))
    old, new = places
    return tuple(
        Moved(
            text,
            new[text][0][0] - old[text][0][0],
            _indent(new[text][0][1]) - _indent(old[text][0][1]),
            new[text][0][1].lstrip() != old[text][0][1].lstrip(),
        )
        for text in new
        if text in old and old[text] != new[text]
    )


def _indent(words: str) -> int:
    return len(words) - len(words.lstrip())


def similarity(before: Drawing, after: Drawing) -> float:
    """0 to 1: how many lines of one are in the other."""
    old = {words_of(line) for line in before.lines} - {""}
    new = {words_of(line) for line in after.lines} - {""}
    return len(old & new) / max(len(old | new), 1)


def _recolourings(old: list[Cell], new: list[Cell], columns: list[int], names: Names) -> list[Recolouring]:
    found: list[Recolouring] = []
    run: list[int] = []

    def close() -> None:
        if run:
            text = "".join(new[column].text for column in run).strip()
            found.append(Recolouring(text, _look(old[run[0]], names), _look(new[run[0]], names)))
            run.clear()

    for column in columns:
        if old[column].text != new[column].text:
            close()
            continue
        if run and (column != run[-1] + 1 or _looks(old, new, column) != _looks(old, new, run[0])):
            close()
        run.append(column)
    close()
    return found


def _looks(old: list[Cell], new: list[Cell], column: int) -> tuple[object, ...]:
    return (*old[column][1:], *new[column][1:])


def _look(cell: Cell, names: Names) -> str:
    ink = names.get(cell.ink.colour, cell.ink.colour)
    ground = names.get(cell.ground, cell.ground)
    marks = {"b": "bold", "i": "italic", "u": "underlined", "s": "struck out"}
    written = " ".join([ink, *(marks[mark] for mark in cell.ink.marks)]).strip()
    return f"{written} on {ground}".strip() if written else f"ground {ground}"


def _outlines(changed: Mapping[int, list[int]]) -> tuple[Outline, ...]:
    """Neighbouring cells of a line are one; the same stretch in the next line joins it."""
    done: list[Outline] = []
    open_: dict[tuple[int, int], Outline] = {}
    for row in sorted(changed):
        here: dict[tuple[int, int], Outline] = {}
        for start, width in _stretches(changed[row]):
            above = open_.get((start, width))
            if above and above.line + above.height == row:
                here[start, width] = above._replace(height=above.height + 1)
                del open_[start, width]
            else:
                here[start, width] = Outline(start, row, width, 1)
        done.extend(open_.values())
        open_ = here
    return tuple(sorted([*done, *open_.values()], key=lambda outline: (outline.line, outline.column)))


def _stretches(columns: list[int]) -> list[tuple[int, int]]:
    stretches: list[tuple[int, int]] = []
    for column in columns:
        if stretches and sum(stretches[-1]) == column:
            stretches[-1] = (stretches[-1][0], stretches[-1][1] + 1)
        else:
            stretches.append((column, 1))
    return stretches


_FILLED = re.compile(r"([─━═▔▁_=·.\-|│ ])\1{2,}")
_BARS = re.compile(r"[\s▁▂▃▄▅▆▇█▔▐╸╺╴╶◆]+$")
"""What a scrollbar draws at the end of a row: how far one has read is no change of the row's words."""
_PANES = re.compile(r"(?<=\S)\s+│(?:\s|$)")


def _read(line: Line) -> str:
    """As one reads it: rules and gaps have no length."""
    text = words_of(line).strip()
    return _FILLED.sub(r"\1\1", _BARS.sub("", text) if columns_of(text) > 1 else text)


def _texts(drawing: Drawing) -> list[str]:
    """What is written, row by row, and each pane of a row for itself: one may scroll without the other."""
    rows = (_read(line) for line in drawing.lines)
    return [text for row in rows for part in _PANES.split(row) if (text := part.strip())]


def _changed_words(before: Drawing, after: Drawing) -> tuple[Words, ...]:
    """In pairs, where a row replaced another. What is elsewhere now has only moved."""
    old, new = _texts(before), _texts(after)
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    blocks = [(old[a:b], new[c:d]) for kind, a, b, c, d in matcher.get_opcodes() if kind != "equal"]
    removed = Counter(text for block, _ in blocks for text in block)
    added = Counter(text for _, block in blocks for text in block)
    moved = removed & added
    old_moved, new_moved = Counter(moved), Counter(moved)
    found: list[Words] = []
    for old_block, new_block in blocks:
        found += _pairs(_without(old_block, old_moved), _without(new_block, new_moved))
    return tuple(found)


def _without(texts: list[str], moved: Counter[str]) -> list[str]:
    left: list[str] = []
    for text in texts:
        if moved[text] > 0:
            moved[text] -= 1
        else:
            left.append(text)
    return left


_MIN_LIKENESS = 0.4
_MAX_PAIRED = 60


def _pairs(old: list[str], new: list[str]) -> list[Words]:
    """Rows that are most like each other, in order; between two such, as they stand."""
    found: list[Words] = []
    a = c = 0
    for one, other in [*_likest(old, new), (len(old), len(new))]:
        found += starmap(Words, zip_longest(old[a:one], new[c:other], fillvalue=""))
        if one < len(old):
            found.append(Words(old[one], new[other]))
        a, c = one + 1, other + 1
    return found


def _likest(old: list[str], new: list[str]) -> list[tuple[int, int]]:
    """The pairs, both sides in order, that have most words in common."""
    if not old or not new or max(len(old), len(new)) > _MAX_PAIRED:
        return []
    old_words, new_words = [set(text.split()) for text in old], [set(text.split()) for text in new]
    best: list[list[float]] = [[0.0] * (len(new) + 1) for _ in range(len(old) + 1)]
    for one in range(len(old) - 1, -1, -1):
        for other in range(len(new) - 1, -1, -1):
            here = _shared(old_words[one], new_words[other])
            together = here + best[one + 1][other + 1] if here >= _MIN_LIKENESS else 0.0
            best[one][other] = max(together, best[one + 1][other], best[one][other + 1])
    found: list[tuple[int, int]] = []
    one = other = 0
    while one < len(old) and other < len(new):
        if best[one][other] == best[one + 1][other]:
            one += 1
        elif best[one][other] == best[one][other + 1]:
            other += 1
        else:
            found.append((one, other))
            one, other = one + 1, other + 1
    return found


def _shared(one: set[str], other: set[str]) -> float:
    return len(one & other) / max(len(one | other), 1)
