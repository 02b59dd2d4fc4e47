"""Reads new lines and single texts of session files for the index; a hash of the bytes before detects
rewritten files."""

import hashlib
from pathlib import Path
from typing import BinaryIO, Protocol

from app.sessions.file.session_reader import decode_session_entry
from app.sessions.index.session_digest import SearchableText, searchable_texts_of_entry

_HASHED_TAIL_BYTES = 64
"""The number of bytes before the read position whose hash identifies the file's earlier content."""


class SessionFileRewritten(Exception):
    """Raised if the part of a session file that was indexed earlier has changed."""


class SessionLineReceiver(Protocol):
    """The interface of an object that receives the lines of a session file."""

    def receive_session_line(self, line: bytes, at: int) -> None:
        """Receives one line of a session file; `at` is its offset in the file."""
        ...


class SearchableTextCollector:
    """Collects the searchable texts of session lines."""

    def __init__(self) -> None:
        self.found: list[SearchableText] = []

    def receive_session_line(self, line: bytes, at: int) -> None:
        entry = decode_session_entry(line)
        if entry is not None:
            self.found.extend(searchable_texts_of_entry(entry, at))


def read_session_lines(
    path: Path, offset: int, taker: SessionLineReceiver, tail: bytes = b"", *, end: int | None = None
) -> tuple[int, bytes]:
    """Reads whole lines of a session file from `offset` on; returns the offset of the next line and the hash of
    the bytes before it. Raises `SessionFileRewritten` when `tail`, the earlier hash, does not match."""
    with path.open("rb", buffering=1 << 15) as file:
        if tail and _hash_before(file, offset) != tail:
            raise SessionFileRewritten
        file.seek(offset)
        for line in file:
            if not line.endswith(b"\n") or (end is not None and offset >= end):
                break
            taker.receive_session_line(line, offset)
            offset += len(line)
        return offset, _hash_before(file, offset)


def _hash_before(file: BinaryIO, offset: int) -> bytes:
    begin = max(0, offset - _HASHED_TAIL_BYTES)
    file.seek(begin)
    return hashlib.blake2b(file.read(offset - begin), digest_size=8).digest()


def read_searchable_text_at(path: Path, at: int) -> SearchableText | None:
    """Returns the first searchable text of the session line at an offset; None when the file cannot be read or
    has changed."""
    texts = SearchableTextCollector()
    try:
        with path.open("rb") as file:
            file.seek(at)
            texts.receive_session_line(file.readline(), at)
    except OSError:
        return None
    return texts.found[0] if texts.found else None
