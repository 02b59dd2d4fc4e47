"""An image as it can be shown now, for those who show it and for the terminal that may hold it."""

from typing import Literal

import msgspec

ImageProtocol = Literal["kitty", "placements", "iterm2", "sixel", "blocks"]
"""`kitty`: by cells that stand for an image; `placements`: the same protocol where there are no such cells."""
Pixels = tuple[tuple[str, ...], ...]
"""Rows of colours, `#rrggbb`, two of them for a row of cells; empty where the image lets the page through."""
MAX_DATA_CHARS = 24_000_000
"""Characters of base64 that are looked into."""
TOO_LARGE = "too large to be shown"


class DrawnImage(msgspec.Struct, eq=False):
    """Half blocks, and above them or in their place what the terminal draws."""

    pixels: Pixels
    key: tuple[object, ...]
    columns: int
    rows: int
    memory: int = 0
    token: int = 0
    """By which its cells are found on the screen, so that it is drawn over them; 0: it is not."""
    number: int = 0
    """kitty's, of what it holds."""
    colour: int = 0
    """Of the cells that stand for it."""
    has_cells: bool = False
    sequence: str = ""
    """Draws it at the cursor, where it is sent each time."""
    is_refused: bool = False
    """The terminal could not show it: the half blocks do."""
    is_stale: bool = False
    """The terminal does not hold it any more: it has to be asked for again."""

    @property
    def is_over_cells(self) -> bool:
        return bool(self.token) and not (self.is_refused or self.is_stale)
