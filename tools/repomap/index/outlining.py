"""One file as the index takes it: its symbols by the mapper, its words split into parts."""

import errno
import hashlib
import os
import stat
import time
from pathlib import Path

import msgspec

from tools.filemap.detection import language_of
from tools.filemap.map import map_text
from tools.filemap.reading import CannotMap, read_text
from tools.filemap.symbols import Symbol
from tools.filemap.watch import Deadline, Overtime
from tools.repomap.index.kinds import Kind, kind_of
from tools.repomap.index.store import NOT_LOOKED_AT, Indexed, words_of

MOST_BYTES = 1_000_000
"""Of larger files only path and size are known."""
_SECONDS = 2.0
_HEAD = 16 * 1024
_DEEPEST_KEY = 1
_LONGEST_DOC = 80
"""Doc lines are a place for instructions to whoever reads them; this much of one is enough to find it."""
_LONGEST_SIGNATURE = 160
_MOST_SYMBOLS = 20_000
_SECRET_NAMES = (
    ".env", ".netrc", "_netrc", ".npmrc", ".pypirc", ".pgpass", ".git-credentials", ".my.cnf", ".htpasswd",
    "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "logins.json", "key4.db", "cookies.sqlite", ".vault-token",
)  # fmt: skip
_SECRET_ENDINGS = (".pem", ".key", ".p12", ".pfx", ".keystore", ".jks", ".ppk")
_YOUNG_NS = 2_000_000_000


def indexed(root: Path, path: str) -> Indexed | None:
    """None: it is not there any more, or no regular file."""
    place, nothing = root / path, stamped(root, path)
    if nothing is None or nothing.reason:
        return nothing
    blob = blob_id(root, path)
    try:
        text = read_text(place, Deadline(_SECONDS, None))
    except CannotMap as problem:
        why = "binary" if problem.errno == errno.EINVAL else f"unreadable: {problem.strerror}"
        return msgspec.structs.replace(nothing, reason=why)
    except Overtime:
        return msgspec.structs.replace(nothing, reason="slow to read")
    source = text.source
    language = language_of(place, source)
    kind = kind_of(path, language, source[:_HEAD])
    try:
        made = map_text(source, place.name, deadline_seconds=_SECONDS)
    except (OSError, Overtime):
        return msgspec.structs.replace(nothing, kind=kind, reason="slow to map")
    symbols = _kept(made.symbols, kind)
    body = source.decode("utf-8", "replace") if kind != "generated" else ""
    return msgspec.structs.replace(
        nothing,
        size=text.total_bytes,
        blob=blob,
        language=made.language,
        kind=kind,
        lines=made.total_lines,
        symbols=symbols,
        words=words_of(path, symbols, body),
    )


def blob_id(root: Path, path: str) -> bytes:
    """The id that git gives a file with these contents; empty: it cannot be read."""
    try:
        data = (root / path).read_bytes()
    except (OSError, ValueError):
        return b""
    return hashlib.sha1(b"blob %d\0%b" % (len(data), data), usedforsecurity=False).digest()


def stamped(root: Path, path: str) -> Indexed | None:
    """Its path, its state, and why it may have no more than these. None: as `indexed`."""
    try:
        state = os.lstat(f"{root}/{path}")
    except (OSError, ValueError):
        return None
    if not stat.S_ISREG(state.st_mode):
        return None
    # What is written at this very moment may be written again within the same tick of the clock.
    is_young = time.time_ns() - state.st_mtime_ns < _YOUNG_NS
    mtime = -1 if is_young else state.st_mtime_ns
    reason = "named like a secret" if is_secret(path) else "over 1 MB" if state.st_size > MOST_BYTES else ""
    made = msgspec.structs.replace(path_alone(path), mtime=mtime, size=state.st_size, inode=state.st_ino)
    return msgspec.structs.replace(made, reason=reason)


def path_alone(path: str) -> Indexed:
    """A file of which no more is known yet: it counts as changed."""
    return Indexed(
        path=os.fsencode(path),
        mtime=NOT_LOOKED_AT,
        size=0,
        inode=0,
        blob=b"",
        language="",
        kind="data",
        lines=0,
        symbols=(),
        words=words_of(path, (), ""),
    )


def is_secret(path: str) -> bool:
    """Named as what holds secrets: nothing of its text is kept or shown."""
    name = path.rpartition("/")[2].lower()
    return name.startswith(_SECRET_NAMES) or name.endswith(_SECRET_ENDINGS)


def _kept(symbols: tuple[Symbol, ...], kind: Kind) -> tuple[Symbol, ...]:
    """Of data the outer keys. Without what a list of places does not need."""
    depth: dict[int, int] = {}
    places: dict[int, int] = {}
    kept: list[Symbol] = []
    for index, symbol in enumerate(symbols):
        if kind == "data":
            depth[index] = depth.get(symbol.parent, 0) + 1 if symbol.parent is not None else 0
            if depth[index] > _DEEPEST_KEY:
                continue
        if len(kept) >= _MOST_SYMBOLS:
            break
        places[index] = len(kept)
        kept.append(symbol)
    return tuple(
        msgspec.structs.replace(
            symbol,
            parent=places.get(symbol.parent) if symbol.parent is not None else None,
            doc=symbol.doc[:_LONGEST_DOC],
            signature=symbol.signature[:_LONGEST_SIGNATURE],
        )
        for symbol in kept
    )
