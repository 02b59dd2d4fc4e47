"""Ids and names of sessions and their files."""

import hashlib
import os
import time
from pathlib import Path

from tools.lazy_patterns import lazy_regex

SESSION_ID_PATTERN = lazy_regex(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")

_MAX_CLOCK_SKEW_SECONDS = 60.0
"""The number of seconds by which the clocks of two machines that share a disk may differ."""
_MAX_SESSION_FOLDER_NAME_BYTES = 240
"""The longest folder name in bytes; most file systems permit 255."""


def new_session_id() -> str:
    """Returns a UUID of version 7, which sorts by creation time."""
    stamp = time.time_ns() // 1_000_000
    value = (stamp & (1 << 48) - 1) << 80 | 0x7 << 76 | int.from_bytes(os.urandom(10)) & ~(0xF << 76)
    value = value & ~(0b11 << 62) | 0b10 << 62
    digits = f"{value:032x}"
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def recency_sort_key(then: float, now: float) -> tuple[bool, float]:
    """Returns a sort key for a time in seconds. Times in the future come from a wrong clock and sort as
    the oldest."""
    return then <= now + _MAX_CLOCK_SKEW_SECONDS, then


def is_session_id(text: str) -> bool:
    return SESSION_ID_PATTERN.fullmatch(text) is not None and len(text) <= 128


def session_file_name(timestamp: str, session_id: str) -> str:
    return f"{timestamp.replace(':', '-').replace('.', '-')}_{session_id}.jsonl"


def session_folder_name(cwd: Path) -> str:
    """Returns the name of a project's session folder: `--home-me-project--`. Two projects may share a
    name; the header of each file holds its exact path."""
    text = str(cwd)
    if text[:1] in ("/", "\\"):
        text = text[1:]
    for mark in "/\\:":
        text = text.replace(mark, "-")
    if len(text.encode("utf-8", "replace")) > _MAX_SESSION_FOLDER_NAME_BYTES:
        text = f"{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:16]}-{text[-60:]}"
    return f"--{text}--"


def session_sidecar_path(path: Path, kind: str) -> Path:
    """Returns the path of a file that belongs to a session and lies beside its file: `X.jsonl.draft`."""
    return path.with_name(f"{path.name}.{kind}")


SESSION_SIDECAR_KINDS = ("quarantine", "partial", "draft", "files", "v1", "v2")
"""The kinds of files that may lie beside a session file."""
