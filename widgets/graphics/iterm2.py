"""iTerm2's inline images: a base64 file drawn over cells at the cursor."""

MAX_IMAGE_BYTES = 700_000
"""The maximum size of an image; some terminals reject sequences of over a million characters."""


def drawn(png: str, byte_count: int, columns: int, rows: int) -> str:
    how = f"inline=1;size={byte_count};width={columns};height={rows};preserveAspectRatio=1;doNotMoveCursor=1"
    return f"\x1b]1337;File={how}:{png}\x07"
