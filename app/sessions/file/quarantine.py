"""Copies unreadable lines of a session file to a quarantine file beside it, so that they can be inspected and
are never lost."""

import base64
import hashlib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from app.sessions.file.session_reader import UnreadableSessionLine
from app.sessions.session_ids import session_sidecar_path
from app.values.codec import decode_json, encode_json
from app.values.wire import now_iso
from tools.files.regular_files import read_regular_file

MAX_QUARANTINED_BYTES = 8 * 1024 * 1024
"""The maximum size of a copied line in bytes; of a longer one only the position is recorded, and it stays in the
session file."""


def copy_to_quarantine(
    path: Path, lines: Iterable[UnreadableSessionLine], *, leaves_file: bool = False
) -> int:
    """Copies unreadable session lines that are not in the quarantine yet and returns their number. Raises
    `OSError`. `leaves_file`: the lines will be cut from the session file, so even the longest is copied and
    synced to the disk."""
    place = session_sidecar_path(path, "quarantine")
    known = {str(record.get("sha256")) for record in read_quarantine(path)}
    fresh: list[bytes] = []
    for line in lines:
        digest = hashlib.sha256(line.data).hexdigest()
        if digest not in known:
            known.add(digest)
            fresh.append(encode_json(_quarantine_record(line, digest, is_whole=leaves_file)) + b"\n")
    if fresh:
        with open(place, "ab", opener=_open_private) as file:
            file.write(b"".join(fresh))
            if leaves_file:
                file.flush()
                os.fsync(file.fileno())
    return len(fresh)


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK, 0o600)


def _quarantine_record(line: UnreadableSessionLine, digest: str, *, is_whole: bool) -> dict[str, Any]:
    record: dict[str, Any] = {
        "found": now_iso(),
        "offset": line.offset,
        "bytes": len(line.data),
        "sha256": digest,
    }
    if len(line.data) > MAX_QUARANTINED_BYTES and not is_whole:
        return {**record, "text": None}
    try:
        return {**record, "text": line.data.decode("utf-8")}
    except UnicodeDecodeError:
        return {**record, "base64": base64.b64encode(line.data).decode("ascii")}


def read_quarantine(path: Path) -> list[dict[str, Any]]:
    """Returns the quarantine records of a session file, oldest first."""
    try:
        data = read_regular_file(session_sidecar_path(path, "quarantine"))
    except OSError:
        return []
    found: list[dict[str, Any]] = []
    for line in data.split(b"\n"):
        try:
            record = decode_json(line)
        except msgspec.DecodeError:
            continue
        if isinstance(record, dict):
            found.append(record)
    return found
