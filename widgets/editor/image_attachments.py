"""Reads the kind and size of an image from its header alone."""

import struct
from pathlib import Path

from widgets.editor.prompt_chips import ImageAttachment

MAX_IMAGE_HEADER_BYTES = 256 * 1024
"""Bytes read to find the size; a JPEG may have a large preview before it."""
MAX_IMAGE_BYTES = 50_000_000
_EXIF_ORIENTATION_TAG = 0x112


def read_image_file(path: Path) -> ImageAttachment | None:
    """Returns the image in a file as an attachment, with its type and pixel size; None if the file is no image, too
    large or unreadable. It reads from disk, so call it in a thread."""
    try:
        if not path.is_file():
            return None
        byte_count = path.stat().st_size
        with path.open("rb") as file:
            header = file.read(MAX_IMAGE_HEADER_BYTES)
    except OSError:
        return None
    kind = _detect_mime_type(header)
    if not kind or byte_count > MAX_IMAGE_BYTES:
        return None
    width, height = _read_pixel_size(kind, header)
    return ImageAttachment(
        name=path.name, mime_type=kind, byte_count=byte_count, width=width, height=height, path=path
    )


def image_from_bytes(data: bytes, name: str) -> ImageAttachment | None:
    kind = _detect_mime_type(data)
    if not kind or len(data) > MAX_IMAGE_BYTES:
        return None
    width, height = _read_pixel_size(kind, data)
    return ImageAttachment(
        name=name, mime_type=kind, byte_count=len(data), width=width, height=height, data=data
    )


def _detect_mime_type(header: bytes) -> str:
    if header.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if header.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if header.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if header.startswith(b"RIFF") and header[8:12] == b"WEBP":
        return "image/webp"
    if header.startswith(b"BM") and len(header) > 26:
        return "image/bmp"
    return ""


def _read_pixel_size(kind: str, header: bytes) -> tuple[int, int]:
    try:
        match kind:
            case "image/png":
                return struct.unpack(">II", header[16:24])
            case "image/gif":
                return struct.unpack("<HH", header[6:10])
            case "image/bmp":
                width, height = struct.unpack("<ii", header[18:26])
                return width, abs(height)
            case "image/jpeg":
                return _read_jpeg_size(header)
            case _:
                return _read_webp_size(header)
    except (struct.error, IndexError):
        return 0, 0


def _read_jpeg_size(header: bytes) -> tuple[int, int]:
    at = 2
    while at + 9 < len(header):
        if header[at] != 0xFF:
            return 0, 0
        marker = header[at + 1]
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", header[at + 5 : at + 9])
            return width, height
        at += 2 + struct.unpack(">H", header[at + 2 : at + 4])[0]
    return 0, 0


def has_exif_quarter_rotation(header: bytes) -> bool:
    """Whether the EXIF orientation turns the photograph by a quarter, so that width and height are swapped."""
    at = header.find(b"Exif\0\0", 0, 65_536) + 6
    order = {b"II": "<", b"MM": ">"}.get(header[at : at + 2])
    if not header.startswith(b"\xff\xd8") or at < 6 or order is None:
        return False
    try:
        first = at + struct.unpack_from(f"{order}I", header, at + 4)[0]
        count = struct.unpack_from(f"{order}H", header, first)[0]
        for entry in range(first + 2, first + 2 + 12 * min(count, 100), 12):
            tag, value = struct.unpack_from(f"{order}H6xH", header, entry)
            if tag == _EXIF_ORIENTATION_TAG:
                return 5 <= value <= 8
    except struct.error:
        pass
    return False


def _read_webp_size(header: bytes) -> tuple[int, int]:
    chunk = header[12:16]
    if chunk == b"VP8 ":
        width, height = struct.unpack("<HH", header[26:30])
        return width & 0x3FFF, height & 0x3FFF
    if chunk == b"VP8L":
        bits = struct.unpack("<I", header[21:25])[0]
        return (bits & 0x3FFF) + 1, ((bits >> 14) & 0x3FFF) + 1
    if chunk == b"VP8X":
        return int.from_bytes(header[24:27], "little") + 1, int.from_bytes(header[27:30], "little") + 1
    return 0, 0
