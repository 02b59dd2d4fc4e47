"""The index over all session files of one root: a SQLite database that can be thrown away at any time.

It knows which words a text has and where the text stands, and holds none: what is shown is read there. It is brought up
to date before every list: new and changed files are read, grown ones from where they were left, vanished ones
forgotten. Texts are read beside everything else (`reading_all`). A damaged or foreign database is replaced, a read-only
disk gets one in memory.
"""

import os
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from app.sessions.errors import SessionError
from app.sessions.excerpts import Term, excerpt, plain_excerpt, seamed, terms_of
from app.sessions.folders import session_files
from app.sessions.ids import lately
from app.sessions.lines_read import Rewritten, take, text_at
from app.sessions.listed import SessionHit, SessionSummary
from app.sessions.projection import milliseconds
from app.sessions.reading import read_header
from app.sessions.summary import Digest, SearchableText, storable

INDEX_NAME = ".index.sqlite"
_VERSION = 4
_SCHEMA = """
create table if not exists sessions(
    key integer primary key autoincrement, path blob not null, inode integer, size integer, mtime integer,
    read integer, tail blob, searchable integer not null default 0,
    id text, cwd text, parent text, created integer, digest blob);
create table if not exists texts(key integer primary key, session integer, at integer);
create table if not exists bounds(oldest integer, newest integer);
"""
"""`texts` says where a text begins in its session's file; the text itself is kept there and nowhere else. Its key tells
when it was said, about: what is newer than most stands behind all others, what is older before them. Numbers without
gaps take a third of the room that times would.
"""
_FILES_AT_ONCE = 20
_MODULE = "fts5"
_SEARCHABLE = (
    "create virtual table if not exists words using fts5(text, content='', columnsize=0, detail=none,"
    " tokenize='unicode61 remove_diacritics 2')"
)
"""Which words a text has, and nothing of it besides: a tenth of its size. Phrases are looked for in the text."""
_PLAIN = (
    "create table if not exists words(rowid integer primary key, text text)"  # no search module in SQLite
)
_CANDIDATES = 2_000
"""Texts that are looked into at most, for one search."""
_MANY = 5_000


_refreshing = threading.Lock()


