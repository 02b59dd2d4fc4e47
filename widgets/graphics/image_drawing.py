"""Decodes an image file and encodes its pixels for the terminal's image protocol; bytes of the file itself are never
sent.

The size of the result is bounded; an image that cannot be shown gives a reason instead. Run it in a thread."""

import base64
import io
from typing import TYPE_CHECKING, NamedTuple

from widgets.graphics.drawn_image import (
    IMAGE_TOO_LARGE_TEXT,
    MAX_IMAGE_BASE64_CHARS,
    ImageProtocol,
    PixelRows,
)

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

MAX_IMAGE_PIXELS = 40_000_000
MAX_ITERM2_BYTES = 700_000
"""The maximum size of an image for iTerm2; some terminals reject sequences of over a million characters."""
_ACCEPTED_IMAGE_FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP")
IMAGE_UNREADABLE_TEXT = "cannot be read"


class ImageCellBox(NamedTuple):
    """The columns and rows that an image fills, and the size of a cell in pixels."""

    columns: int
    rows: int
    cell_width: int
    cell_height: int


class EncodedImage(NamedTuple):
    """An image encoded at one size: its pixels as half blocks, and its data in the terminal's protocol."""

    pixels: PixelRows
    data: str = ""
    terminal_memory: int = 0
    """The approximate number of bytes that the image uses in the terminal."""


def encode_image_data(data: str, box: ImageCellBox, protocol: ImageProtocol) -> EncodedImage | str:
    """Decodes a base64 image and scales it to a box of cells; returns its drawing for the given protocol, or the reason
    why it cannot be shown."""
    if len(data) > MAX_IMAGE_BASE64_CHARS:
        return IMAGE_TOO_LARGE_TEXT
    from PIL import Image, ImageOps  # noqa: PLC0415  (at the first image)

    try:
        with Image.open(io.BytesIO(base64.b64decode(data)), formats=_ACCEPTED_IMAGE_FORMATS) as image:
            if image.width * image.height > MAX_IMAGE_PIXELS:
                return IMAGE_TOO_LARGE_TEXT
            wanted = (box.columns * box.cell_width, box.rows * box.cell_height)
            image.draft("RGB", (max(wanted), max(wanted)))
            upright = ImageOps.exif_transpose(_convert_to_eight_bits(image))
            if protocol != "blocks":
                upright.thumbnail((2 * wanted[0], 2 * wanted[1]))
            clear = upright.convert("RGBA")
    except Image.DecompressionBombError:
        return IMAGE_TOO_LARGE_TEXT
    except Exception:  # noqa: BLE001 - the library may fail in any way on a broken file
        return IMAGE_UNREADABLE_TEXT
    return _draw_image(clear, box, protocol)


def _convert_to_eight_bits(image: "Picture") -> "Picture":
    """Converts 16-bit grey values to 8 bits; otherwise nearly all would be white."""
    if image.mode.startswith("I"):
        return image.convert("I").point(lambda value: value * (1 / 256)).convert("L")
    return image


def _draw_image(image: "Picture", box: ImageCellBox, protocol: ImageProtocol) -> EncodedImage:
    pixels = _draw_half_blocks(image, box)
    if protocol == "blocks":
        return EncodedImage(pixels)
    if protocol == "sixel":
        return _draw_sixel(image, box, pixels)
    width, height = _fit_size(image, box.columns * box.cell_width, box.rows * box.cell_height)
    if (width, height) != image.size:
        image = image.resize((width, height))
    png = _encode_png(image)
    while protocol == "iterm2" and len(png) > MAX_ITERM2_BYTES:
        image = image.resize((max(1, image.width // 2), max(1, image.height // 2)))
        png = _encode_png(image)
    text = base64.b64encode(png).decode("ascii")
    if protocol == "iterm2":
        text = _encode_iterm2(text, len(png), box.columns, box.rows)
    return EncodedImage(pixels, text, 4 * image.width * image.height)


def _encode_iterm2(png: str, byte_count: int, columns: int, rows: int) -> str:
    """Returns iTerm2's inline image: a base64 file drawn over cells at the cursor."""
    how = f"inline=1;size={byte_count};width={columns};height={rows};preserveAspectRatio=1;doNotMoveCursor=1"
    return f"\x1b]1337;File={how}:{png}\x07"


def _draw_sixel(image: "Picture", box: ImageCellBox, pixels: PixelRows) -> EncodedImage:
    """Encodes the image in sixel at the size of the box, since the terminal draws every pixel as it
    is."""
    from PIL import Image  # noqa: PLC0415  (at the first image)

    from widgets.graphics import sixel  # noqa: PLC0415  (its tables, where they are needed)

    width = box.columns * box.cell_width
    height = box.rows * box.cell_height // sixel.SIXEL_BAND_ROWS * sixel.SIXEL_BAND_ROWS
    if not height:
        return EncodedImage(pixels)
    inner = image.resize(_fit_size(image, width, height, grows=True))
    whole = Image.new("RGBA", (width, height))
    whole.paste(inner, ((width - inner.width) // 2, (height - inner.height) // 2))
    data = sixel.encode_sixel(whole)
    return EncodedImage(pixels, data, len(data))


def _fit_size(image: "Picture", width: int, height: int, *, grows: bool = False) -> tuple[int, int]:
    scale = min(width / image.width, height / image.height)
    scale = scale if grows else min(1.0, scale)
    return max(1, round(image.width * scale)), max(1, round(image.height * scale))


def _encode_png(image: "Picture") -> bytes:
    out = io.BytesIO()
    image.save(out, "PNG", compress_level=3)
    return out.getvalue()


def _draw_half_blocks(image: "Picture", box: ImageCellBox) -> PixelRows:
    from PIL import Image  # noqa: PLC0415  (at the first image)

    columns, rows = box.columns, 2 * box.rows
    values = image.resize((columns, rows), Image.Resampling.BOX).tobytes()
    return tuple(
        tuple(
            _format_pixel_colour(values[4 * at : 4 * at + 4])
            for at in range(row * columns, (row + 1) * columns)
        )
        for row in range(rows)
    )


def _format_pixel_colour(pixel: bytes) -> str:
    return f"#{pixel[0]:02x}{pixel[1]:02x}{pixel[2]:02x}" if pixel[3] >= 128 else ""
