"""The bytes of a file as UTF-8 text to map, or why it cannot be mapped. Knows nothing of languages."""

import errno
import hashlib
import os
import stat
from pathlib import Path

import msgspec

from tools.filemap.watch import Watch

MAX_BYTES = 64 * 1024 * 1024
"""Of larger files only the beginning is mapped."""
_SNIFFED = 8 * 1024
_PIECE = 1024 * 1024
_BOMS = (
    (b"\xef\xbb\xbf", "utf-8"),
    (b"\xff\xfe\x00\x00", "utf-32-le"),
    (b"\x00\x00\xfe\xff", "utf-32-be"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
)


class CannotMap(OSError):
    """The file cannot be mapped; `strerror` says why, in words for the reader."""

    def __init__(self, number: int, path: Path, why: str) -> None:
        super().__init__(number, why, str(path))


class Text(msgspec.Struct, frozen=True, kw_only=True):
    """A file as it was read."""

    source: bytes
    """UTF-8, without a byte order mark."""
    total_lines: int
    total_bytes: int
    modified_ns: int
    digest: str
    notes: tuple[str, ...] = ()


def read_text(path: Path, watch: Watch) -> Text:
    """Raises `CannotMap` (an `OSError`), `Overtime` or `Cancelled`. Never waits for a pipe or a device."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except OSError as problem:
        raise CannotMap(problem.errno or errno.EIO, path, _why(problem)) from None
    except ValueError:
        raise CannotMap(errno.EINVAL, path, "This is no valid path") from None
    try:
        return _read(descriptor, path, watch)
    except OSError as problem:
        if isinstance(problem, CannotMap) or problem.errno is None:
            raise
        raise CannotMap(problem.errno, path, _why(problem)) from None
    finally:
        os.close(descriptor)


def _why(problem: OSError) -> str:
    return problem.strerror or str(problem)


def _read(descriptor: int, path: Path, watch: Watch) -> Text:
    state = os.fstat(descriptor)
    if stat.S_ISDIR(state.st_mode):
        raise CannotMap(errno.EISDIR, path, "This is a directory; maps are made of files")
    if not stat.S_ISREG(state.st_mode):
        raise CannotMap(errno.EINVAL, path, "This is no regular file (a pipe, socket or device)")
    raw, total_lines, total_bytes, digest = _content(descriptor, path, watch)
    after = os.fstat(descriptor)
    notes = []
    if (after.st_mtime_ns, after.st_size) != (
        state.st_mtime_ns,
        state.st_size,
    ) or total_bytes != state.st_size:
        notes.append("changed while mapping")
    if total_bytes > len(raw):
        notes.append(f"only the first {len(raw) // (1024 * 1024)} MB are mapped")
    source, encoding = _as_utf8(raw)
    if encoding:
        notes.append(f"encoded as {encoding}")
        total_lines = lines_in(source)
    return Text(
        source=source,
        total_lines=total_lines,
        total_bytes=total_bytes,
        modified_ns=state.st_mtime_ns,
        digest=digest,
        notes=tuple(notes),
    )


def _content(descriptor: int, path: Path, watch: Watch) -> tuple[bytes, int, int, str]:
    pieces: list[bytes] = []
    kept = total = newlines = 0
    digest = hashlib.blake2b(digest_size=12)
    last = b""
    while piece := os.read(descriptor, _PIECE):
        watch.check()
        if not total and is_binary(piece[:_SNIFFED]):
            raise CannotMap(errno.EINVAL, path, "This is a binary file; maps are made of text")
        total += len(piece)
        newlines += piece.count(b"\n")
        digest.update(piece)
        last = piece
        if kept < MAX_BYTES:
            pieces.append(piece)
            kept += len(piece)
    lines = newlines + (1 if last and not last.endswith(b"\n") else 0)
    return (pieces[0] if len(pieces) == 1 else b"".join(pieces)), lines, total, digest.hexdigest()


def lines_in(source: bytes) -> int:
    return source.count(b"\n") + (1 if source and not source.endswith(b"\n") else 0)


def is_binary(head: bytes) -> bool:
    """Whether the beginning of a file is no text: null bytes, unless they are UTF-16's; or mostly control bytes."""
    if any(head.startswith(mark) for mark, _ in _BOMS) or _utf16_without_mark(head):
        return False
    if b"\0" in head:
        return True
    odd = sum(1 for byte in head[:1024] if byte < 32 and byte not in (7, 8, 9, 10, 12, 13, 27))
    return odd > len(head[:1024]) * 0.1


def _utf16_without_mark(head: bytes) -> str:
    """Text in UTF-16 has a null in nearly every second byte, and on one side only."""
    sample = head[: len(head) // 2 * 2][:1024]
    if len(sample) < 8 or b"\0" not in sample:
        return ""
    even, odd = sample[0::2].count(0), sample[1::2].count(0)
    half = len(sample) // 2
    if odd > half * 0.6 and not even:
        return "utf-16-le"
    return "utf-16-be" if even > half * 0.6 and not odd else ""


def _as_utf8(raw: bytes) -> tuple[bytes, str]:
    """UTF-8 bytes, and the name of the encoding if it was another one."""
    for mark, encoding in _BOMS:
        if raw.startswith(mark):
            rest = raw[len(mark) :]
            return (rest, "") if encoding == "utf-8" else (_recoded(rest, encoding), encoding)
    encoding = _utf16_without_mark(raw[:_SNIFFED])
    return (_recoded(raw, encoding), encoding) if encoding else (raw, "")


def _recoded(raw: bytes, encoding: str) -> bytes:
    return raw.decode(encoding, "replace").encode("utf-8", "replace")