class SessionIndex:
    """Over the files of `root` and of the folders directly in it. One thread at a time, whichever it is."""

    def __init__(self, root: Path, database: Path | None = None) -> None:
        self.root = root
        self._place = database or root / INDEX_NAME
        self._has_search = True
        self._db = self._connect()

    def close(self) -> None:
        self._db.close()

    def _connect(self) -> sqlite3.Connection:
        for attempt in range(2):
            try:
                return self._prepared(sqlite3.connect(self._place, timeout=2.0, check_same_thread=False))
            except sqlite3.OperationalError:
                break  # locked, or nowhere to write
            except sqlite3.DatabaseError:
                if attempt:
                    break
                self._remove()
        return self._prepared(sqlite3.connect(":memory:", check_same_thread=False))

    def _remove(self) -> None:
        for suffix in ("", "-wal", "-shm", "-journal"):
            self._place.with_name(self._place.name + suffix).unlink(missing_ok=True)

    def _prepared(self, db: sqlite3.Connection) -> sqlite3.Connection:
        try:
            db.execute("pragma journal_mode=wal")
            db.execute("pragma synchronous=off")  # it can be rebuilt from the files
            self._has_search = _has_search_module(db)
            wanted = 2 * _VERSION + self._has_search
            version = db.execute("pragma user_version").fetchone()[0]
            if version not in (0, wanted):
                raise sqlite3.DatabaseError("made by another version")
            if version == 0:
                db.execute(f"pragma user_version={wanted}")
            db.executescript(_SCHEMA)
            db.execute(_SEARCHABLE if self._has_search else _PLAIN)
            db.execute("select count(*) from sessions").fetchone()
            db.commit()
        except sqlite3.Error:
            db.close()
            raise
        return db

    def refresh(self) -> None:
        """Brings the index in step with the files. Another process that is doing so just now is left to it; another
        thread is waited for, and what it has read need not be read again."""
        with _refreshing:
            try:
                self._read_files()
            except sqlite3.OperationalError:
                self._db.rollback()
            except sqlite3.DatabaseError:
                self._db.close()
                self._remove()
                self._db = self._connect()
                self._read_files()

    def _read_files(self) -> None:
        known = {
            _path(self.root, row[1]): row
            for row in self._db.execute("select key, path, inode, size, mtime, read from sessions")
        }
        files = [(entry.stat(), entry) for entry in session_files(self.root)]
        for found, entry in files:
            row = known.pop(entry.path, None)
            if row is None:
                self._read_whole(entry.path, found)
            elif row[3] != found.st_size or row[4] != found.st_mtime_ns or row[2] != found.st_ino:
                self._read_again(row, found)
        for row in known.values():
            self._forget(row[0])
        if known:
            self._drop_lost()
        self._db.commit()

    def _read_whole(self, path: str, found: os.stat_result) -> None:
        try:
            header, offset = read_header(Path(path))
            digest = Digest(texts=[])
            read, tail = take(Path(path), offset, digest)
        except (SessionError, OSError):
            header, digest, read, tail = None, Digest(texts=[]), 0, b""
        self._db.execute(
            "insert into sessions(path, inode, size, mtime, read, tail, id, cwd, parent, created, digest)"
            " values(?,?,?,?,?,?,?,?,?,?,?)",
            (
                os.fsencode(os.path.relpath(path, self.root)),
                found.st_ino,
                found.st_size,
                found.st_mtime_ns,
                read,
                tail,
                storable(header.id) if header else None,
                storable(header.cwd) if header else None,
                storable(header.parent_session) if header and header.parent_session else None,
                milliseconds(header.timestamp) if header else 0,
                _packed(digest),
            ),
        )

    def _read_again(self, row: tuple[int, bytes, int, int, int, int], found: os.stat_result) -> None:
        key, inode, size, read = row[0], row[2], row[3], row[5]
        path = _path(self.root, row[1])
        stored = self._db.execute("select digest, id, tail from sessions where key=?", (key,)).fetchone()
        digest = _unpacked(stored[0])
        try:
            if inode != found.st_ino or found.st_size < size or not read or stored[1] is None:
                raise Rewritten
            read, tail = take(Path(path), read, digest, stored[2])
        except OSError:
            return
        except Rewritten:
            self._forget(key)
            self._read_whole(path, found)
            return
        self._db.execute(
            "update sessions set size=?, mtime=?, read=?, tail=?, digest=? where key=?",
            (found.st_size, found.st_mtime_ns, read, tail, _packed(digest), key),
        )

    def unread(self) -> int:
        """How many sessions hold lines that cannot be searched yet."""
        return self._db.execute("select count(*) from sessions where searchable < read").fetchone()[0]

    def read_some_texts(self) -> bool:
        """Of the lines that are known, some that cannot be searched yet, the newest first; False: all can."""
        rows = self._db.execute(
            "select key, path, searchable, read from sessions where searchable < read order by mtime desc limit ?",
            (_FILES_AT_ONCE,),
        ).fetchall()
        fresh: list[tuple[int, int, SearchableText]] = []
        for key, name, searchable, read in rows:
            digest, path = Digest(texts=[]), Path(_path(self.root, name))
            try:
                offset = searchable or read_header(path)[1]
                take(path, offset, digest, end=read, with_texts=True)
            except (SessionError, OSError, Rewritten):
                pass  # gone or changed just now; the next look at the files finds out
            fresh += ((milliseconds(text.time), key, text) for text in digest.texts)
            self._db.execute("update sessions set searchable=? where key=?", (read, key))
        if fresh:
            self._add_texts(sorted(fresh, key=lambda found: found[0]))
        self._db.commit()
        return bool(rows)

    def _add_texts(self, fresh: list[tuple[int, int, SearchableText]]) -> None:
        """In the order in which they were said, each with its time and its session."""
        low, high = self._db.execute("select min(key), max(key) from texts").fetchone()
        bounds = self._db.execute("select oldest, newest from bounds").fetchone()
        oldest, newest = bounds or (fresh[0][0], fresh[-1][0])
        middle = (oldest + newest) // 2 if bounds else oldest
        later = [found for found in fresh if found[0] >= middle]
        earlier = [found for found in reversed(fresh) if found[0] < middle]
        for place, (_, key, text) in enumerate(later, (high or 0) + 1):
            self._add_text(place, key, text)
        for place, (_, key, text) in enumerate(earlier, 1 - (low or 0)):
            self._add_text(-place, key, text)
        self._db.execute("delete from bounds")
        self._db.execute(
            "insert into bounds values(?,?)", (min(oldest, fresh[0][0]), max(newest, fresh[-1][0]))
        )

    def _add_text(self, place: int, key: int, text: SearchableText) -> None:
        self._db.execute("insert into texts(key, session, at) values(?,?,?)", (place, key, text.at))
        self._db.execute("insert into words(rowid, text) values(?,?)", (place, seamed(text.text)))

    def _forget(self, key: int) -> None:
        """Its texts are found no more. What words they had is forgotten when it is much."""
        self._db.execute("delete from sessions where key=?", (key,))

    def _drop_lost(self) -> None:
        whole = self._db.execute("select count(*) from texts").fetchone()[0]
        lost = self._db.execute(
            "select count(*) from texts where session not in (select key from sessions)"
        ).fetchone()[0]
        if lost > _MANY and lost > whole / 2:
            self._db.execute("delete from texts")
            self._db.execute(
                "insert into words(words) values('delete-all')" if self._has_search else "delete from words"
            )
            self._db.execute("update sessions set searchable=0")

    def tidy(self) -> None:
        """After much has been read: the words as small as they can be."""
        if self._has_search:
            self._db.execute("insert into words(words) values('optimize')")
            self._db.commit()
        free, pages = (
            self._db.execute(f"pragma {what}").fetchone()[0] for what in ("freelist_count", "page_count")
        )
        if free * 5 > pages:
            self._db.execute("vacuum")
        self._db.execute("pragma wal_checkpoint(truncate)")

    def sessions(self) -> list[SessionSummary]:
        """All of them, newest first."""
        self.refresh()
        found = list(self._summaries().values())
        now = time.time()
        found.sort(key=lambda summary: lately(summary.modified / 1000, now), reverse=True)
        return found

    def _summaries(self, keys: Iterable[int] | None = None) -> dict[int, SessionSummary]:
        which = "" if keys is None else f" and key in ({','.join(str(int(key)) for key in keys)})"
        rows = self._db.execute(
            "select key, path, id, cwd, parent, created, mtime, size, digest from sessions"
            f" where id is not null{which}"
        )
        return {row[0]: _summary(self.root, row) for row in rows}

    def search(self, query: str, *, limit: int = 50) -> list[SessionHit]:
        """Texts with all words of the query (each may be the beginning of a word), newest first; "…" is a phrase. Of
        those that have been read so far."""
        terms = terms_of(storable(query))
        if not terms:
            return []
        hits: list[SessionHit] = []
        summaries: dict[int, SessionSummary] = {}
        shown_of = excerpt if self._has_search else plain_excerpt
        for key, at in self._matching(terms):
            if key not in summaries:
                summaries.update(self._summaries((key,)))
            text = text_at(summaries[key].path, at) if key in summaries else None
            shown = None if text is None else shown_of(text.text, terms)
            if text is None or shown is None:
                continue
            hits.append(
                SessionHit(
                    session=summaries[key],
                    entry_id=text.entry,
                    role=text.role,
                    timestamp=text.time,
                    excerpt=shown,
                )
            )
            if len(hits) == limit:
                break
        return sorted(hits, key=lambda hit: hit.timestamp, reverse=True)

    def _matching(self, terms: list[Term]) -> Iterator[tuple[int, int]]:
        """Where texts are that have all the words, be it in another order; the newest first."""
        select = "select session, at from words join texts on texts.key = words.rowid where "
        if self._has_search:
            wanted = " ".join(_asked(term) for term in terms)
            sql = f"{select}words match ? order by words.rowid desc limit ?"
            return self._db.execute(sql, (wanted, _CANDIDATES))
        words = [word for term in terms for word in term.words]
        like = " and ".join("text like ?" for _ in words)
        likes = [f"%{word}%" for word in words]  # letters and digits
        return self._db.execute(f"{select}{like} order by words.rowid desc limit ?", (*likes, _CANDIDATES))


