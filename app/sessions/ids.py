"""Ids and names of sessions and their files."""

import hashlib
import os
import time
from pathlib import Path

from tools.patterns import late

SESSION_ID = late(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")

_MAX_CLOCK_SKEW = 60.0
"""Seconds by which clocks of two machines may differ that share a disk."""
_MAX_NAME_BYTES = 240
"""Bytes of a folder's name; most file systems end at 255."""


def new_session_id() -> str:
    """A UUID of version 7: sorts by time of birth."""
    stamp = time.time_ns() // 1_000_000
    value = (stamp & (1 << 48) - 1) << 80 | 0x7 << 76 | int.from_bytes(os.urandom(10)) & ~(0xF << 76)
    value = value & ~(0b11 << 62) | 0b10 << 62
    digits = f"{value:032x}"
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def recency_key(then: float, now: float) -> tuple[bool, float]:
    """Sorts by time, in seconds. What claims to be of the future was written by another clock, or by this one before it
    was set: it stands behind what this one has seen."""
    return then <= now + _MAX_CLOCK_SKEW, then


def is_session_id(text: str) -> bool:
    return SESSION_ID.fullmatch(text) is not None and len(text) <= 128


def file_name(timestamp: str, session_id: str) -> str:
    return f"{timestamp.replace(':', '-').replace('.', '-')}_{session_id}.jsonl"


def folder_name(cwd: Path) -> str:
    """`--home-me-project--`. Two folders may share a name; the header of each file says which one it is from."""
    text = str(cwd)
    if text[:1] in ("/", "\\"):
        text = text[1:]
    for mark in "/\\:":
        text = text.replace(mark, "-")
    if len(text.encode("utf-8", "replace")) > _MAX_NAME_BYTES:
        text = f"{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:16]}-{text[-60:]}"
    return f"--{text}--"


def sidecar(path: Path, kind: str) -> Path:
    """A file that belongs to a session file and lies beside it: `X.jsonl.draft`."""
    return path.with_name(f"{path.name}.{kind}")


SIDECARS = ("quarantine", "partial", "draft", "files", "v1", "v2")
"""What may lie beside a session file."""
