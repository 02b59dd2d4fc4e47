"""The rules of `docs/look.md`, asked of the cells of every stored picture. Nothing is run or rendered."""

import functools
import itertools
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from typing import NamedTuple

import pytest

from tests.review.drawing import Cell, Drawing, cells_of, read_drawing, width_of, words_of
from tests.support.font_glyphs import GLYPHS
from tests.support.snapshots import SNAPSHOTS
from widgets.colors import contrast_ratio
from widgets.terminal.terminal_driver import FALLBACK_SYMBOL_BY_SYMBOL

PICTURES = sorted(SNAPSHOTS.rglob("*.svg"))
OWN_TERMINAL = "a program's own screen"
NOT_BAYOUS = {"*test_a_program_that_needs_a_person*": OWN_TERMINAL}
"""Pictures in which not every cell is bayou's, and whose it is."""
STAND_INS = {"widgets/test_snapshots/*": "scenes of widgets, with a word where the transcript stands"}
JOINED_EMOJI = {"*test_scene[[]editing-*": "a joined emoji is two cells in a terminal and more in a picture"}
THE_TERMINALS_COLOURS = {"*[[]ansi]*": "the palette of the person's terminal"}
MODEL_TEXT = {
    "*test_a_long_conversation*": "the same",
    "*test_blocks*": "scenes of what models and programs wrote",
    "*test_streaming*": "the same",
    "*test_a_map_beside_a_large_read*": "a map as the model reads it",
}
TYPED = {
    "*[[]editing-*": "what a person typed",
    "*test_new_things_below*": "a scene of what models wrote",
    "*transcript/test_snapshots/test_search*": "the same",
}


class Found(NamedTuple):
    """A place where a rule does not hold."""

    picture: str
    line: int
    what: str

    def __str__(self) -> str:
        return f"{self.picture}:{self.line + 1}: {self.what}"


class Picture(NamedTuple):
    name: str
    drawing: Drawing
    rows: tuple[list[Cell], ...]


@functools.cache
def pictures() -> tuple[Picture, ...]:
    return tuple(
        picture_of(path.relative_to(SNAPSHOTS).as_posix(), path.read_text("utf-8")) for path in PICTURES
    )


def picture_of(name: str, svg: str) -> Picture:
    drawing = read_drawing(svg)
    rows = tuple(cells_of(drawing.line(row), drawing.columns) for row in range(drawing.height))
    return Picture(name, drawing, rows)


