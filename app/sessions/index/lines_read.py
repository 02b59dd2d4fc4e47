"""Session files for the index: the lines that are new, known again by what stands before them, and single texts."""

import hashlib
from pathlib import Path
from typing import BinaryIO, Protocol

from app.sessions.file.reading import read_entry
from app.sessions.index.summary import SearchableText, texts_of

_TAIL_BYTES = 64
"""Bytes before the place up to which a file has been read, by which it is known again."""


class FileRewritten(Exception):
    """What was read before is not what stands there now."""


class LineSink(Protocol):
    """What is made of the lines."""

    def take(self, line: bytes, at: int) -> None:
        """`at`: where in the file the line begins."""
        ...


class TextCollector:
    """The texts of the lines that can be searched."""

    def __init__(self) -> None:
        self.found: list[SearchableText] = []

    def take(self, line: bytes, at: int) -> None:
        entry = read_entry(line)
        if entry is not None:
            self.found.extend(texts_of(entry, at))


def read_lines(
    path: Path, offset: int, taker: LineSink, tail: bytes = b"", *, end: int | None = None
) -> tuple[int, bytes]:
    """Reads whole lines from `offset` on; returns where the next one will begin, and by what the bytes before that
    are known again (`tail`).
    """
    with path.open("rb", buffering=1 << 15) as file:
        if tail and _tail(file, offset) != tail:
            raise FileRewritten
        file.seek(offset)
        for line in file:
            if not line.endswith(b"\n") or (end is not None and offset >= end):
                break
            taker.take(line, offset)
            offset += len(line)
        return offset, _tail(file, offset)


def _tail(file: BinaryIO, offset: int) -> bytes:
    begin = max(0, offset - _TAIL_BYTES)
    file.seek(begin)
    return hashlib.blake2b(file.read(offset - begin), digest_size=8).digest()


def text_at(path: Path, at: int) -> SearchableText | None:
    """None when the file has changed meanwhile."""
    texts = TextCollector()
    try:
        with path.open("rb") as file:
            file.seek(at)
            texts.take(file.readline(), at)
    except OSError:
        return None
    return texts.found[0] if texts.found else None
