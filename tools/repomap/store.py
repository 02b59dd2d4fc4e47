"""The index of a repository on disk: one SQLite file of files, names and words. What is asked of it: `ranking`.

It is made of sources and can be made anew from them at any time: one that is damaged, or of another version, is.
Several processes read it at once; one writes, by the lock of `building`.
"""

import contextlib
import hashlib
import os
import re
import sqlite3
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Self

import msgspec

from tools.filemap.cache import MAPPER_VERSION
from tools.filemap.symbols import Symbol
from tools.repomap.kinds import Kind
from tools.repomap.packing import (
    KeptOutline,
    Words,
    counts_in,
    outline_in,
    packed_outline,
    packed_words,
    words_in,
)
from tools.repomap.parts import counted, repeated

VERSION = f"4.{MAPPER_VERSION}"
"""Raised whenever an index would come out differently."""
WEIGHTS = (1.0, 4.0, 3.0, 2.0)
"""Of a word in the text, in the path, in names of symbols, in doc lines: first guesses that held on 108 questions, and
on 154 others no other weights did better. The text, which has most words, is the first column: there each takes two
bytes less."""
NOT_LOOKED_AT = -2
"""Instead of a time: of that file the path alone is known."""
_SCHEMA = f"""
create table meta (key text primary key, value text) without rowid;
create table file (
    id integer primary key, path blob not null unique, mtime integer not null, size integer not null,
    inode integer not null, language text not null, kind text not null
);
create index file_unseen on file (mtime) where mtime={NOT_LOOKED_AT};
create table content (id integer primary key, map blob not null, body blob not null);
create table sym (name text not null, file integer not null, place integer not null,
    primary key (name, file, place)) without rowid;
create virtual table text using fts5 (
    body, path, symbols, docs, content='', detail=full, tokenize="unicode61 remove_diacritics 0");
create virtual table seen using fts5vocab (text, row);
create table near (id integer primary key, others blob not null);
"""
"""What is large of a file lies apart: a look at all of them reads the rest alone."""
_TABLES = ("meta", "file", "content", "sym", "text", "near")


_NEIGHBOURS = msgspec.msgpack.Decoder(dict[int, int])
"""They are few, and no two alike: compression would add to them."""
FileStamp = tuple[int, int, int]
"""Time, size and inode."""


class FileWords(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What of a file can be found by words, split into parts. Kept is what stands in its text; path and outline tell
    the rest."""

    body: Words
    path: str
    symbols: str
    docs: str

    def columns(self) -> tuple[str, str, str, str]:
        return repeated(counts_in(self.body)), self.path, self.symbols, self.docs


def words_of(path: str, symbols: Sequence[Symbol], body: Words) -> FileWords:
    return FileWords(
        body=body,
        path=repeated(counted(path).items()),
        symbols=repeated(counted(" ".join(symbol.name for symbol in symbols)).items()),
        docs=repeated(counted(" ".join(symbol.doc for symbol in symbols if symbol.doc)).items()),
    )


class Indexed(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A file as the index takes it."""

    path: bytes
    mtime: int
    size: int
    inode: int
    language: str
    kind: str
    lines: int
    symbols: tuple[Symbol, ...]
    words: FileWords


class IndexedFile(msgspec.Struct, frozen=True, gc=False):
    id: int
    path: str
    mtime: int
    size: int
    inode: int
    language: str
    kind: Kind


class IndexDamaged(Exception):
    """The file is no index, or not one of this version."""


_DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})


def is_damage(problem: Exception) -> bool:
    """Whether what is in the file is no index any more, though it could be opened."""
    if isinstance(problem, sqlite3.Error):
        code = getattr(problem, "sqlite_errorcode", 0) & 0xFF
        return code in _DAMAGED or "Could not decode" in str(problem)
    return isinstance(problem, zlib.error | msgspec.MsgspecError)


