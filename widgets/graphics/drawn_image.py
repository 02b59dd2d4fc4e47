"""The data of an image that is ready to be shown, shared by the widgets that draw it and the terminal that may store
it."""

from typing import Literal

import msgspec

ImageProtocol = Literal["kitty", "placements", "iterm2", "sixel", "blocks"]
"""How images are drawn. `kitty`: with placeholder cells; `placements`: the same protocol without
such cells."""
PixelRows = tuple[tuple[str, ...], ...]
"""Rows of colours (`#rrggbb`), two for each row of cells; empty where the image is transparent."""
MAX_IMAGE_BASE64_CHARS = 24_000_000
"""The maximum length of base64 data that is decoded."""
IMAGE_TOO_LARGE_TEXT = "too large to show"


class DisplayableImage(msgspec.Struct, eq=False):
    """An image ready to be shown at one size: as half blocks, and how the terminal draws or stores it in its image
    protocol."""

    pixels: PixelRows
    cache_key: tuple[object, ...]
    columns: int
    rows: int
    terminal_memory: int = 0
    overlay_token: int = 0
    """Identifies the image's cells on the screen, so that it is drawn over them; 0 if it is not drawn over cells."""
    kitty_id: int = 0
    """The image's id in kitty's protocol."""
    placeholder_colour: int = 0
    """The colour of the image's placeholder cells."""
    has_placeholders: bool = False
    drawing_sequence: str = ""
    """The sequence that draws the image at the cursor; sent each time."""
    is_refused: bool = False
    """The terminal could not show the image; half blocks are shown."""
    is_stale: bool = False
    """The terminal no longer stores the image; it must be obtained again."""

    @property
    def is_drawn_over_cells(self) -> bool:
        return bool(self.overlay_token) and not (self.is_refused or self.is_stale)
