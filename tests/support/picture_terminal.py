"""A terminal that shows images: kitty's protocol with placeholder cells and with placements,
iTerm2's files, sixels.

It stores images, follows sequences that move, cover and erase, and records faults that would
confuse a real terminal. Images drawn over cells belong to these cells, as in iTerm2 and foot:
writing over them removes them. kitty's placements stay until they are deleted."""

import base64
import io
import re
from collections.abc import Callable
from typing import NamedTuple

from PIL import Image

from widgets.emulator.emulator import TerminalEmulator
from widgets.graphics.kitty import _KITTY_ROW_COLUMN_DIACRITICS, KITTY_PLACEHOLDER_CHARACTER

WIDTH, HEIGHT = 10, 20
"""The size of a cell in pixels."""
_PLACEHOLDER = "\ue0ee"
_OVER = 0xF0000
"""The first of the characters that mark cells with an image drawn over them."""
_GRAPHIC = re.compile(
    rb"\x1b_G(?P<kitty>[^\x1b]*)\x1b\\"
    rb"|\x1b\]1337;(?P<iterm>[^\x07\x1b]*)(?:\x07|\x1b\\)"
    rb"|\x1bP(?P<how>[\d;]*)q(?P<sixel>[^\x1b]*)\x1b\\"
    rb"|\x1b\[(?P<name>>0?q)|\x1b\[(?P<attributes>0?c)|\x1b\[(?P<cell>16t)"
)
_UNFINISHED = re.compile(
    rb"(?:\xf4(?:\x8e\xbb?)?|\x1b(?:_[^\x1b]*\x1b?|\]1337[^\x07\x1b]*\x1b?|P[^\x1b]*\x1b?|\[(?:>0?|0|16?)?)?)\Z"
)


class Speaks(NamedTuple):
    """The protocols that the terminal supports and reports."""

    name: str = "xterm(390)"
    kitty: bool = False
    iterm: bool = False
    sixel: bool = False
    answers: bool = True
    """Whether it answers queries about images; it always answers the query for its attributes."""


KITTY = Speaks(name="kitty(0.35.2)", kitty=True)
PLACING = Speaks(name="Konsole 24.12", kitty=True)
ITERM = Speaks(name="iTerm2 3.5.10", iterm=True)
SIXEL = Speaks(name="foot(1.19)", sixel=True)
PLAIN = Speaks()


class Seen(NamedTuple):
    """A visible picture: its first cell and its size in cells."""

    x: int
    y: int
    columns: int
    rows: int
    pixels: tuple[int, int]