class IndexStore:
    """One connection, for one thread at a time."""

    def __init__(self, path: Path, *, is_writing: bool = False) -> None:
        self.path = path
        if is_writing:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            descriptor = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
            os.close(descriptor)
        try:
            address = f"{path.absolute().as_uri()}?mode={'rw' if is_writing else 'ro'}"
            self._db = sqlite3.connect(address, uri=True, timeout=5.0, check_same_thread=False)
            self._db.execute("pragma cache_size=-4096")
            if is_writing:
                # Of what is packed, less is left over at the ends of larger pages.
                self._db.execute("pragma page_size=8192")
                self._db.execute("pragma journal_mode=wal")
                self._db.execute("pragma synchronous=normal")
                _prepare(self, self._db)
            elif self.meta("version") != VERSION:
                raise IndexDamaged(f"{path} is of another version")
        except sqlite3.DatabaseError as problem:
            raise IndexDamaged(f"{path}: {problem}") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    def close(self) -> None:
        self._db.close()

    def meta(self, key: str) -> str:
        try:
            row = self._db.execute("select value from meta where key=?", (key,)).fetchone()
        except sqlite3.OperationalError:
            return ""
        return row[0] if row else ""

    def set_meta(self, key: str, value: str) -> None:
        with self._db:
            self._db.execute("insert or replace into meta values (?, ?)", (key, value))

    # What changes

    def put(self, files: Iterable[Indexed]) -> None:
        """All of them or none."""
        with self._db:
            for file in files:
                _insert(self._db, file, self._drop(file.path))

    def remove(self, paths: Iterable[bytes]) -> None:
        with self._db:
            for path in paths:
                self._drop(path)

    def tidy(self) -> None:
        """Where much was replaced, a quarter and more of the file is room that nobody uses."""
        asked = ("freelist_count", "page_count")
        free, count = (self._db.execute(f"pragma {name}").fetchone()[0] for name in asked)
        if free * 4 < count:
            return
        with contextlib.suppress(sqlite3.OperationalError):  # no room for a copy: it stays as large as it is
            with self._db:
                self._db.execute("insert into text (text) values ('optimize')")
            self._db.execute("vacuum")

    def set_near(self, near: Mapping[int, Mapping[int, int]]) -> None:
        """Of each file those that change with it, and how often."""
        rows = ((id, msgspec.msgpack.encode(others)) for id, others in near.items())
        with self._db:
            self._db.execute("delete from near")
            self._db.executemany("insert into near values (?, ?)", rows)

    def _drop(self, path: bytes) -> int | None:
        row = self._db.execute("select id from file where path=?", (path,)).fetchone()
        if row is None:
            return None
        id = row[0]
        symbols = self.outline(id).symbols
        self._db.execute(
            "insert into text (text, rowid, body, path, symbols, docs) values ('delete', ?, ?, ?, ?, ?)",
            (id, *words_of(os.fsdecode(path), symbols, self.body(id)).columns()),
        )
        self._db.executemany("delete from sym where name=? and file=? and place=?", _named_in(id, symbols))
        self._db.execute("delete from file where id=?", (id,))
        self._db.execute("delete from content where id=?", (id,))
        return id

    # What is asked

    def files(self, *, called: str = "") -> Iterator[IndexedFile]:
        """All, or those of that name, in whichever folder."""
        if not called:
            return _selected(self._db, "")
        plain, below = os.fsencode(called), os.fsencode(f"/{called}")
        inner = "select id from file where path=? or substr(path, ?)=?"  # by an index that has the paths
        return _selected(self._db, f" where id in ({inner})", plain, -len(below), below)

    def file(self, id: int) -> IndexedFile | None:
        return next(_selected(self._db, " where id=?", id), None)

    def files_of(self, ids: Iterable[int]) -> list[IndexedFile]:
        return list(_selected(self._db, f" where id in ({','.join(map(str, ids))})"))

    def file_at(self, path: str) -> IndexedFile | None:
        return next(_selected(self._db, " where path=?", os.fsencode(path)), None)

    def stamps(self) -> dict[str, FileStamp]:
        """Of all files what tells whether they have changed."""
        rows = self._db.execute("select path, mtime, size, inode from file")
        return {os.fsdecode(path): (mtime, size, inode) for path, mtime, size, inode in rows}

    def count(self, *, below: str = "", is_unseen: bool = False) -> int:
        """All files, or those of a folder, or those of which the path alone is known."""
        where, asked = "", ()
        if below:
            where, asked = (
                " where path > ? and path < ?",
                (os.fsencode(f"{below}/"), os.fsencode(f"{below}0")),
            )
        elif is_unseen:
            where = f" where mtime={NOT_LOOKED_AT}"  # a parameter would not use the index of those
        return int(self._db.execute(f"select count(*) from file{where}", asked).fetchone()[0])

    def outline(self, id: int) -> KeptOutline:
        row = self._db.execute("select map from content where id=?", (id,)).fetchone()
        return outline_in(row[0]) if row else KeptOutline(0, ())

    def body(self, id: int) -> Words:
        """The words of its text."""
        row = self._db.execute("select body from content where id=?", (id,)).fetchone()
        return words_in(row[0]) if row else ()

    def named(self, name: str, most: int = 400) -> list[tuple[int, int]]:
        """Files and places of the symbols with that name, in any case."""
        return self._db.execute(
            "select file, place from sym where name=? limit ?", (_sayable(name).lower(), most)
        ).fetchall()

    def named_like(self, text: str, most: int) -> list[tuple[str, int, int]]:
        """Names that begin with the text, then those that have it inside: (name, file, place)."""
        wanted = _sayable(text).lower()
        found: list[tuple[str, int, int]] = self._db.execute(
            "select name, file, place from sym where name >= ? and name < ? limit ?",
            (wanted, wanted + "\U0010ffff", most),
        ).fetchall()
        if len(found) < most:
            escaped = wanted.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
            found += self._db.execute(
                "select name, file, place from sym where name like ? escape '\\' limit ?",
                (f"%_{escaped}%" if wanted else "%", most - len(found)),
            ).fetchall()
        return list(dict.fromkeys(found))

    def matching(self, parts: Sequence[str], most: int) -> list[tuple[int, float]]:
        """Files with any of the words, the best first, with their scores (higher is better)."""
        if not parts:
            return []
        asked = " OR ".join(f'"{part}"' for part in parts if '"' not in part)
        rows = self._db.execute(
            "select rowid, bm25(text, ?, ?, ?, ?) as score from text where text match ? order by score limit ?",
            (*WEIGHTS, asked, most),
        )
        return [(row[0], -row[1]) for row in rows]

    def rarity(self, part: str) -> int:
        """How many files have the word."""
        row = self._db.execute("select doc from seen where term=?", (part,)).fetchone()
        return int(row[0]) if row else 0

    def changed_with(self, id: int) -> dict[int, int]:
        """Files, with how much says that they belong to it."""
        row = self._db.execute("select others from near where id=?", (id,)).fetchone()
        return _NEIGHBOURS.decode(row[0]) if row else {}

    def languages(self) -> list[tuple[str, int]]:
        rows = self._db.execute("select language, count(*) as n from file group by language order by n desc")
        return rows.fetchall()


