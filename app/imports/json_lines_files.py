"""Reads files of JSON lines: yields the lines that are objects, and counts the others."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from app.values.codec import decode_json

UNREADABLE_LINES_LABEL = "lines that cannot be read"


def read_json_lines(file: Path, left_out: Counter[str]) -> Iterator[dict[str, Any]]:
    """Yields the objects of a file and counts its other lines. Raises `OSError`."""
    with file.open("rb") as lines:
        for line in lines:
            if not line.strip(b"\0 \t\r\n"):
                continue
            try:
                data = decode_json(line)
            except msgspec.DecodeError:
                data = None
            if isinstance(data, dict):
                yield data
            else:
                left_out[UNREADABLE_LINES_LABEL] += 1