def _has_search_module(db: sqlite3.Connection) -> bool:
    try:
        db.execute(f"create virtual table temp.probe using {_MODULE}(x)")
        db.execute("drop table temp.probe")
    except sqlite3.OperationalError:
        return False
    return True


def _asked(term: Term) -> str:
    """In the database's own words; it knows no phrases, so it is asked for all of their words."""
    *whole, last = term.words
    return " ".join([*(f'"{word}"' for word in whole), f'"{last}"{"*" if term.is_open else ""}'])


def _path(root: Path, name: bytes) -> str:
    """Of a file, which is called in here as it is seen from the root."""
    return os.path.join(root, os.fsdecode(name))  # noqa: PTH118  (of thousands, at every start)


_KEPT = ("name", "first_prompt", "greeting", "messages", "cost", "modified")
"""Of a digest, in this order."""


def _packed(digest: Digest) -> bytes:
    return msgspec.msgpack.encode([getattr(digest, name) for name in _KEPT])


def _unpacked(packed: bytes) -> Digest:
    return Digest(**dict(zip(_KEPT, msgspec.msgpack.decode(packed), strict=True)), texts=[])


def _summary(
    root: Path, row: tuple[int, bytes, str, str, str | None, int, int, int, bytes]
) -> SessionSummary:
    _, path, session_id, cwd, parent, created, mtime, size, packed = row
    digest = _unpacked(packed)
    return SessionSummary(
        path=root / os.fsdecode(path),
        id=session_id,
        cwd=cwd,
        name=digest.name,
        first_prompt=digest.title,
        parent_session=parent,
        created=created,
        modified=digest.modified or created or mtime // 1_000_000,
        message_count=digest.messages,
        cost=digest.cost,
        size=size,
    )
