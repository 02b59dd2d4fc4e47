"""Images as thumbnails made of half blocks: two pixels for each cell, in the terminal's own colours.

Sizes come from the header at once, so that heights are right; pixels are made in a thread and come when they are
ready. Where there are to be no colours, and for what cannot be read, the label alone stands for the image.
"""

import base64
import io
import os
from collections import OrderedDict

from tools import amounts
from tools.results import ImageBlock
from widgets.editor.images import HEADER, image_bytes
from widgets.transcript.leaf import Leaf, Piece
from widgets.transcript.text import clean

MOST_COLUMNS = 48
MOST_ROWS = 12
MOST_DATA = 24_000_000
"""Characters of base64 that are looked into."""
MOST_PIXELS = 40_000_000
_KEPT = 24
_FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP")

Pixels = tuple[tuple[str, ...], ...]
"""Rows of colours, `#rrggbb`; empty where the image lets the page through."""


def label(image: ImageBlock) -> str:
    width, height = size_of(image)
    size = f" {width}×{height}" if width and height else ""
    return f"[image {clean(image.mime_type)}{size}, {amounts.size(image.byte_count)}]"


def size_of(image: ImageBlock) -> tuple[int, int]:
    """Pixels across and down; zeros when the image does not say."""
    if image.width and image.height:
        return image.width, image.height
    head = image.data[: HEADER // 3 * 4]
    try:
        found = image_bytes(base64.b64decode(head[: len(head) // 4 * 4]), "")
    except ValueError:
        return 0, 0
    return (found.width, found.height) if found is not None else (0, 0)


def cells_of(width: int, height: int, room: int) -> tuple[int, int]:
    """Columns and rows of a thumbnail: its shape kept, never larger than the image, never more than is allowed."""
    columns = min(room, MOST_COLUMNS, width)
    rows = -(-columns * height // (2 * width))
    if rows > MOST_ROWS:
        rows = MOST_ROWS
        columns = max(1, min(columns, 2 * rows * width // height))
    return columns, max(1, rows)


def is_wanted() -> bool:
    return "NO_COLOR" not in os.environ


class PictureLeaf(Leaf):
    """The label, and the thumbnail below it. Its own text is the label."""

    __slots__ = ("_cells", "_image", "_size", "has_failed", "pixels")

    def __init__(self, image: ImageBlock, *, key: str = "hint", fill: str = "") -> None:
        super().__init__(label(image), key=key, fill=fill)
        self.pixels: Pixels | None = None
        self.has_failed = False
        self._image = image
        self._size = size_of(image) if is_wanted() and 0 < len(image.data) <= MOST_DATA else (0, 0)
        self._cells = (0, 0)

    def _lay_out(self, width: int) -> list[tuple[int, int]]:
        rows = super()._lay_out(width)
        if 0 in self._size or self.has_failed or width < 12:
            self._cells = (0, 0)
            return rows
        cells = cells_of(*self._size, self._room(width))
        if cells != self._cells:
            self._cells = cells
            self.pixels = _made.get((hash(self._image.data), *cells))
        end = len(self.plain)
        return rows + [(end, end)] * cells[1]

    @property
    def is_waiting(self) -> bool:
        """Whether it has a place for pixels and none of them."""
        return self.pixels is None and self._cells[1] > 0

    def make(self) -> Pixels | None:
        """The pixels; none if the image cannot be read. Takes its time: call it in a thread."""
        return thumbnail(self._image.data, *self._cells)

    def take(self, pixels: Pixels | None) -> None:
        """What was made is shown from now on; without pixels the place for them goes at the next layout."""
        if pixels is None:
            self.has_failed = True
            self.relayout()
        else:
            self.pixels = pixels
            self.strips = {}

    def pieces(self, row: int) -> list[Piece]:
        first = len(self._rows) - self._cells[1]
        if row < first:
            return super().pieces(row)
        prefix = self._prefix(row, self._width)
        out = [Piece(prefix, self.prefix_key)] if prefix else []
        if self.pixels is None:
            return out
        upper, lower = self.pixels[2 * (row - first)], self.pixels[2 * (row - first) + 1]
        return [*out, *(_half_blocks(pair) for pair in zip(upper, lower, strict=True))]


def _half_blocks(pair: tuple[str, str]) -> Piece:
    upper, lower = pair
    if upper:
        return Piece("▀", f"{upper}{lower}")
    return Piece("▄", lower) if lower else Piece(" ", "text")


_made: OrderedDict[tuple[int, int, int], Pixels] = OrderedDict()
"""Thumbnails that were made last, so that one which comes back into view is there at once."""


def thumbnail(data: str, columns: int, rows: int) -> Pixels | None:
    key = (hash(data), columns, rows)
    if key not in _made:
        pixels = _read(data, columns, rows)
        if pixels is None:
            return None
        _made[key] = pixels
        while len(_made) > _KEPT:
            _made.popitem(last=False)
    return _made[key]


def _read(data: str, columns: int, rows: int) -> Pixels | None:
    try:
        from PIL import Image  # noqa: PLC0415 - at the first image, and it may be missing

        with Image.open(io.BytesIO(base64.b64decode(data)), formats=_FORMATS) as image:
            if image.width * image.height > MOST_PIXELS:
                return None
            image.draft("RGB", (4 * columns, 8 * rows))
            small = image.convert("RGBA").resize((columns, 2 * rows), Image.Resampling.BOX)
            values = small.tobytes()
    except Exception:  # noqa: BLE001 - a foreign reader meets foreign bytes: whatever it trips over, the label stays
        return None
    return tuple(
        tuple(_color(values[4 * at : 4 * at + 4]) for at in range(row * columns, (row + 1) * columns))
        for row in range(2 * rows)
    )


def _color(pixel: bytes) -> str:
    return f"#{pixel[0]:02x}{pixel[1]:02x}{pixel[2]:02x}" if pixel[3] >= 128 else ""
