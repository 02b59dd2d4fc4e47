"""The index over all session files of one root: a SQLite database that can be thrown away at any time.

It is brought up to date before every list: new and changed files are read, grown ones from where they were left,
vanished ones forgotten. Texts are read when something is searched, or beside everything else (`reading_all`). A
damaged or foreign database is replaced, a read-only disk gets one in memory.
"""

import os
import sqlite3
import threading
import time
from collections.abc import Iterable
from pathlib import Path

import msgspec

from app.sessions.errors import SessionError
from app.sessions.folders import session_files
from app.sessions.ids import lately
from app.sessions.projection import milliseconds
from app.sessions.reading import read_header
from app.sessions.summary import Digest, SearchableText, storable
from tools.patterns import late

INDEX_NAME = ".index.sqlite"
_VERSION = 2
_SCHEMA = """
create table if not exists sessions(
    key integer primary key, path blob unique not null, inode integer, size integer, mtime integer, read integer,
    tail blob, searchable integer not null default 0,
    id text, cwd text, parent text, created integer, header blob, digest blob);
create table if not exists texts(key integer primary key, session integer, entry text, role text, time text);
create index if not exists texts_of_session on texts(session);
"""
_FILES_AT_ONCE = 20
_SHORT, _BEGINNING = 256 * 1024, 64 * 1024
"""Bytes of a file that is read whole where nobody can wait, and of the part of a longer one that is."""
_LAST_TIME = 1 << 42
"""Milliseconds; rows are numbered by time, and numbers end at 63 bits."""
_MODULE = "fts5"
_SEARCHABLE = (
    "create virtual table if not exists words using fts5(text, tokenize='unicode61 remove_diacritics 2')"
)
_PLAIN = (
    "create table if not exists words(rowid integer primary key, text text)"  # no search module in SQLite
)

# Scripts without spaces between words: every character is made a word of its own.
_UNSPACED = late(r"(?<=[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af])")
_SEAM = "\u200b"
_LIKE_MARKS = late(r"[%_!]")
_WORDS = late(r'"([^"]*)"?|(\S+)')


class SessionSummary(msgspec.Struct, frozen=True, kw_only=True):
    """What a list shows of one session."""

    path: Path
    id: str
    cwd: str
    name: str | None
    first_prompt: str | None
    parent_session: str | None
    created: int
    modified: int
    """Unix milliseconds: the newest message, else the header's time, else the file's."""
    message_count: int
    cost: float
    size: int

    @property
    def title(self) -> str:
        return self.name or self.first_prompt or "(no messages)"


