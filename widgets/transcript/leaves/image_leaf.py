"""Draws images in the transcript: in the terminal's image protocol, or as half blocks with two pixels per cell.

The size comes from the file's header at once, so heights are right; pixels are prepared in a thread. Without colours,
and for unreadable images, only the label is shown."""

import base64
import os

from tools import number_formatting
from tools.tool_result_values import ImageBlock
from widgets.editor.image_attachments import (
    MAX_IMAGE_HEADER_BYTES,
    has_exif_quarter_rotation,
    image_from_bytes,
)
from widgets.graphics import kitty
from widgets.graphics.drawn_image import IMAGE_TOO_LARGE_TEXT, MAX_IMAGE_BASE64_CHARS, DisplayableImage
from widgets.transcript.leaves.layout_leaf import LayoutLeaf, StyledPiece
from widgets.transcript.leaves.safe_text import clean

MAX_IMAGE_COLUMNS = 48
MAX_IMAGE_ROWS = 12


def image_label(image: ImageBlock, problem: str = "") -> str:
    width, height = image_pixel_size(image)
    size = f" {width}×{height}" if width and height else ""
    told = f", {problem}" if problem else ""
    return f"[image {clean(image.mime_type)}{size}, {number_formatting.format_byte_count(image.byte_count)}{told}]"


def image_pixel_size(image: ImageBlock) -> tuple[int, int]:
    """Returns an image's width and height in pixels, from its header; zeros if unknown."""
    if image.width and image.height:
        return image.width, image.height
    found = image_from_bytes(_decode_header(image), "")
    return (found.width, found.height) if found is not None else (0, 0)


def upright_image_size(image: ImageBlock) -> tuple[int, int]:
    """Returns an image's width and height with the rotation of its EXIF data applied."""
    width, height = image_pixel_size(image)
    return (height, width) if has_exif_quarter_rotation(_decode_header(image)) else (width, height)


def _decode_header(image: ImageBlock) -> bytes:
    head = image.data[: MAX_IMAGE_HEADER_BYTES // 3 * 4]
    try:
        return base64.b64decode(head[: len(head) // 4 * 4])
    except ValueError:
        return b""


def fit_image_cells(
    width: int, height: int, room: int, most: tuple[int, int] = (MAX_IMAGE_COLUMNS, MAX_IMAGE_ROWS)
) -> tuple[int, int]:
    """Returns the columns and rows in which an image is shown: in proportion, not larger than the image nor the
    limits."""
    most_columns, max_rows = most
    columns = max(1, min(room, most_columns, width))
    rows = -(-columns * height // (2 * width))
    if rows > max_rows:
        rows = max_rows
        columns = max(1, min(columns, 2 * rows * width // height))
    return columns, max(1, rows)


def can_terminal_show_images() -> bool:
    return "NO_COLOR" not in os.environ


class ImageLeaf(LayoutLeaf):
    """A unit of layout with an image below its label. Its text is the label."""

    __slots__ = ("_cells", "_image", "_is_large", "_problem", "_size", "drawn")

    def __init__(
        self, image: ImageBlock, *, key: str = "hint", fill: str = "", is_large: bool = False
    ) -> None:
        """Creates the leaf of an image that is not drawn yet. `is_large`: the image is alone on a screen and may fill
        it."""
        is_too_large = len(image.data) > MAX_IMAGE_BASE64_CHARS
        self._problem = IMAGE_TOO_LARGE_TEXT if is_too_large else ""
        super().__init__(image_label(image, self._problem), key=key, fill=fill)
        self.drawn: DisplayableImage | None = None
        self._image = image
        self._is_large = is_large
        self._size = (
            upright_image_size(image)
            if can_terminal_show_images() and image.data and not is_too_large
            else (0, 0)
        )
        self._cells = (0, 0)

    def _lay_out(self, width: int) -> list[tuple[int, int]]:
        rows = super()._lay_out(width)
        if 0 in self._size or self._problem or width < 12:
            self._cells = (0, 0)
            return rows
        most = (
            (width, max(MAX_IMAGE_ROWS, width // 4))
            if self._is_large
            else (MAX_IMAGE_COLUMNS, MAX_IMAGE_ROWS)
        )
        cells = fit_image_cells(*self._size, self._room(width), most)
        if cells != self._cells:
            self._cells = cells
            self.drawn = None
        end = len(self.plain)
        return rows + [(end, end)] * cells[1]

    @property
    def is_waiting(self) -> bool:
        """Whether rows are reserved for the image, but it has no valid drawing yet."""
        return self._cells[1] > 0 and (self.drawn is None or self.drawn.is_stale)

    @property
    def image_drawing_request(self) -> tuple[str, int, int]:
        """Returns what must be drawn: the image as base64, and the columns and rows to fill."""
        columns, rows = self._cells
        return self._image.data, columns, rows

    def show_image_drawing(self, drawn: DisplayableImage | str) -> None:
        """Shows a drawing of the image; a string is the reason why there is none, which the label then gives, and the
        rows are freed."""
        if isinstance(drawn, str):
            self._problem = drawn
            self.plain = image_label(self._image, drawn)
            self.discard_layout()
        elif (drawn.columns, drawn.rows) == self._cells:  # its size may have changed meanwhile
            self.drawn = drawn
            self.strips = {}

    def pieces(self, row: int) -> list[StyledPiece]:
        first = len(self._rows) - self._cells[1]
        if row < first:
            return super().pieces(row)
        out = self._before(row)
        drawn = self.drawn
        if drawn is None:
            return out
        at = row - first
        if drawn.has_placeholders and not drawn.is_stale and not drawn.is_refused:
            return [
                *out,
                StyledPiece(
                    kitty.make_kitty_placeholder_cells(drawn.kitty_id, at, drawn.columns),
                    f"%{drawn.placeholder_colour}",
                ),
            ]
        mark = f"={drawn.overlay_token}.{at}" if drawn.is_drawn_over_cells else ""
        upper, lower = drawn.pixels[2 * at], drawn.pixels[2 * at + 1]
        return [*out, *(_half_block_piece(*pair, mark) for pair in zip(upper, lower, strict=True))]


def _half_block_piece(upper: str, lower: str, mark: str) -> StyledPiece:
    if upper:
        return StyledPiece("▀", f"{upper}{lower}{mark}")
    return StyledPiece("▄", f"{lower}{mark}") if lower else StyledPiece(" ", mark or "text")
