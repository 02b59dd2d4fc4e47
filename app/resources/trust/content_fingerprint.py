"""Hashes files and folders, so that changes since the user's answer to the trust question are detected.

All files are hashed, also hidden ones, those behind links, and those that bayou does not read. What
exceeds the limits has no fingerprint, so that nothing can hide behind a limit."""

import hashlib
import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

MAX_FINGERPRINT_FILES = 3000
MAX_FINGERPRINT_BYTES = 64 * 1024 * 1024
_HASH_CHUNK_BYTES = 1 << 20


class ContentTooLargeToHash(Exception):
    """Raised if the content exceeds a limit, which the message names."""


def fingerprint(path: Path, *, is_limited: bool = True) -> str:
    """Returns the hash of a file, or of all files below a folder with their names. Raises `ContentTooLargeToHash` if
    `is_limited`."""
    whole = hashlib.sha256()
    left = MAX_FINGERPRINT_BYTES if is_limited else sys.maxsize
    for name, file in _files_below(path, MAX_FINGERPRINT_FILES if is_limited else sys.maxsize):
        whole.update(name.encode("utf-8", "surrogatepass") + b"\0")
        try:
            read, digest = _file_digest(file, left)
        except OSError as problem:
            read, digest = 0, f"error {problem.errno}".encode()
        left -= read
        whole.update(hashlib.sha256(digest).digest())
    return whole.hexdigest()[:32]


def hash_of_text(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _files_below(path: Path, most: int) -> Iterator[tuple[str, Path]]:
    """Yields names and files in a fixed order on every disk. A folder that was visited already (a loop of
    links) is skipped."""
    try:
        mode = path.stat().st_mode
    except OSError:
        yield path.name, path
        return
    if not stat.S_ISDIR(mode):
        yield path.name, path
        return
    waiting, seen, count = [("", path)], {os.path.realpath(path)}, 0
    while waiting:
        name, folder = waiting.pop()
        try:
            entries = sorted(os.listdir(folder))  # noqa: PTH208  (names are all that is needed)
        except OSError as problem:
            yield f"{name}/ error {problem.errno}", folder / ""
            continue
        for entry in entries:
            count += 1
            if count > most:
                raise ContentTooLargeToHash(f"more than {MAX_FINGERPRINT_FILES:,} files")
            below, told = folder / entry, f"{name}/{entry}"
            if not below.is_dir():
                yield told, below
            elif (real := os.path.realpath(below)) not in seen:
                seen.add(real)
                waiting.append((told, below))


def _file_digest(file: Path, most: int) -> tuple[int, bytes]:
    """Returns size and hash of a file, without blocking on pipes. Raises `OSError` and `ContentTooLargeToHash`."""
    handle = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(handle, "rb", buffering=0) as opened:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return 0, b"no regular file"
        digest, size = hashlib.sha256(), 0
        while piece := opened.read(_HASH_CHUNK_BYTES):
            size += len(piece)
            if size > most:
                raise ContentTooLargeToHash(f"more than {MAX_FINGERPRINT_BYTES // (1024 * 1024)} MB")
            digest.update(piece)
    return size, digest.digest()