class SessionHit(msgspec.Struct, frozen=True, kw_only=True):
    """A text that matches; `excerpt` has the matches between \\x01 and \\x02."""

    session: SessionSummary
    entry_id: str
    role: str
    timestamp: str
    excerpt: str


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

    def refresh(self, *, with_texts: bool = False) -> None:
        """Brings the index in step with the files. Another process that is doing so just now is left to it; another
        thread is waited for, and what it has read need not be read again."""
        with _refreshing:
            self._refresh_alone(with_texts)

    def _refresh_alone(self, with_texts: bool) -> None:
        try:
            self._refresh(with_texts)
        except sqlite3.OperationalError:
            self._db.rollback()
        except sqlite3.DatabaseError:
            self._db.close()
            self._remove()
            self._db = self._connect()
            self._refresh(with_texts)

    def _refresh(self, with_texts: bool) -> None:
        self._read_files()
        self._db.commit()
        while with_texts and self.read_some_texts():
            pass

    def _read_files(self) -> None:
        known = {
            os.fsdecode(row[1]): row
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

    def _read_whole(self, path: str, found: os.stat_result) -> None:
        try:
            header, offset = read_header(Path(path))
            digest = Digest(texts=[])
            read, tail = _take(Path(path), offset, digest)
        except (SessionError, OSError):
            header, digest, read, tail = None, Digest(texts=[]), 0, b""
        self._db.execute(
            "insert into sessions(path, inode, size, mtime, read, tail, id, cwd, parent, created, digest)"
            " values(?,?,?,?,?,?,?,?,?,?,?)",
            (
                os.fsencode(path),
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
        path = os.fsdecode(row[1])
        stored = self._db.execute("select digest, id, tail from sessions where key=?", (key,)).fetchone()
        if inode != found.st_ino or found.st_size < size or not read or stored[1] is None:
            self._forget(key)
            self._read_whole(path, found)
            return
        digest: Digest = msgspec.msgpack.decode(stored[0], type=Digest)
        try:
            read, tail = _take(Path(path), read, digest, stored[2])
        except OSError:
            return
        except _Rewritten:
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
            digest, path = Digest(texts=[]), Path(os.fsdecode(name))
            try:
                offset = searchable or read_header(path)[1]
                _take(path, offset, digest, end=read, with_texts=True)
            except (SessionError, OSError, _Rewritten):
                pass  # gone or changed just now; the next look at the files finds out
            fresh += ((_number(text.time), key, text) for text in digest.texts)
            self._db.execute("update sessions set searchable=? where key=?", (read, key))
        fresh.sort(key=lambda found: found[0])
        for number, key, text in fresh:
            self._add_text(number, key, text)
        self._db.commit()
        return bool(rows)

    def _add_text(self, number: int, key: int, text: SearchableText) -> None:
        """Rows are numbered by time, so that their order is the order of answers, whenever they were read."""
        last = self._db.execute(
            "select max(key) from texts where key between ? and ?", (number, number + 0xFFFFF)
        )
        place = (last.fetchone()[0] or number - 1) + 1
        self._db.execute(
            "insert into texts(key, session, entry, role, time) values(?,?,?,?,?)",
            (place, key, text.entry, text.role, text.time),
        )
        self._db.execute(
            "insert into words(rowid, text) values(?,?)", (place, _UNSPACED.sub(_SEAM, text.text))
        )

    def _forget(self, key: int) -> None:
        self._db.execute("delete from words where rowid in (select key from texts where session=?)", (key,))
        self._db.execute("delete from texts where session=?", (key,))
        self._db.execute("delete from sessions where key=?", (key,))

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
        return {row[0]: _summary(row) for row in rows}

    def search(self, query: str, *, limit: int = 50) -> list[SessionHit]:
        """Texts with all words of the query (each may be the beginning of a word), newest first; "…" is a phrase."""
        self.refresh(with_texts=True)
        return self.search_known(query, limit=limit)

    def search_known(self, query: str, *, limit: int = 50) -> list[SessionHit]:
        """As `search`, in what has been read so far."""
        words = [(phrase or word, bool(phrase)) for phrase, word in _WORDS.findall(query)]
        words = [(word, is_phrase) for word, is_phrase in words if any(map(str.isalnum, word))]
        if not words:
            return []
        rows = sorted(self._matching(words, limit), key=lambda row: row[3], reverse=True)
        summaries = self._summaries({row[0] for row in rows})
        return [
            SessionHit(
                session=summaries[row[0]],
                entry_id=row[1],
                role=row[2],
                timestamp=row[3],
                excerpt=row[4].replace(_SEAM, ""),
            )
            for row in rows
            if row[0] in summaries
        ]

    def _matching(self, words: list[tuple[str, bool]], limit: int) -> list[tuple[int, str, str, str, str]]:
        select = "select session, entry, role, time, "
        source = " from words join texts on texts.key = words.rowid where "
        if self._has_search:
            select += "snippet(words, 0, char(1), char(2), '…', 16)"
            terms = storable(" ".join(_term(word, is_phrase) for word, is_phrase in words))
            sql = f"{select}{source}words match ? order by words.rowid desc limit ?"
            return self._db.execute(sql, (terms, limit)).fetchall()
        select += "substr(text, 1, 160)"
        wanted = " and ".join("text like ? escape '!'" for _ in words)
        likes = [f"%{_escaped(word)}%" for word, _ in words]
        return self._db.execute(
            f"{select}{source}{wanted} order by words.rowid desc limit ?", (*likes, limit)
        ).fetchall()


def _has_search_module(db: sqlite3.Connection) -> bool:
    try:
        db.execute(f"create virtual table temp.probe using {_MODULE}(x)")
        db.execute("drop table temp.probe")
    except sqlite3.OperationalError:
        return False
    return True


def _number(time: str) -> int:
    """The first row number of a moment; a million fit into each millisecond."""
    return min(max(milliseconds(time), 0), _LAST_TIME) << 20


def _escaped(word: str) -> str:
    return _LIKE_MARKS.sub(r"!\g<0>", _UNSPACED.sub(_SEAM, word))


def _term(word: str, is_phrase: bool) -> str:
    quoted = '"' + _UNSPACED.sub(_SEAM, word).replace('"', " ") + '"'
    return quoted if is_phrase else quoted + "*"


def _packed(digest: Digest) -> bytes:
    return msgspec.msgpack.encode(msgspec.structs.replace(digest, texts=[]))


class _Rewritten(Exception):
    """What was read before is not what stands there now."""


def _take(
    path: Path,
    offset: int,
    digest: Digest,
    tail: bytes = b"",
    *,
    end: int | None = None,
    with_texts: bool = False,
) -> tuple[int, bytes]:
    """Reads whole lines from `offset` on; returns where the next one will begin, and the bytes before that."""
    with path.open("rb", buffering=1 << 18) as file:
        file.seek(offset - len(tail))
        if file.read(len(tail)) != tail:
            raise _Rewritten
        line = b""
        for line in file:
            if not line.endswith(b"\n") or (end is not None and offset >= end):
                break
            digest.take(line, with_texts=with_texts)
            offset += len(line)
            tail = line[-64:]
    return offset, tail


def _summary(row: tuple[int, bytes, str, str, str | None, int, int, int, bytes]) -> SessionSummary:
    _, path, session_id, cwd, parent, created, mtime, size, packed = row
    digest: Digest = _unpacker.decode(packed)
    return SessionSummary(
        path=Path(os.fsdecode(path)),
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


_unpacker = msgspec.msgpack.Decoder(Digest)


def summary_of_file(name: str) -> SessionSummary | None:
    """What the file itself says, or its beginning; None when it is no session."""
    path, digest = Path(name), Digest(texts=[])
    try:
        header, offset = read_header(path)
        found = path.stat()
        is_short = found.st_size <= _SHORT
        with path.open("rb") as file:
            file.seek(offset)
            for line in file.read(-1 if is_short else _BEGINNING).splitlines(keepends=True):
                if line.endswith(b"\n"):
                    digest.take(line)
    except (SessionError, OSError):
        return None
    return SessionSummary(
        path=path,
        id=header.id,
        cwd=header.cwd,
        name=digest.name,
        first_prompt=digest.title,
        parent_session=header.parent_session,
        created=milliseconds(header.timestamp),
        modified=(digest.modified if is_short else 0) or found.st_mtime_ns // 1_000_000,
        message_count=digest.messages if is_short else -1,
        cost=digest.cost if is_short else 0.0,
        size=found.st_size,
    )