_SEPARATOR = re.compile(r"::|[.#]")


def last_part(name: str) -> str:
    """`Start` of `Server.Start` and `Server::Start`: what a name is that says itself what it belongs to."""
    parts = _SEPARATOR.split(name)
    return parts[-1] if len(parts) > 1 and all(part.isidentifier() for part in parts) else name


def owners_said(name: str) -> list[str]:
    """`Server` of `Server.Start`."""
    return _SEPARATOR.split(name)[:-1] if last_part(name) != name else []


def _selected(db: sqlite3.Connection, where: str, *asked: object) -> Iterator[IndexedFile]:
    rows = db.execute(f"select id, path, mtime, size, inode, language, kind from file{where}", asked)
    return (IndexedFile(row[0], os.fsdecode(row[1]), *row[2:]) for row in rows)


def _prepare(store: IndexStore, db: sqlite3.Connection) -> None:
    tables = {row[0] for row in db.execute("select name from sqlite_master where type='table'")}
    if tables >= set(_TABLES) and store.meta("version") == VERSION:
        return
    if tables:
        raise IndexDamaged(f"{store.path} is of another version")
    db.executescript(_SCHEMA)
    store.set_meta("version", VERSION)


def _insert(db: sqlite3.Connection, file: Indexed, id: int | None) -> None:
    """A file that was known keeps its id, by which others know it."""
    row = (id, file.path, file.mtime, file.size, file.inode, file.language, file.kind)
    id = db.execute("insert into file values (?, ?, ?, ?, ?, ?, ?)", row).lastrowid
    assert id is not None
    db.execute(
        "insert into content values (?, ?, ?)",
        (id, packed_outline(file.lines, file.symbols), packed_words(file.words.body)),
    )
    db.executemany("insert into sym values (?, ?, ?)", _named_in(id, file.symbols))
    db.execute(
        "insert into text (rowid, body, path, symbols, docs) values (?, ?, ?, ?, ?)",
        (id, *file.words.columns()),
    )


def _named_in(id: int, symbols: Sequence[Symbol]) -> list[tuple[str, int, int]]:
    """The rows of `sym`, in its order."""
    return sorted(
        {
            (_sayable(name).lower(), id, place)
            for place, symbol in enumerate(symbols)
            for name in {symbol.name, last_part(symbol.name)}
        }
    )


def index_path(cache: Path, root: Path) -> Path:
    """Where the index of that folder lies."""
    name = hashlib.blake2b(os.fsencode(os.path.realpath(root)), digest_size=16).hexdigest()
    return cache / "repositories" / f"{name}.sqlite"


def keep_within(folder: Path, *, most_bytes: int = 500_000_000, days: float = 30.0) -> None:
    """Indexes that nobody asked for so long go, and the oldest while all together are too large."""
    found = sorted((path.stat().st_mtime, path) for path in folder.glob("*.sqlite"))
    sizes = {path: sum(part.stat().st_size for part in folder.glob(f"{path.name}*")) for _, path in found}
    total = sum(sizes.values())
    for used, path in found[:-1]:
        if time.time() - used > days * 86_400 or total > most_bytes:
            forget(path)
            total -= sizes[path]


def forget(path: Path) -> None:
    for ending in ("", "-wal", "-shm"):
        path.with_name(path.name + ending).unlink(missing_ok=True)


def _sayable(text: str) -> str:
    """SQLite takes no halves of characters."""
    return text.encode("utf-8", "replace").decode("utf-8")
