"""Session files for the index: the lines that are new, known again by what stands before them, and single texts."""

import hashlib
from pathlib import Path
from typing import BinaryIO, Protocol

from app.sessions.summary import Digest, SearchableText

_TAIL = 64
"""Bytes before the place up to which a file has been read, by which it is known again."""


class Rewritten(Exception):
    """What was read before is not what stands there now."""


class TakesLines(Protocol):
    """What is made of the lines."""

    def take(self, line: bytes, *, at: int | None = None) -> None: ...


def take(
    path: Path,
    offset: int,
    digest: TakesLines,
    tail: bytes = b"",
    *,
    end: int | None = None,
    with_texts: bool = False,
) -> tuple[int, bytes]:
    """Reads whole lines from `offset` on; returns where the next one will begin, and by what the bytes before that
    are known again (`tail`).
    """
    with path.open("rb", buffering=1 << 18) as file:
        if tail and _tail(file, offset) != tail:
            raise Rewritten
        file.seek(offset)
        for line in file:
            if not line.endswith(b"\n") or (end is not None and offset >= end):
                break
            digest.take(line, at=offset if with_texts else None)
            offset += len(line)
        return offset, _tail(file, offset)


def _tail(file: BinaryIO, offset: int) -> bytes:
    begin = max(0, offset - _TAIL)
    file.seek(begin)
    return hashlib.blake2b(file.read(offset - begin), digest_size=8).digest()


def text_at(path: Path, at: int) -> SearchableText | None:
    """None when the file has changed meanwhile."""
    digest = Digest(texts=[])
    try:
        with path.open("rb") as file:
            file.seek(at)
            digest.take(file.readline(), at=at)
    except OSError:
        return None
    return digest.texts[0] if digest.texts else None
