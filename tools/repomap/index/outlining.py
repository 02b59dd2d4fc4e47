"""One file as the index takes it: its symbols by the mapper, its words split into parts."""

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
"""Of larger files only path and size are known."""
_MAP_TIMEOUT = 2.0
_HEAD_BYTES = 16 * 1024
_MAX_KEY_DEPTH = 1
_MAX_DOC = 80
"""Doc lines are a place for instructions to whoever reads them; this much of one is enough to find it."""
_MAX_SIGNATURE = 160
_MAX_SYMBOLS = 20_000
_SECRET_NAMES = (
    ".env", ".netrc", "_netrc", ".npmrc", ".pypirc", ".pgpass", ".git-credentials", ".my.cnf", ".htpasswd",
    "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "logins.json", "key4.db", "cookies.sqlite", ".vault-token",
)  # fmt: skip
_SECRET_ENDINGS = (".pem", ".key", ".p12", ".pfx", ".keystore", ".jks", ".ppk")
_RECENT_WRITE_NS = 2_000_000_000


def index_file(root: Path, path: str) -> FileRecord | None:
    """None: it is not there any more, or no regular file."""
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
    symbols = _kept_symbols(made.symbols, kind)
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
    """The id that git gives a file with these contents; empty: it cannot be read."""
    try:
        data = (root / path).read_bytes()
    except (OSError, ValueError):
        return b""
    return hashlib.sha1(b"blob %d\0%b" % (len(data), data), usedforsecurity=False).digest()


def stat_file(root: Path, path: str) -> FileRecord | None:
    """Its path, its state, and why it may have no more than these. None: as `index_file`."""
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
    """A file of which no more is known yet: it counts as changed."""
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
    """Named as what holds secrets: nothing of its text is kept or shown."""
    name = path.rpartition("/")[2].lower()
    return name.startswith(_SECRET_NAMES) or name.endswith(_SECRET_ENDINGS)


def _kept_symbols(symbols: tuple[Symbol, ...], kind: FileKind) -> tuple[Symbol, ...]:
    """Of data the outer keys. Without what a list of places does not need."""
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
