"""A picture of a terminal as cells: what stands in which column of which line, in which ink, on which ground.

Reads the SVG that Rich and Textual write, whichever version: they draw on a grid of cells of one size. What is no such
picture, or stops in the middle, says so (`is_whole`) and gives the cells that it has.
"""

import functools
import html
import re
import unicodedata
from collections.abc import Iterable
from typing import NamedTuple

CELL_WIDTH = 12.2
CELL_HEIGHT = 24.4


class Ink(NamedTuple):
    """How something is written."""

    colour: str = ""
    marks: str = ""
    """Of `b`old, `i`talic, `u`nderlined, `s`truck out."""


class Piece(NamedTuple):
    column: int
    text: str
    ink: Ink


class WorkingFolder(NamedTuple):
    column: int
    width: int
    colour: str


class Cell(NamedTuple):
    text: str
    """Empty for the second half of a wide character."""
    ink: Ink
    ground: str


class Line(NamedTuple):
    pieces: tuple[Piece, ...] = ()
    grounds: tuple[WorkingFolder, ...] = ()


class Drawing(NamedTuple):
    columns: int
    height: int
    lines: tuple[Line, ...]
    is_whole: bool

    def line(self, number: int) -> Line:
        return self.lines[number] if number < len(self.lines) else Line()


NOTHING = Drawing(0, 0, (), is_whole=True)
"""The picture that is not there."""

_TEXT = re.compile(r'<text class="terminal-(?:\d+-)?(r\d+)" x="([\d.]+)" y="([\d.]+)"[^>]*>([^<]*)</text>')
_GROUND = re.compile(r'<rect fill="([^"]+)" x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="24\.65"')
_STYLE = re.compile(r"\.terminal-(?:\d+-)?(r\d+) \{([^}]*)\}")
_EXTENT = re.compile(
    r'<clipPath id="[^"]*clip-terminal">\s*<rect x="0" y="0" width="([\d.]+)" height="([\d.]+)"'
)
_COLOUR = re.compile(r"fill:\s*(#[0-9a-fA-F]{3,8}|[a-z]+)")
_MARKS = {"b": "font-weight: bold", "i": "font-style: italic", "u": "underline", "s": "line-through"}
_FIRST_BASELINE = 20.0
_FIRST_GROUND = 1.5
MAX_COLUMNS = 2000
MOST_LINES = 2000


def read_drawing(svg: str) -> Drawing:
    inks = {name: _ink(style) for name, style in _STYLE.findall(svg)}
    pieces: dict[int, list[Piece]] = {}
    grounds: dict[int, list[WorkingFolder]] = {}
    for name, x, y, text in _TEXT.findall(svg):
        row = round((float(y) - _FIRST_BASELINE) / CELL_HEIGHT)
        written = html.unescape(text).replace("\N{NO-BREAK SPACE}", " ").strip("\n")
        if written and 0 <= row < MOST_LINES:
            column = round(float(x) / CELL_WIDTH)
            pieces.setdefault(row, []).append(Piece(column, written, inks.get(name, Ink())))
    for colour, x, y, width in _GROUND.findall(svg):
        row = round((float(y) - _FIRST_GROUND) / CELL_HEIGHT)
        cells = round(float(width) / CELL_WIDTH)
        if 0 <= row < MOST_LINES and 0 < cells <= MAX_COLUMNS:
            grounds.setdefault(row, []).append(WorkingFolder(round(float(x) / CELL_WIDTH), cells, colour))
    extent = _EXTENT.search(svg)
    height = max([*pieces, *grounds, -1]) + 1
    columns = 0
    if extent:
        columns = round((float(extent[1]) + 1) / CELL_WIDTH)
        height = max(height, min(round((float(extent[2]) + 1) / CELL_HEIGHT), MOST_LINES))
    lines = tuple(Line(_joined(pieces.get(row, ())), _merged(grounds.get(row, ()))) for row in range(height))
    return Drawing(columns, height, lines, is_whole=extent is not None and svg.rstrip().endswith("</svg>"))


_UNWRITTEN = Ink()
_cell = functools.cache(Cell)
"""There are millions of cells and few that are unlike."""


def cells_of(line: Line, columns: int) -> list[Cell]:
    """As many as there are columns."""
    cells = [_cell(" ", _UNWRITTEN, "")] * columns
    for ground in line.grounds:
        first, last = min(ground.column, columns), min(ground.column + ground.width, columns)
        cells[first:last] = [_cell(" ", _UNWRITTEN, ground.colour)] * (last - first)
    for piece in line.pieces:
        column, is_ascii = piece.column, piece.text.isascii()
        blank = piece.ink if "u" in piece.ink.marks else _UNWRITTEN
        for character in piece.text:
            width = 1 if is_ascii else width_of(character)
            if width == 0 and 0 < column <= columns:
                before = cells[column - 1]
                cells[column - 1] = before._replace(text=before.text + character)
                continue
            if column >= columns:
                break
            cells[column] = _cell(character, blank if character == " " else piece.ink, cells[column].ground)
            if width == 2 and column + 1 < columns:
                cells[column + 1] = _cell("", piece.ink, cells[column + 1].ground)
            column += width
    return cells


def words_of(line: Line) -> str:
    """What one reads."""
    text: list[str] = []
    at = 0
    for piece in sorted(line.pieces):
        text.append(" " * (piece.column - at) + piece.text)
        at = max(at, piece.column) + columns_of(piece.text)
    return "".join(text).rstrip()


def columns_of(text: str) -> int:
    return len(text) if text.isascii() else sum(map(width_of, text))


@functools.cache
def width_of(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _ink(style: str) -> Ink:
    colour = _COLOUR.search(style)
    marks = "".join(mark for mark, words in _MARKS.items() if words in style)
    return Ink(colour[1].lower() if colour else "", marks)


def _joined(pieces: Iterable[Piece]) -> tuple[Piece, ...]:
    """Without blanks that draw nothing, and neighbours of one ink as one: how a text was cut up is not seen."""
    joined: list[Piece] = []
    for piece in sorted(pieces):
        if not piece.text.strip() and "u" not in piece.ink.marks:
            continue
        before = joined[-1] if joined else None
        if before and before.ink == piece.ink and before.column + columns_of(before.text) == piece.column:
            joined[-1] = before._replace(text=before.text + piece.text)
        else:
            joined.append(piece)
    return tuple(joined)


def _merged(grounds: Iterable[WorkingFolder]) -> tuple[WorkingFolder, ...]:
    merged: list[WorkingFolder] = []
    for ground in sorted(grounds):
        before = merged[-1] if merged else None
        if before and before.colour == ground.colour and before.column + before.width == ground.column:
            merged[-1] = before._replace(width=before.width + ground.width)
        else:
            merged.append(ground)
    return tuple(merged)
