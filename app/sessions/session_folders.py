"""Finds the session files of a folder and reads their headers."""

import os
from collections.abc import Iterator
from pathlib import Path

from app.sessions.errors import SessionError
from app.values.entries import SessionHeader


def session_files(root: Path) -> Iterator[os.DirEntry[str]]:
    """Yields every `.jsonl` file in a root and in the folders directly below it."""
    try:
        entries = list(os.scandir(root))
    except OSError:
        return
    for entry in entries:
        if entry.name.startswith("."):
            continue
        if entry.name.endswith(".jsonl") and entry.is_file():
            yield entry
        elif entry.is_dir():
            try:
                inside = list(os.scandir(entry.path))
            except OSError:
                continue
            yield from (found for found in inside if found.name.endswith(".jsonl") and found.is_file())


def read_session_header_or_none(path: Path) -> SessionHeader | None:
    """Returns the header of a session file; None if the file is not a session."""
    try:
        from app.sessions.file.session_reader import read_session_header  # noqa: PLC0415  (a listing only)

        return read_session_header(path)[0]
    except SessionError:
        return None
