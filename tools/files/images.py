"""Detects the type and size of images from their bytes, and scales them down for models if possible."""

import base64
import binascii
import io
import struct
import zlib
from typing import Final

import msgspec

MAX_IMAGE_SIDE: Final = 2000
MAX_IMAGE_BASE64_BYTES: Final = 4_500_000
"""The maximum size of an image in base64, in bytes; providers reject larger ones."""
_MAX_UNSCALED_IMAGE_SIDE: Final = 8000
"""The maximum width and height of an image that is sent unscaled; providers reject larger images and scale down
smaller ones themselves."""

_DECODABLE_IMAGE_FORMATS: Final = ("PNG", "JPEG", "GIF", "WEBP", "BMP")
_IMAGE_DECODING_ERRORS: Final = (
    OSError,
    ValueError,
    SyntaxError,
    EOFError,
    LookupError,
    TypeError,
    struct.error,
    zlib.error,
)
"""The exceptions that decoding a damaged image can raise."""
_DAMAGED_IMAGE_EXPLANATION: Final = "it is damaged or incomplete; make it anew, or leave it out"


class ImageInfo(msgspec.Struct, frozen=True, kw_only=True):
    mime_type: str
    width: int = 0
    height: int = 0
    """The height in pixels; zero if the image's header does not contain it."""


class ImagePreparedForModel(msgspec.Struct, frozen=True, kw_only=True):
    """An image prepared for a model: its data, perhaps scaled down, or the problem that prevents sending it."""

    data: str
    info: ImageInfo
    note: str = ""
    problem: str = ""
    """The reason why the image cannot be sent, in which case `data` is empty."""


def decode_base64_image(encoded: str) -> tuple[bytes, ImageInfo] | None:
    """Returns the bytes of an image in Base64, and its type; None if it is neither of them."""
    try:
        data = binascii.a2b_base64(encoded, strict_mode=True)
    except ValueError:
        return None
    info = identify_image(data)
    return (data, info) if info is not None else None


_PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"


def identify_image(head: bytes) -> ImageInfo | None:
    """Returns the type of an image from its first bytes, or None."""
    if head.startswith(_PNG_SIGNATURE):
        if b"acTL" in head[:256]:
            return ImageInfo(mime_type="image/png")
        width, height = struct.unpack(">II", head[16:24]) if len(head) >= 24 else (0, 0)
        return ImageInfo(mime_type="image/png", width=width, height=height)
    if head[:6] in (b"GIF87a", b"GIF89a"):
        width, height = struct.unpack("<HH", head[6:10]) if len(head) >= 10 else (0, 0)
        return ImageInfo(mime_type="image/gif", width=width, height=height)
    if head.startswith(b"\xff\xd8\xff"):
        return _identify_jpeg(head)
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return _identify_webp(head)
    if head[:2] == b"BM" and len(head) >= 26 and head[6:10] == b"\0\0\0\0":
        width, height = struct.unpack("<ii", head[18:26])
        return ImageInfo(mime_type="image/bmp", width=abs(width), height=abs(height))
    return None


def _identify_jpeg(head: bytes) -> ImageInfo:
    position = 2
    while position + 9 < len(head) and head[position] == 0xFF:
        marker = head[position + 1]
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", head[position + 5 : position + 9])
            return ImageInfo(mime_type="image/jpeg", width=width, height=height)
        position += 2 + int.from_bytes(head[position + 2 : position + 4], "big")
    return ImageInfo(mime_type="image/jpeg")


