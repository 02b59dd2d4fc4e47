"""Encodes sixel graphics: pixels in bands of six rows, drawn over cells at the cursor at their own size."""

import re
from typing import TYPE_CHECKING

from tools.lazy_patterns import lazy_regex

if TYPE_CHECKING:
    from PIL.Image import Image

SIXEL_BAND_ROWS = 6
MAX_SIXEL_COLOURS = 128
_SIXEL_REPEATED_BYTES_PATTERN = lazy_regex(rb"(.)\1{3,}", re.DOTALL)
_TRANSPARENT_PALETTE_INDEX = 255
"""The palette index of transparent pixels."""


def encode_sixel(image: "Image") -> str:
    """Encodes an image with transparency as a sixel sequence. Its height should be a multiple of six, or it would cover
    cells below."""
    width, height = image.size
    is_clear = image.getchannel("A").point([255] * 128 + [0] * 128)
    flat = image.convert("RGB").quantize(MAX_SIXEL_COLOURS)
    palette = flat.getpalette("RGB") or []
    flat.paste(_TRANSPARENT_PALETTE_INDEX, mask=is_clear)
    pixels = flat.tobytes()
    out = [f'\x1bP0;1;0q"1;1;{width};{height}'.encode()]
    out += [
        b"#%d;2;%d;%d;%d" % (index, *(round(part / 2.55) for part in palette[3 * index : 3 * index + 3]))
        for index in sorted(set(pixels) - {_TRANSPARENT_PALETTE_INDEX})
    ]
    size = SIXEL_BAND_ROWS * width
    out += [_encode_band(pixels[at : at + size], width) + b"-" for at in range(0, len(pixels), size)]
    return b"".join((*out, b"\x1b\\")).decode("ascii")


def _encode_band(pixels: bytes, width: int) -> bytes:
    rows = [pixels[at : at + width] for at in range(0, len(pixels), width)]
    bias = int.from_bytes(b"?" * width, "big")
    lines: list[bytes] = []
    for colour in sorted(set(pixels) - {_TRANSPARENT_PALETTE_INDEX}):
        bits = bias
        for number, row in enumerate(rows):
            if colour in row:
                bits += int.from_bytes(row.translate(_SIXEL_BIT_TABLE_BY_COLOUR[number][colour]), "big")
        line = bits.to_bytes(width, "big").rstrip(b"?")
        lines.append(b"#%d" % colour + _SIXEL_REPEATED_BYTES_PATTERN.sub(_encode_repetition, line))
    return b"$".join(lines)


def _encode_repetition(found: re.Match[bytes]) -> bytes:
    return b"!%d%b" % (len(found[0]), found[1])


_SIXEL_BIT_TABLE_BY_COLOUR = [
    [
        bytes(1 << number if index == colour else 0 for index in range(256))
        for colour in range(MAX_SIXEL_COLOURS)
    ]
    for number in range(SIXEL_BAND_ROWS)
]
"""Tables that convert a row of pixels to the bits of one colour in a band."""