class PictureTerminal(TerminalEmulator):
    def __init__(
        self, columns: int, lines: int, *, reply: Callable[[bytes], None], speaks: Speaks = KITTY
    ) -> None:
        super().__init__(columns, lines, reply=reply)
        self.speaks = speaks
        self.answer = reply
        self.held: dict[int, Image.Image] = {}
        """kitty's images by their ids."""
        self.boxes: dict[int, tuple[int, int]] = {}
        """The size in cells of images shown by placeholder cells."""
        self.placed: dict[tuple[int, int], Seen] = {}
        self.sent: list[int] = []
        """The ids of all images that were sent."""
        self.drawn: list[Seen] = []
        """All images that were drawn over cells."""
        self.faults: list[str] = []
        self._over: dict[str, tuple[int, int, int]] = {}
        self._parts: list[bytes] = []
        self._head: dict[str, str] = {}
        self._rest = b""

    def feed(self, data: bytes) -> None:
        data = self._rest + data
        unfinished = _UNFINISHED.search(data)
        cut = unfinished.start() if unfinished else len(data)
        data, self._rest = data[:cut], data[cut:]
        at = 0
        for found in _GRAPHIC.finditer(data):
            self._feed_text(data[at : found.start()])
            at = found.end()
            self._take_graphic(found)
        self._feed_text(data[at:])

    def _feed_text(self, data: bytes) -> None:
        if b"\x1b[?1049l" in data:
            self.placed = {key: seen for key, seen in self.placed.items() if not self.is_full_screen}
        super().feed(data.replace(KITTY_PLACEHOLDER_CHARACTER.encode(), _PLACEHOLDER.encode()))

    def _take_graphic(self, found: "re.Match[bytes]") -> None:
        match found.lastgroup:
            case "kitty":
                if self.speaks.kitty:
                    self._kitty(found["kitty"].decode())
            case "iterm":
                if self.speaks.iterm:
                    self._iterm(found["iterm"].decode())
            case "sixel":
                if self.speaks.sixel:
                    self._sixel(found["sixel"].decode())
            case "name":
                self._say(f"\x1bP>|{self.speaks.name}\x1b\\")
            case "attributes":
                self.answer(b"\x1b[?62;4;22c" if self.speaks.sixel else b"\x1b[?62;22c")
            case _:
                self._say(f"\x1b[6;{HEIGHT};{WIDTH}t")

    def _say(self, answer: str) -> None:
        if self.speaks.answers:
            self.answer(answer.encode())

    # -- kitty ---------------------------------------------------------------------------------------------

    def _kitty(self, text: str) -> None:
        keys, _, payload = text.partition(";")
        said = dict(part.split("=", 1) for part in keys.split(","))
        if len(payload) > 4096 or (said.get("m") == "1" and len(payload) % 4):
            self.faults.append(f"a part of {len(payload)} characters")
        if self._parts:
            if said.keys() - {"m", "q"}:
                self.faults.append(f"{keys} in the midst of an image")
            said = {**self._head, "m": said.get("m", "0")}
        match said.get("a", "t"):
            case "q":
                self._say(f"\x1b_Gi={said['i']};OK\x1b\\")
            case "t" | "T":
                self._parts.append(payload.encode())
                self._head = said
                if said.get("m") != "1":
                    self._complete(said)
            case "p":
                number, place = int(said["i"]), int(said["p"])
                if number not in self.held:
                    self.faults.append(f"placed {number}, which is not there")
                else:
                    x, y = self.cursor
                    size = self.held[number].size
                    self.placed[number, place] = Seen(x, y, int(said["c"]), int(said["r"]), size)
                if said.get("C") != "1":
                    self.faults.append("the cursor was moved by an image")
            case "d":
                self._delete(said)
            case action:
                self.faults.append(f"a={action}")

    def _complete(self, said: dict[str, str]) -> None:
        data, self._parts = base64.b64decode(b"".join(self._parts), validate=True), []
        number = int(said["i"])
        self.held[number] = _opened(data)
        self.sent.append(number)
        if said.get("q", "0") == "0":
            self._say(f"\x1b_Gi={number};OK\x1b\\")
        if said.get("U") == "1":
            self.boxes[number] = int(said["c"]), int(said["r"])
        elif said["a"] == "T":
            self.faults.append("drawn where the cursor happened to be")

    def _delete(self, said: dict[str, str]) -> None:
        match said["d"]:
            case "I":
                gone = {int(said["i"])}
            case "R":
                gone = set(range(int(said["x"]), int(said["y"]) + 1)) & self.held.keys()
            case "i":
                self.placed.pop((int(said["i"]), int(said["p"])), None)
                return
            case how:
                self.faults.append(f"d={how}")
                return
        for number in gone:
            self.held.pop(number, None)
            self.boxes.pop(number, None)
        self.placed = {key: seen for key, seen in self.placed.items() if key[0] not in gone}

    def _by_cells(self) -> list[Seen]:
        found: dict[tuple[int, int, int], set[tuple[int, int]]] = {}
        for y, row in enumerate(self._grid.rows):
            for x, (cell, style) in enumerate(zip(row.chars, row.styles, strict=True)):
                if not cell.startswith(_PLACEHOLDER):
                    continue
                if len(cell) < 4:
                    continue  # the rest has not arrived yet
                line, column, family = (_KITTY_ROW_COLUMN_DIACRITICS.index(mark) for mark in cell[1:])
                colour = style.color.number if style is not None and style.color is not None else None
                number = family << 24 | (colour or 0)
                if number in self.boxes:
                    found.setdefault((number, x - column, y - line), set()).add((column, line))
                else:
                    self.faults.append(f"a cell of image {number}, which is not there")
        whole: list[Seen] = []
        for (number, x, y), cells in found.items():
            columns, rows = self.boxes[number]
            visible = {(column, line) for column, line in cells if column < columns and line < rows}
            if len(visible) == columns * rows:
                whole.append(Seen(x, y, columns, rows, self.held[number].size))
        return whole

    # -- over cells ----------------------------------------------------------------------------------------

    def _iterm(self, text: str) -> None:
        name, _, data = text.partition(":")
        if name == "ReportCellSize":
            self._say(f"\x1b]1337;ReportCellSize={HEIGHT}.0;{WIDTH}.0;1.0\x1b\\")
            return
        said = dict(part.split("=", 1) for part in name.removeprefix("File=").split(";"))
        content = base64.b64decode(data, validate=True)
        if said.get("inline") != "1" or int(said["size"]) != len(content):
            self.faults.append(f"a file with {said}")
        self._draw_over(int(said["width"]), int(said["height"]), _opened(content).size)

    def _sixel(self, text: str) -> None:
        width, height = sixel_size(text)
        self._draw_over(-(-width // WIDTH), -(-height // HEIGHT), (width, height))

    def _draw_over(self, columns: int, rows: int, pixels: tuple[int, int]) -> None:
        x, y = self.cursor
        if y + rows >= self._grid.line_count or x + columns > self._grid.column_count:
            self.faults.append("an image that scrolls the screen")
            return
        number = len(self.drawn)
        self.drawn.append(Seen(x, y, columns, rows, pixels))
        for line in range(rows):
            for column in range(columns):
                char = chr(_OVER + len(self._over))
                self._over[char] = (number, column, line)
                self._grid.rows[y + line].chars[x + column] = char

    def _over_cells(self) -> list[Seen]:
        found: dict[tuple[int, int, int], int] = {}
        for y, row in enumerate(self._grid.rows):
            for x, cell in enumerate(row.chars):
                if cell in self._over:
                    number, column, line = self._over[cell]
                    key = number, x - column, y - line
                    found[key] = found.get(key, 0) + 1
        return [
            Seen(x, y, drawn.columns, drawn.rows, drawn.pixels)
            for (number, x, y), count in found.items()
            if count == (drawn := self.drawn[number]).columns * drawn.rows
        ]

    # -- for those who look --------------------------------------------------------------------------------

    @property
    def pictures(self) -> list[Seen]:
        """Returns the pictures that are completely visible."""
        with self._lock:
            return sorted([*self._by_cells(), *self._over_cells(), *self.placed.values()])

    @property
    def scraps(self) -> int:
        """Returns the number of cells that show a part of an image."""
        with self._lock:
            return sum(
                cell in self._over or cell.startswith(_PLACEHOLDER)
                for row in self._grid.rows
                for cell in row.chars
            ) + len(self.placed)

    @property
    def left_behind(self) -> list[str]:
        """Returns what a program left after its end: images, placements, cells and faults."""
        found = [f"holds {number}" for number in self.held] + [
            f"shows {seen}" for seen in self.placed.values()
        ]
        return found + ([f"{self.scraps} cells"] if self.scraps else []) + self.faults


def _opened(data: bytes) -> Image.Image:
    image = Image.open(io.BytesIO(data), formats=["PNG"])
    image.load()
    return image


def sixel_size(text: str) -> tuple[int, int]:
    """Returns the size of a sixel image as decoded; it must equal the size in its header."""
    head = re.match(r'"1;1;(\d+);(\d+)', text)
    assert head is not None
    width, height = int(head[1]), int(head[2])
    x = y = 0
    colours: set[str] = set()
    for part in re.findall(r"#\d+;2;\d+;\d+;\d+|#\d+|!\d+[?-~]|[?-~]|[$-]", text[head.end() :]):
        if part[0] == "#":
            colour, *mixed = part[1:].split(";")
            assert mixed or colour in colours, f"colour {colour} was not mixed"
            assert all(int(share) <= 100 for share in mixed[1:])
            colours.add(colour)
        elif part == "$":
            x = 0
        elif part == "-":
            x, y = 0, y + 6
        else:
            x += int(part[1:-1]) if part[0] == "!" else 1
            bits = ord(part[-1]) - 63
            assert x <= width and y + bits.bit_length() <= height, "beyond its own size"
    left = re.sub(r"#\d+;2;\d+;\d+;\d+|#\d+|!\d+[?-~]|[?-~]|[$-]", "", text[head.end() :])
    assert not left, f"no sixel: {left[:40]!r}"
    return width, height
