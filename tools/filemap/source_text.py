"""Reads a file as UTF-8 text for mapping, or states why it cannot be mapped. Independent of languages."""

import codecs
import errno
import hashlib
import os
import stat
from pathlib import Path

import msgspec

from tools.filemap.map_deadline import MapDeadline
from tools.files.text_encoding import ENCODING_SAMPLE_BYTES, UTF8_ENCODING, TextEncoding, detect_encoding

MAX_MAPPED_FILE_BYTES = 64 * 1024 * 1024
"""The number of bytes of a file that are mapped; the rest of a larger file is ignored."""
CHANGED_WHILE_MAPPING_NOTE = "changed while mapping"
_SOURCE_READ_CHUNK_BYTES = 1024 * 1024
_RECODING_CHUNK_BYTES = 256 * 1024


class CannotMakeFileMap(OSError):
    """Raised if a file cannot be mapped; `strerror` states the reason in words for the reader."""

    def __init__(self, number: int, path: Path, why: str) -> None:
        super().__init__(number, why, str(path))


class SourceText(msgspec.Struct, frozen=True, kw_only=True):
    """A file read for mapping: its source as UTF-8, sizes, digest and notes."""

    source: bytes
    """The source as UTF-8 bytes without a byte order mark."""
    total_lines: int
    total_bytes: int
    modified_ns: int
    digest: str
    notes: tuple[str, ...] = ()


def read_source_text(path: Path, watch: MapDeadline) -> SourceText:
    """Reads a file for mapping. Raises `CannotMakeFileMap` (an `OSError`), `FileMapTimeLimitReached` or
    `FileMapCancelled`. Never blocks on a pipe or a device."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except OSError as problem:
        raise CannotMakeFileMap(problem.errno or errno.EIO, path, _describe_read_error(problem)) from None
    except ValueError:
        raise CannotMakeFileMap(errno.EINVAL, path, "This is no valid path") from None
    try:
        return _read_open_file(descriptor, path, watch)
    except OSError as problem:
        if isinstance(problem, CannotMakeFileMap) or problem.errno is None:
            raise
        raise CannotMakeFileMap(problem.errno, path, _describe_read_error(problem)) from None
    finally:
        os.close(descriptor)


def _describe_read_error(problem: OSError) -> str:
    return problem.strerror or str(problem)


def _read_open_file(descriptor: int, path: Path, watch: MapDeadline) -> SourceText:
    state = os.fstat(descriptor)
    if stat.S_ISDIR(state.st_mode):
        raise CannotMakeFileMap(errno.EISDIR, path, "This is a directory; maps are made of files")
    if not stat.S_ISREG(state.st_mode):
        raise CannotMakeFileMap(errno.EINVAL, path, "This is no regular file (a pipe, socket or device)")
    raw, encoding, total_lines, total_bytes, digest = _read_content(descriptor, path, watch)
    after = os.fstat(descriptor)
    notes: list[str] = []
    if (after.st_mtime_ns, after.st_size) != (
        state.st_mtime_ns,
        state.st_size,
    ) or total_bytes != state.st_size:
        notes.append(CHANGED_WHILE_MAPPING_NOTE)
    if total_bytes > len(raw):
        notes.append(f"only the first {len(raw) // (1024 * 1024)} MB are mapped")
    source = raw.removeprefix(encoding.byte_order_mark)
    if not encoding.is_utf8:
        source = _recode_as_utf8(source, encoding, watch)
        notes.append(f"encoded as {encoding.name}")
        total_lines = count_lines(source)
    return SourceText(
        source=source,
        total_lines=total_lines,
        total_bytes=total_bytes,
        modified_ns=state.st_mtime_ns,
        digest=digest,
        notes=tuple(notes),
    )


def _read_content(
    descriptor: int, path: Path, watch: MapDeadline
) -> tuple[bytes, TextEncoding, int, int, str]:
    pieces: list[bytes] = []
    encoding: TextEncoding | None = UTF8_ENCODING
    kept = total = newlines = 0
    digest = hashlib.blake2b(digest_size=12)
    last = b""
    while piece := os.read(descriptor, _SOURCE_READ_CHUNK_BYTES):
        watch.raise_if_deadline_over()
        if not total:
            encoding = detect_encoding(
                piece[:ENCODING_SAMPLE_BYTES], is_whole=len(piece) < ENCODING_SAMPLE_BYTES
            )
        if encoding is None:
            raise CannotMakeFileMap(errno.EINVAL, path, "This is a binary file; maps are made of text")
        total += len(piece)
        newlines += piece.count(b"\n")
        digest.update(piece)
        last = piece
        if kept < MAX_MAPPED_FILE_BYTES:
            pieces.append(piece)
            kept += len(piece)
    lines = newlines + (1 if last and not last.endswith(b"\n") else 0)
    assert encoding is not None
    return (pieces[0] if len(pieces) == 1 else b"".join(pieces)), encoding, lines, total, digest.hexdigest()


def decode_source(raw: bytes, watch: MapDeadline) -> bytes | None:
    """Returns the whole content of a file as UTF-8 without a byte order mark; None if it is binary. Raises
    `FileMapTimeLimitReached` or `FileMapCancelled`."""
    encoding = (
        detect_encoding(raw[:ENCODING_SAMPLE_BYTES], is_whole=len(raw) < ENCODING_SAMPLE_BYTES)
        if raw
        else UTF8_ENCODING
    )
    if encoding is None:
        return None
    source = raw.removeprefix(encoding.byte_order_mark)
    return source if encoding.is_utf8 else _recode_as_utf8(source, encoding, watch)


def _recode_as_utf8(raw: bytes, encoding: TextEncoding, watch: MapDeadline) -> bytes:
    """Converts a file's bytes to UTF-8 in chunks, because some decoders block the interpreter for long."""
    decode = codecs.getincrementaldecoder(encoding.name)("replace").decode
    pieces: list[bytes] = []
    for start in range(0, len(raw), _RECODING_CHUNK_BYTES):
        watch.raise_if_deadline_over()
        is_last = start + _RECODING_CHUNK_BYTES >= len(raw)
        pieces.append(decode(raw[start : start + _RECODING_CHUNK_BYTES], is_last).encode("utf-8", "replace"))
    return b"".join(pieces)


def count_lines(source: bytes) -> int:
    return source.count(b"\n") + (1 if source and not source.endswith(b"\n") else 0)
