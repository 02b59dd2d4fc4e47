"""What is different between two drawings: which cells, which words, which colours; and which pictures changed alike."""

import difflib
import re
from collections.abc import Mapping
from typing import NamedTuple

from tests.review.drawing import Cell, Drawing, Line, cells_of, words_of


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


class Difference(NamedTuple):
    cells: int
    outlines: tuple[Outline, ...]
    words: tuple[Words, ...]
    recoloured: tuple[Recolouring, ...]
    moved: tuple[str, ...] = ()
    """Lines with the same words, and more or less between or before them; lines that stand higher or lower."""

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


def _moved(before: Drawing, after: Drawing) -> tuple[str, ...]:
    """Those whose words are in both drawings, not in the same places."""
    places: tuple[dict[str, set[tuple[int, str]]], ...] = ({}, {})
    for drawing, found in zip((before, after), places, strict=True):
        for row, line in enumerate(drawing.lines):
            if text := _read(line):
                found.setdefault(text, set()).add((row, words_of(line)))
    old, new = places
    return tuple(text for text in new if text in old and old[text] != new[text])


def likeness(difference: Difference) -> object:
    """Equal for pictures that changed alike, in any size and theme."""
    words = frozenset(_core(words) for words in difference.words)
    if words:
        return words
    return difference.moved, frozenset((change.before, change.after) for change in difference.recoloured)


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


def _read(line: Line) -> str:
    """As one reads it: rules and gaps have no length."""
    return _FILLED.sub(r"\1\1", words_of(line).strip())


def _changed_words(before: Drawing, after: Drawing) -> tuple[Words, ...]:
    old = [text for line in before.lines if (text := _read(line))]
    new = [text for line in after.lines if (text := _read(line))]
    found: list[Words] = []
    for kind, a, b, c, d in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "equal":
            continue
        for number in range(max(b - a, d - c)):
            here = Words(old[a + number] if a + number < b else "", new[c + number] if c + number < d else "")
            found.append(here)
    return tuple(found)


def _core(words: Words) -> Words:
    """Without what the two have in common at both ends: the rest of a line depends on its width."""
    old, new = words.before.split(), words.after.split()
    while old and new and old[0] == new[0]:
        del old[0], new[0]
    while old and new and old[-1] == new[-1]:
        del old[-1], new[-1]
    return Words(" ".join(old), " ".join(new))