def is_spared(name: str, exceptions: dict[str, str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in exceptions)


# -- the rules ---------------------------------------------------------------------------------------------


def is_bar(text: str) -> bool:
    return not text.strip() or all("\u2500" <= char <= "\u259f" or char in "╺╸╴╶◆" for char in text)


def last_column(picture: Picture) -> Iterator[Found]:
    """Nothing stands in the last column but bars and rules."""
    for number, row in enumerate(picture.rows):
        if row and not is_bar(row[-1].text or row[-2].text):
            yield Found(picture.name, number, f"{row[-1].text!r} stands in the last column")


def air(picture: Picture) -> Iterator[Found]:
    """No text touches the last column, where it would run into a scroll bar, or its ticks read as hyphens."""
    for number, row in enumerate(picture.rows):
        if len(row) > 3 and not is_bar(row[-2].text):
            words = words_of(picture.drawing.line(number)).rstrip()
            yield Found(picture.name, number, f"no column of air behind {words[-40:]!r}")


def grid(picture: Picture) -> Iterator[Found]:
    """Marks stand in column 0 and text begins in column 2: column 1 is blank."""
    for number, row in enumerate(picture.rows):
        if len(row) > 2 and not is_bar(row[1].text):
            yield Found(
                picture.name,
                number,
                f"column 1 is not blank: {words_of(picture.drawing.line(number))[:40]!r}",
            )


HALF_BLOCKS = set("▀▄█▌▐")
PICTURE_CELLS = HALF_BLOCKS | {" "}


def legible(picture: Picture) -> Iterator[Found]:
    """Words have a contrast of 4.5 to 1 to their ground, marks of 3 to 1."""
    for number in range(picture.drawing.height):
        line, row = picture.drawing.line(number), picture.rows[number]
        for piece in line.pieces:
            if piece.column >= len(row) or set(piece.text) <= PICTURE_CELLS:
                continue
            ground, ink = row[piece.column].ground, piece.ink.colour
            if not (ground.startswith("#") and ink.startswith("#")):
                continue
            least = 4.5 if any(map(str.isalnum, piece.text)) else 3.0
            if (ratio := contrast_ratio(ink, ground)) < least - 0.01:
                yield Found(picture.name, number, f"{ratio:.2f} for {ink} on {ground}: {piece.text[:30]!r}")


KEY_AS_NOWHERE_ELSE = re.compile(r"\b(?:Ctrl|Alt|Shift|Super)\+\S|\bEsc(?:ape)?\b|\bPg(?:Up|Dn)\b")
FIGURE_AS_NOWHERE_ELSE = re.compile(
    r"(?<![\w.:-])\d+(?:\.\d+)?(?:s|ms|min|KB|kB|MB)\b|(?<![\w.:-])\d+m \d+s\b|\b\d[\d.,]* (?:min|KB)\b|\b\d+\.0k\b"
)


def spelled(picture: Picture) -> Iterator[Found]:
    """Keys, times and sizes are written in one way."""
    for number in range(picture.drawing.height):
        words = words_of(picture.drawing.line(number))
        for rule in (KEY_AS_NOWHERE_ELSE, FIGURE_AS_NOWHERE_ELSE):
            if (found := rule.search(words)) is not None:
                yield Found(picture.name, number, f"{found[0]!r} in {words.strip()[:60]!r}")


@functools.cache
def page_grounds() -> frozenset[str]:
    """Of the page, in every theme."""
    return _named("background")


@functools.cache
def marking_grounds() -> frozenset[str]:
    """Of search hits, in every theme."""
    return _named("searchMatchBg")


def _named(token: str) -> frozenset[str]:
    themes = json.loads((SNAPSHOTS / "review.json").read_text("utf-8"))["themes"]
    return frozenset(colour for names in themes.values() for colour, name in names.items() if name == token)


def one_ground(picture: Picture) -> Iterator[Found]:
    """A word lies on one ground, but for what marks a part of it: a hit, a selection, the caret, changed words."""
    for number, row in enumerate(picture.rows):
        word: list[Cell] = []
        for cell in (*row, Cell(" ", row[0].ink if row else None, "")):  # type: ignore[arg-type]
            if cell.text.isalnum():
                word.append(cell)
                continue
            grounds = list(dict.fromkeys(one.ground for one in word))
            is_marked = any(one in marking_grounds() for one in grounds)
            # What else marks differs from its surroundings by more than raised grounds do.
            if len(grounds) == 2 and not is_marked and "" not in grounds and contrast_ratio(*grounds) < 1.4:
                text = "".join(one.text for one in word)
                yield Found(picture.name, number, f"{text!r} lies on {' and '.join(grounds)}")
            word = []


LEAST_GROUND = 1.19
"""To the page, of what is raised above it; in `docs/look.md` a hair more, for colours are whole numbers."""
A_STRETCH = 8
"""Cells of one ground, from which on it is no caret, no hit and no changed word."""


def grounds(picture: Picture) -> Iterator[Found]:
    """What lies on another ground than the page can be seen to."""
    counted = Counter(cell.ground for row in picture.rows for cell in row if cell.ground.startswith("#"))
    pages = {ground: count for ground, count in counted.items() if ground in page_grounds()}
    page = max(pages, key=pages.__getitem__, default="")
    if not page:  # a low terminal, all of which a sheet covers
        return
    for number, row in enumerate(picture.rows):
        for ground, cells in itertools.groupby(row, key=lambda cell: cell.ground):
            stretch = [cell.text for cell in cells]
            is_raised = ground.startswith("#") and ground != page and len(stretch) >= A_STRETCH
            if is_raised and HALF_BLOCKS.isdisjoint(stretch) and contrast_ratio(ground, page) < LEAST_GROUND:
                yield Found(
                    picture.name, number, f"{contrast_ratio(ground, page):.2f} for {ground} on {page}"
                )


PLACE_OF_A_RUN = re.compile(r"pytest-of-|popen-gw|/tmp/")


def placeless(picture: Picture) -> Iterator[Found]:
    """Nothing tells of the machine that made it: another one would make another picture."""
    for number in range(picture.drawing.height):
        words = words_of(picture.drawing.line(number))
        if PLACE_OF_A_RUN.search(words):
            yield Found(picture.name, number, words.strip()[:60])


OTHER_FONTS = frozenset(FALLBACK_SYMBOL_BY_SYMBOL)
"""Marks that one of the three fonts lacks, and that have a fallback."""
DRAWN_BY_TERMINALS = range(0x2500, 0x25A0)
"""Lines and blocks, which terminals draw without a font."""


def glyphs(picture: Picture) -> Iterator[Found]:
    """Marks are in JetBrains Mono, Fira Code and Liberation Mono, or are listed here."""
    for number, row in enumerate(picture.rows):
        strange = {
            mark
            for cell in row
            for mark in cell.text
            if mark not in GLYPHS and mark not in OTHER_FONTS and ord(mark) not in DRAWN_BY_TERMINALS
        }
        if strange:
            yield Found(picture.name, number, f"{' '.join(sorted(strange))} is not in every font")


RULES: dict[str, tuple[Callable[[Picture], Iterator[Found]], dict[str, str]]] = {
    "last column": (last_column, NOT_BAYOUS),
    "air": (air, {**NOT_BAYOUS, **JOINED_EMOJI}),
    "grid": (grid, {**NOT_BAYOUS, **STAND_INS}),
    "legible": (legible, {**NOT_BAYOUS, **THE_TERMINALS_COLOURS}),
    "spelled": (spelled, {**NOT_BAYOUS, **MODEL_TEXT}),
    "one ground": (one_ground, NOT_BAYOUS),
    "grounds": (grounds, NOT_BAYOUS),
    "placeless": (placeless, {}),
    "glyphs": (glyphs, {**NOT_BAYOUS, **MODEL_TEXT, **TYPED}),
}


@pytest.mark.parametrize("rule", RULES)
def test_all_pictures_hold(rule: str) -> None:
    ask, exceptions = RULES[rule]
    found = [
        str(one) for picture in pictures() if not is_spared(picture.name, exceptions) for one in ask(picture)
    ]
    assert not found, f"{len(found)} places:\n" + "\n".join(found[:40])


@pytest.mark.parametrize(
    "exceptions", [NOT_BAYOUS, STAND_INS, JOINED_EMOJI, THE_TERMINALS_COLOURS, MODEL_TEXT, TYPED]
)
def test_no_exception_is_left_of_a_picture_that_is_gone(exceptions: dict[str, str]) -> None:
    names = [path.relative_to(SNAPSHOTS).as_posix() for path in PICTURES]
    assert [pattern for pattern in exceptions if not any(fnmatchcase(name, pattern) for name in names)] == []


def test_each_mark_that_a_font_lacks_has_a_fallback_of_the_same_width() -> None:
    assert not OTHER_FONTS & GLYPHS
    assert [
        one
        for one in FALLBACK_SYMBOL_BY_SYMBOL.values()
        if one not in GLYPHS and ord(one) not in DRAWN_BY_TERMINALS
    ] == []
    assert {width_of(mark) for mark in (*FALLBACK_SYMBOL_BY_SYMBOL, *FALLBACK_SYMBOL_BY_SYMBOL.values())} == {
        1
    }


# -- that they see -----------------------------------------------------------------------------------------


def drawn(
    *lines: str, ink: str = "#d8dfda", ground: str = "#12181a", patch: tuple[int, int, str] | None = None
) -> Picture:
    """A picture of these lines; `patch`: columns of the first that lie on another ground."""
    width = max(map(len, lines))
    parts = [
        f'<clipPath id="t-clip-terminal"><rect x="0" y="0" width="{width * 12.2 - 1}" '
        f'height="{len(lines) * 24.4 - 1}" />'
        f"</clipPath><style>.terminal-r1 {{ fill: {ink} }}</style>"
    ]
    for row, line in enumerate(lines):
        spans = [(0, width, ground)]
        if patch is not None and row == 0:
            first, last, colour = patch
            spans = [(0, first, ground), (first, last - first, colour), (last, width - last, ground)]
        for at, size, colour in spans:
            parts.append(
                f'<rect fill="{colour}" x="{at * 12.2:g}" y="{1.5 + row * 24.4:g}" '
                f'width="{size * 12.2:g}" height="24.65"/>'
            )
        parts.append(f'<text class="terminal-r1" x="0" y="{20 + row * 24.4:g}">{line}</text>')
    return picture_of("made", f"<svg>{''.join(parts)}</svg>")


@pytest.mark.parametrize(
    ("rule", "faulty"),
    [
        ("last column", drawn("  a text to the very edge")),
        ("air", drawn("  two columns are missing ")),
        ("grid", drawn(" one column too early    ")),
        ("legible", drawn("  can hardly be read    ", ink="#3a4446")),
        ("spelled", drawn("  Escape stops it    ")),
        ("spelled", drawn("  Ctrl+K does    ")),
        ("spelled", drawn("  took 12s of it    ")),
        ("placeless", drawn("  /tmp/pytest-of-me/a.jsonl    ")),
        ("one ground", drawn("  class App    ", patch=(2, 5, "#20292a"))),
        ("glyphs", drawn("  a rocket 🚀 of none   ")),
        ("grounds", drawn("  cannot be told from the page", "", patch=(2, 12, "#171e20"))),
    ],
)
def test_a_fault_is_found(rule: str, faulty: Picture) -> None:
    assert list(RULES[rule][0](faulty))


def test_what_holds_all_rules_is_not_blamed() -> None:
    good = drawn("─ Title ────────", "› a row   12 s   ", "  esc stop      ")
    assert [one for ask, _ in RULES.values() for one in ask(good)] == []


def test_a_picture_of_five_hundred_columns_is_read() -> None:
    wide = drawn("  " + "w" * 496 + "  ", "─" * 500)
    assert wide.drawing.columns == 500 and len(wide.rows[0]) == 500
    assert list(last_column(wide)) == []
    assert [str(one) for one in last_column(drawn("  " + "w" * 498))] == [
        "made:1: 'w' stands in the last column"
    ]