def _identify_webp(head: bytes) -> ImageInfo:
    width = height = 0
    if head[12:16] == b"VP8X" and len(head) >= 30:
        width = int.from_bytes(head[24:27], "little") + 1
        height = int.from_bytes(head[27:30], "little") + 1
    elif head[12:16] == b"VP8L" and len(head) >= 25:
        bits = int.from_bytes(head[21:25], "little")
        width, height = (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    elif head[12:16] == b"VP8 " and len(head) >= 30:
        width = int.from_bytes(head[26:28], "little") & 0x3FFF
        height = int.from_bytes(head[28:30], "little") & 0x3FFF
    return ImageInfo(mime_type="image/webp", width=width, height=height)


def prepare_image_for_model(data: bytes, info: ImageInfo, *, resizes: bool) -> ImagePreparedForModel:
    """Prepares an image for a model: as it is if small enough, scaled down if possible, otherwise a problem with a way
    out."""
    fits = max(info.width, info.height) <= MAX_IMAGE_SIDE and _encoded_size(data) <= MAX_IMAGE_BASE64_BYTES
    smaller = _scale_image(data) if resizes and not (fits and info.mime_type != "image/bmp") else None
    if smaller is not None:
        return smaller
    problem = find_image_problem(data, info) or ("" if _has_pixels(data) else _DAMAGED_IMAGE_EXPLANATION)
    return ImagePreparedForModel(
        data="" if problem else base64.b64encode(data).decode(), info=info, problem=problem
    )


def find_image_problem(data: bytes, info: ImageInfo) -> str:
    """Returns why providers reject an image as it is, as far as its beginning, end and size tell; empty if they do
    not."""
    if info.mime_type == "image/bmp":
        return "models read no BMP; convert it to PNG with bash first"
    if (
        _encoded_size(data) > MAX_IMAGE_BASE64_BYTES
        or max(info.width, info.height) > _MAX_UNSCALED_IMAGE_SIDE
    ):
        size = f"{info.width}x{info.height}, {len(data):,} bytes"
        return f"too large for a model ({size}); scale it down with bash first"
    return "" if _has_end(data, info.mime_type) else _DAMAGED_IMAGE_EXPLANATION


def _has_end(data: bytes, mime_type: str) -> bool:
    match mime_type:
        case "image/png":
            return b"IEND" in data
        case "image/jpeg":
            return b"\xff\xd9" in data
        case "image/gif":
            return b"\x3b" in data
        case _:
            return len(data) >= 8 + int.from_bytes(data[4:8], "little")


def _has_pixels(data: bytes) -> bool:
    """Returns whether an image can be decoded. Ignores damaged metadata chunks of a PNG, as other PNG readers do."""
    from PIL import Image  # noqa: PLC0415  (slow to load, and for images alone)

    pixels = _without_notes(data) if data.startswith(_PNG_SIGNATURE) else data
    try:
        with Image.open(io.BytesIO(pixels), formats=_DECODABLE_IMAGE_FORMATS) as image:
            image.load()
    except (*_IMAGE_DECODING_ERRORS, Image.DecompressionBombError):
        return False
    return True


def _without_notes(png: bytes) -> bytes:
    """Returns a PNG without its optional chunks (metadata), whose names begin with a lower-case letter."""
    kept, at = [png[:8]], 8
    while at + 8 <= len(png):
        end = at + 12 + int.from_bytes(png[at : at + 4], "big")
        if not png[at + 4 : at + 5].islower():
            kept.append(png[at:end])
        at = end
    return b"".join(kept)


def _encoded_size(data: bytes) -> int:
    return (len(data) + 2) // 3 * 4


def _scale_image(data: bytes) -> ImagePreparedForModel | None:
    """Scales an image down until it fits the providers' limits."""
    from PIL import Image  # noqa: PLC0415  (slow to load, and for images alone)

    try:
        with Image.open(io.BytesIO(data), formats=_DECODABLE_IMAGE_FORMATS) as image:
            original = image.size
            image.load()
            shown = image if image.mode in ("RGB", "RGBA", "L") else image.convert("RGBA")
            for side in (MAX_IMAGE_SIDE, 1568, 1024, 512):
                shown.thumbnail((side, side))
                for kind, options in (("PNG", {}), ("JPEG", {"quality": 80})):
                    buffer = io.BytesIO()
                    (shown.convert("RGB") if kind == "JPEG" else shown).save(buffer, kind, **options)
                    if _encoded_size(buffer.getvalue()) <= MAX_IMAGE_BASE64_BYTES:
                        return _scaled_image(buffer.getvalue(), kind, original, shown.size)
    except (*_IMAGE_DECODING_ERRORS, Image.DecompressionBombError):
        return None
    return None


def _scaled_image(
    data: bytes, kind: str, original: tuple[int, int], size: tuple[int, int]
) -> ImagePreparedForModel:
    note = ""
    if original != size:
        factor = original[0] / size[0]
        note = (
            f"original {original[0]}x{original[1]}, shown at {size[0]}x{size[1]}; "
            f"multiply coordinates by {factor:.2f} for the original"
        )
    info = ImageInfo(mime_type=f"image/{kind.lower()}", width=size[0], height=size[1])
    return ImagePreparedForModel(data=base64.b64encode(data).decode(), info=info, note=note)
