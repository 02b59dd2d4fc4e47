"""Prepares a file for the index: its symbols from the mapper, its text split into words."""

import errno
import hashlib
import os
import stat
import time
from pathlib import Path

import msgspec

from tools.filemap.detection import detect_language
from tools.filemap.map import map_text
from tools.filemap.reading import CannotMap, read_text
from tools.filemap.symbols import Symbol
from tools.filemap.watch import Deadline, TimeLimitReached
from tools.repomap.index.kinds import FileKind, kind_of
from tools.repomap.index.store import PATH_ONLY_MTIME, FileRecord, file_words

MAX_BYTES = 1_000_000
"""Of larger files only path and size are indexed."""
_MAP_TIMEOUT = 2.0
_HEAD_BYTES = 16 * 1024
_MAX_KEY_DEPTH = 1
_MAX_DOC = 80
"""Doc lines could contain instructions to the model; this length is enough to find them."""
_MAX_SIGNATURE = 160
_MAX_SYMBOLS = 20_000
_SECRET_NAMES = (
    ".env", ".netrc", "_netrc", ".npmrc", ".pypirc", ".pgpass", ".git-credentials", ".my.cnf", ".htpasswd",
    "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "logins.json", "key4.db", "cookies.sqlite", ".vault-token",
)  # fmt: skip
_SECRET_ENDINGS = (".pem", ".key", ".p12", ".pfx", ".keystore", ".jks", ".ppk")
_RECENT_WRITE_NS = 2_000_000_000


def index_file(root: Path, path: str) -> FileRecord | None:
    """Returns the record of a file; None if it is missing or not a regular file."""
    place, nothing = root / path, stat_file(root, path)
    if nothing is None or nothing.reason:
        return nothing
    blob = blob_id(root, path)
    try:
        text = read_text(place, Deadline(_MAP_TIMEOUT, None))
    except CannotMap as problem:
        why = "binary" if problem.errno == errno.EINVAL else f"unreadable: {problem.strerror}"
        return msgspec.structs.replace(nothing, reason=why)
    except TimeLimitReached:
        return msgspec.structs.replace(nothing, reason="slow to read")
    source = text.source
    language = detect_language(place, source)
    kind = kind_of(path, language, source[:_HEAD_BYTES])
    try:
        made = map_text(source, place.name, deadline_seconds=_MAP_TIMEOUT)
    except (OSError, TimeLimitReached):
        return msgspec.structs.replace(nothing, kind=kind, reason="slow to map")
    symbols = _indexed_symbols(made.symbols, kind)
    body = source.decode("utf-8", "replace") if kind != "generated" else ""
    return msgspec.structs.replace(
        nothing,
        size=text.total_bytes,
        blob=blob,
        language=made.language,
        kind=kind,
        lines=made.total_lines,
        symbols=symbols,
        words=file_words(path, symbols, body),
    )


def blob_id(root: Path, path: str) -> bytes:
    """Returns git's blob id for the file's content; empty if it is unreadable."""
    try:
        data = (root / path).read_bytes()
    except (OSError, ValueError):
        return b""
    return hashlib.sha1(b"blob %d\0%b" % (len(data), data), usedforsecurity=False).digest()


def stat_file(root: Path, path: str) -> FileRecord | None:
    """Returns path and state, and why nothing else may be indexed. None like `index_file`."""
    try:
        state = os.lstat(f"{root}/{path}")
    except (OSError, ValueError):
        return None
    if not stat.S_ISREG(state.st_mode):
        return None
    # What is written at this very moment may be written again within the same tick of the clock.
    is_young = time.time_ns() - state.st_mtime_ns < _RECENT_WRITE_NS
    mtime = -1 if is_young else state.st_mtime_ns
    reason = "named like a secret" if is_secret(path) else "over 1 MB" if state.st_size > MAX_BYTES else ""
    made = msgspec.structs.replace(path_only(path), mtime=mtime, size=state.st_size, inode=state.st_ino)
    return msgspec.structs.replace(made, reason=reason)


def path_only(path: str) -> FileRecord:
    """Returns a record of a file with nothing but its path; it counts as changed."""
    return FileRecord(
        path=os.fsencode(path),
        mtime=PATH_ONLY_MTIME,
        size=0,
        inode=0,
        blob=b"",
        language="",
        kind="data",
        lines=0,
        symbols=(),
        words=file_words(path, (), ""),
    )


def is_secret(path: str) -> bool:
    """Returns whether the file name suggests secrets: its text is neither stored nor shown."""
    name = path.rpartition("/")[2].lower()
    return name.startswith(_SECRET_NAMES) or name.endswith(_SECRET_ENDINGS)


def _indexed_symbols(symbols: tuple[Symbol, ...], kind: FileKind) -> tuple[Symbol, ...]:
    """Keeps only the outer keys of data files, and drops what a list of places does not need."""
    depth: dict[int, int] = {}
    places: dict[int, int] = {}
    kept: list[Symbol] = []
    for index, symbol in enumerate(symbols):
        if kind == "data":
            depth[index] = depth.get(symbol.parent, 0) + 1 if symbol.parent is not None else 0
            if depth[index] > _MAX_KEY_DEPTH:
                continue
        if len(kept) >= _MAX_SYMBOLS:
            break
        places[index] = len(kept)
        kept.append(symbol)
    return tuple(
        msgspec.structs.replace(
            symbol,
            parent=places.get(symbol.parent) if symbol.parent is not None else None,
            doc=symbol.doc[:_MAX_DOC],
            signature=symbol.signature[:_MAX_SIGNATURE],
        )
        for symbol in kept
    )
