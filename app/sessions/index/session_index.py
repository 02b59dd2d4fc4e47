"""The index over all session files of one root: an SQLite database that can be deleted at any time.

It stores which words a text has and where the text is in its file, but not the text. It is refreshed before every
list: new and changed files are read, grown files from where reading stopped, deleted files dropped. The same pass
sums usage; copies of an entry (by forks, clones, copied files) count once. Texts are indexed in the background
(`background_indexing`). A damaged or foreign database is replaced; on a read-only disk the index is in memory.
"""

import os
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import msgspec

from app.sessions.context_projection import unix_milliseconds
from app.sessions.errors import SessionError, system_error_text
from app.sessions.file.session_reader import read_session_header
from app.sessions.index.excerpts import (
    SearchTerm,
    insert_word_breaks,
    make_excerpt_without_sqlite_search,
    make_search_excerpt,
    parse_search_query,
)
from app.sessions.index.line_reader import (
    SearchableTextCollector,
    SessionFileRewritten,
    read_searchable_text_at,
    read_session_lines,
)
from app.sessions.index.list_values import SessionSearchHit, SessionSummary
from app.sessions.index.session_digest import SearchableText, SessionDigest, text_valid_for_database
from app.sessions.index.session_line import decode_session_line
from app.sessions.index.token_usage import (
    UNKNOWN_USAGE_GROUP_TITLE,
    SessionDayModelUsage,
    SessionEntryUsage,
    SessionOfUsage,
    SessionUsageTally,
    SkippedUsageLine,
    TokenUsageReport,
    TokenUsageSum,
    day_of_quarter_hour,
)
from app.sessions.session_folders import session_files
from app.sessions.session_ids import recency_sort_key

SESSION_INDEX_FILE_NAME = ".index.sqlite"
_SESSION_INDEX_VERSION = 5
_SESSION_INDEX_SCHEMA = """
create table if not exists sessions(
    key integer primary key autoincrement, path blob not null, inode integer, size integer, mtime integer,
    read integer, tail blob, searchable integer not null default 0,
    id text, cwd text, parent text, created integer, digest blob, model text, broken integer, problem text);
create table if not exists used(
    session integer, quarter integer, model text, copied integer, answers integer, input integer, output integer,
    cache_read integer, cache_write integer, cost real);
create table if not exists counted(key integer primary key, session integer);
create table if not exists broken(session integer, line integer, why text);
create table if not exists texts(key integer primary key, session integer, at integer);
create table if not exists bounds(oldest integer, newest integer);
"""
"""The SQL schema of the database. `texts` holds the position of a text in its session's file. Its key follows the
time of the text: newer texts come last. Keys without gaps take a third of the room that times would. `counted` maps
an entry to the session for which it was counted; in `used`, the row of another session with the same entry names it
in `copied`, and counts when the first session is deleted."""
_MAX_NAMED_BROKEN_LINES = 5
"""The maximum number of broken lines of one file that are listed with their position; further ones are only counted."""
_INDEXED_FILES_PER_BATCH = 20
_SQLITE_SEARCH_MODULE = "fts5"
_CREATE_SEARCH_TABLE = (
    "create virtual table if not exists words using fts5(text, content='', columnsize=0, detail=none,"
    " tokenize='unicode61 remove_diacritics 2')"
)
"""The SQL that creates the search table: it stores the words of texts without positions, in a tenth of the texts'
size; phrases are then checked in the text itself."""
_CREATE_TABLE_WITHOUT_SEARCH_MODULE = (
    "create table if not exists words(rowid integer primary key, text text)"  # no search module in SQLite
)
_MAX_SEARCH_CANDIDATES = 2_000
"""The maximum number of texts that one search reads."""
_COMPACT_INDEX_AFTER_ROWS = 5_000


_refresh_lock = threading.Lock()


class SessionIndex:
    """The search index of the sessions in `root` and in the folders directly in it. Used by one thread at a
    time, which may change."""

    def __init__(self, root: Path, database: Path | None = None, *, patience: float = 2.0) -> None:
        """Opens the index without reading it. `patience` is the number of seconds to wait for another process that
        writes the database."""
        self.root = root
        self._start = os.path.join(root, "")  # noqa: PTH118  (of thousands of files, at every start)
        self._patience = patience
        self._place = database or root / SESSION_INDEX_FILE_NAME
        self._has_search = True
        self._db = self._connect()

    def close(self) -> None:
        self._db.close()

    def _connect(self) -> sqlite3.Connection:
        for attempt in range(2):
            try:
                return self._prepare_database(
                    sqlite3.connect(self._place, timeout=self._patience, check_same_thread=False)
                )
            except sqlite3.OperationalError:
                break  # locked, or nowhere to write
            except sqlite3.DatabaseError:
                if attempt:
                    break
                self._remove_session()
        return self._open_in_memory()

    def _open_in_memory(self) -> sqlite3.Connection:
        return self._prepare_database(sqlite3.connect(":memory:", check_same_thread=False))

    def _remove_session(self) -> None:
        for suffix in ("", "-wal", "-shm", "-journal"):
            self._place.with_name(self._place.name + suffix).unlink(missing_ok=True)

    def _prepare_database(self, db: sqlite3.Connection) -> sqlite3.Connection:
        try:
            db.execute("pragma journal_mode=wal")
            db.execute("pragma synchronous=off")  # it can be rebuilt from the files
            self._has_search = _has_search_module(db)
            wanted = 2 * _SESSION_INDEX_VERSION + self._has_search
            version = db.execute("pragma user_version").fetchone()[0]
            if version not in (0, wanted):
                raise sqlite3.DatabaseError("made by another version")
            if version == 0:
                db.execute(f"pragma user_version={wanted}")
            db.executescript(_SESSION_INDEX_SCHEMA)
            db.execute(_CREATE_SEARCH_TABLE if self._has_search else _CREATE_TABLE_WITHOUT_SEARCH_MODULE)
            db.execute("select count(*) from sessions").fetchone()
            db.commit()
        except sqlite3.Error:
            db.close()
            raise
        return db

    def refresh(self) -> bool:
        """Brings the index up to date with the session files, after waiting for another thread that does so.
        Returns False when another process is writing; that process then updates the index."""
        with _refresh_lock:
            try:
                self._read_files()
            except sqlite3.OperationalError:
                self._db.rollback()
                return False
            except sqlite3.DatabaseError:
                self._db.close()
                self._remove_session()
                self._db = self._connect()
                self._read_files()
            return True

    def _read_files(self) -> None:
        files = list(_paths_with_stat(session_files(self.root)))
        known = self._indexed_files()
        if len(files) == len(known) and all(
            path in known and known[path].is_unchanged(found) for path, found in files
        ):
            return
        self._db.execute("begin immediate")
        known = self._indexed_files()  # what another process has read by now
        anew: dict[str, os.stat_result] = {}
        lost: list[int] = []
        for path, found in files:
            row = known.pop(path, None)
            if row is None:
                anew[path] = found
            elif not row.is_unchanged(found) and not self._read_grown_file(row, path, found):
                anew[path] = found
                lost.append(row.key)
        lost += (row.key for row in known.values())
        if lost:
            self._remove_sessions(lost)
        # Copies are read after their originals: file names begin with the time of creation.
        for path in sorted(anew, key=os.path.basename):
            self._read_from_start(path, anew[path])
        if lost:
            self._recount_orphaned_copies()
        self._db.commit()

    def _indexed_files(self) -> "dict[str, _IndexedFile]":
        rows = self._db.execute("select key, path, inode, size, mtime, read, problem is null from sessions")
        return {self._absolute_path(row[1]): _IndexedFile(row[0], *row[2:]) for row in rows}

    def _absolute_path(self, name: bytes) -> str:
        """Returns the absolute path of a session file, whose name in the database is relative to the root."""
        return self._start + os.fsdecode(name)

    def _read_from_start(self, path: str, found: os.stat_result) -> None:
        key = self._db.execute(
            "insert into sessions(path, inode, size, mtime, read, broken) values(?,?,?,?,0,0)",
            (os.fsencode(path[len(self._start) :]), found.st_ino, found.st_size, found.st_mtime_ns),
        ).lastrowid
        assert key is not None
        try:
            header, offset = read_session_header(Path(path))
            created = unix_milliseconds(header.timestamp)
            lines = _LineCollector(
                SessionDigest(), SessionUsageTally(UNKNOWN_USAGE_GROUP_TITLE, _created_time(created, found))
            )
            read, tail = read_session_lines(Path(path), offset, lines)
        except (SessionError, OSError) as problem:
            why = problem.what if isinstance(problem, SessionError) else system_error_text(problem)
            self._db.execute("update sessions set problem=? where key=?", (text_valid_for_database(why), key))
            return
        self._db.execute(
            "update sessions set id=?, cwd=?, parent=?, created=? where key=?",
            (
                text_valid_for_database(header.id),
                text_valid_for_database(header.cwd),
                text_valid_for_database(header.parent_session) if header.parent_session else None,
                created,
                key,
            ),
        )
        self._store_session(key, path, lines, found, read, tail)

    def _read_grown_file(self, row: "_IndexedFile", path: str, found: os.stat_result) -> bool:
        """Reads a grown session file from where reading stopped. False: the file was replaced or cannot be read
        any more."""
        if row.inode != found.st_ino or found.st_size < row.size or not row.read_bytes or not row.is_session:
            return False
        packed, model, created, tail = self._db.execute(
            "select digest, model, created, tail from sessions where key=?", (row.key,)
        ).fetchone()
        lines = _LineCollector(
            _unpack_digest(packed), SessionUsageTally(model, _created_time(created, found))
        )
        try:
            read, tail = read_session_lines(Path(path), row.read_bytes, lines, tail)
        except (SessionFileRewritten, OSError):
            return False
        self._store_session(row.key, path, lines, found, read, tail)
        return True

    def _store_session(
        self, key: int, path: str, lines: "_LineCollector", found: os.stat_result, read: int, tail: bytes
    ) -> None:
        self._db.execute(
            "update sessions set size=?, mtime=?, read=?, tail=?, digest=?, model=?, broken=broken+? where key=?",
            (
                found.st_size,
                found.st_mtime_ns,
                read,
                tail,
                _pack_digest(lines.digest),
                lines.tally.model,
                len(lines.broken),
                key,
            ),
        )
        self._store_usage(key, lines.tally.uses)
        if lines.broken:
            named = self._db.execute("select count(*) from broken where session=?", (key,)).fetchone()[0]
            for at, why in lines.broken[: _MAX_NAMED_BROKEN_LINES - named]:
                self._db.execute("insert into broken values(?,?,?)", (key, _line_number_at(path, at), why))

    def _store_usage(self, key: int, uses: list[SessionEntryUsage]) -> None:
        entries = {use.entry_hash for use in uses} - {None}
        counted = {
            entry
            for (entry,) in self._db.execute(
                "select key from counted where key in (select value from json_each(?))", (str(list(entries)),)
            )
        }
        self._db.executemany("insert into counted values(?,?)", ((entry, key) for entry in entries - counted))
        sums: dict[tuple[int | None, str, int | None], TokenUsageSum] = {}
        for use in uses:
            copied = use.entry_hash if use.entry_hash in counted else None
            sums.setdefault((use.quarter_hour, use.model, copied), TokenUsageSum()).add(use.usage)
            if use.entry_hash is not None:
                counted.add(use.entry_hash)
        self._db.executemany(
            "insert into used values(?,?,?,?,?,?,?,?,?,?)",
            ((key, *slot, *msgspec.structs.astuple(used)) for slot, used in sums.items()),
        )

    def count_unindexed(self) -> int:
        """Returns how many sessions have lines that are not searchable yet."""
        return self._db.execute("select count(*) from sessions where searchable < read").fetchone()[0]

    def index_text_batch(self) -> bool:
        """Makes the texts of a batch of sessions searchable, newest first. Returns False when all are."""
        rows = self._db.execute(
            "select key, path, searchable, read from sessions where searchable < read order by mtime desc limit ?",
            (_INDEXED_FILES_PER_BATCH,),
        ).fetchall()
        fresh: list[tuple[int, int, SearchableText]] = []
        for key, name, searchable, read in rows:
            texts, path = SearchableTextCollector(), Path(self._absolute_path(name))
            try:
                offset = searchable or read_session_header(path)[1]
                read_session_lines(path, offset, texts, end=read)
            except (SessionError, OSError, SessionFileRewritten):
                pass  # the file disappeared or changed just now; the next refresh handles it
            fresh += ((unix_milliseconds(text.time), key, text) for text in texts.found)
            self._db.execute("update sessions set searchable=? where key=?", (read, key))
        if fresh:
            self._add_texts(sorted(fresh, key=lambda found: found[0]))
        self._db.commit()
        return bool(rows)

    def _add_texts(self, fresh: list[tuple[int, int, SearchableText]]) -> None:
        """Adds texts to the search index, given in time order with their times and sessions."""
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
        self._db.execute("insert into texts(key, session, at) values(?,?,?)", (place, key, text.offset))
        self._db.execute("insert into words(rowid, text) values(?,?)", (place, insert_word_breaks(text.text)))

    def _remove_sessions(self, keys: list[int]) -> None:
        """Removes sessions from the search index. Their words are removed only when they are many, by indexing
        all texts again."""
        self._db.executemany("delete from sessions where key=?", ((key,) for key in keys))
        for table in ("used", "counted", "broken"):
            self._db.execute(f"delete from {table} where session not in (select key from sessions)")
        whole = self._db.execute("select count(*) from texts").fetchone()[0]
        lost = self._db.execute(
            "select count(*) from texts where session not in (select key from sessions)"
        ).fetchone()[0]
        if lost > _COMPACT_INDEX_AFTER_ROWS and lost > whole / 2:
            self._db.execute("delete from texts")
            self._db.execute(
                "insert into words(words) values('delete-all')" if self._has_search else "delete from words"
            )
            self._db.execute("update sessions set searchable=0")

    def _recount_orphaned_copies(self) -> None:
        """Counts entries whose session was deleted for the first remaining session that holds a copy."""
        orphans = self._db.execute(
            "select rowid, copied, session from used where copied not in (select key from counted) order by session"
        ).fetchall()
        for row, entry, session in orphans:
            if self._db.execute("insert or ignore into counted values(?,?)", (entry, session)).rowcount:
                self._db.execute("update used set copied=null where rowid=?", (row,))

    def compact_database(self) -> None:
        """Compacts the search database, after much was indexed."""
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
        """Returns the summaries of all sessions, newest first."""
        self.refresh()
        found = list(self._summaries().values())
        now = time.time()
        found.sort(key=lambda summary: recency_sort_key(summary.modified / 1000, now), reverse=True)
        return found

    def _summaries(self, keys: Iterable[int] | None = None) -> dict[int, SessionSummary]:
        which = "" if keys is None else f" and key in ({','.join(str(int(key)) for key in keys)})"
        rows = self._db.execute(
            "select key, path, id, cwd, parent, created, mtime, size, digest from sessions"
            f" where id is not null{which}"
        )
        return {row[0]: _summary_of_row(self.root, row) for row in rows}

    def usage(self) -> TokenUsageReport:
        """Returns the token usage of all sessions. Where the database cannot be stored, all files are read, with
        the same result."""
        if not self.refresh():
            self._db.close()
            self._db = self._open_in_memory()
            self._read_files()
        sessions: dict[int, SessionOfUsage] = {}
        for key, name, id_, cwd, packed in self._db.execute(
            "select key, path, id, cwd, digest from sessions where id is not null"
        ):
            title, first_prompt, greeting, *_ = msgspec.msgpack.decode(packed)
            sessions[key] = SessionOfUsage(
                path=self._absolute_path(name), id=id_, cwd=cwd, title=title or first_prompt or greeting or ""
            )
        days: dict[int | None, str] = {}
        parts: list[SessionDayModelUsage] = []
        for key, quarter, model, *sums in self._db.execute(
            "select session, quarter, model, sum(answers), sum(input), sum(output), sum(cache_read),"
            " sum(cache_write), sum(cost) from used where copied is null group by session, quarter, model"
        ):
            day = days.get(quarter) or days.setdefault(quarter, day_of_quarter_hour(quarter))
            parts.append(
                SessionDayModelUsage(session=sessions[key], day=day, model=model, usage=TokenUsageSum(*sums))
            )
        return TokenUsageReport(
            parts=tuple(parts),
            skipped=tuple(self._skipped_usage()),
        )

    def _skipped_usage(self) -> Iterator[SkippedUsageLine]:
        named: dict[int, list[tuple[int, str]]] = {}
        for key, line, why in self._db.execute(
            "select session, line, why from broken order by session, line"
        ):
            named.setdefault(key, []).append((line, why))
        for key, name, is_open, broken, problem in self._db.execute(
            "select key, path, read < size, broken, problem from sessions"
            " where problem is not null or broken or read < size order by path"
        ):
            path = self._absolute_path(name)
            if problem is not None:
                yield SkippedUsageLine(path=path, why=problem)
                continue
            lines = named.get(key, [])
            yield from (SkippedUsageLine(path=path, line=line, why=why) for line, why in lines)
            if broken > len(lines):
                yield SkippedUsageLine(
                    path=path, why=f"{broken - len(lines)} more of its lines cannot be read"
                )
            if is_open:
                yield SkippedUsageLine(path=path, why="its last line has no end yet")

    def search(self, query: str, *, limit: int = 50) -> list[SessionSearchHit]:
        """Returns indexed session texts that contain all terms of the query, newest first. Each word may be a
        prefix; "…" is a phrase."""
        terms = parse_search_query(text_valid_for_database(query))
        if not terms:
            return []
        hits: list[SessionSearchHit] = []
        summaries: dict[int, SessionSummary] = {}
        shown_of = make_search_excerpt if self._has_search else make_excerpt_without_sqlite_search
        for key, at in self._matching_positions(terms):
            if key not in summaries:
                summaries.update(self._summaries((key,)))
            text = read_searchable_text_at(summaries[key].path, at) if key in summaries else None
            shown = None if text is None else shown_of(text.text, terms)
            if text is None or shown is None:
                continue
            hits.append(
                SessionSearchHit(
                    session=summaries[key],
                    entry_id=text.entry_id,
                    role=text.role,
                    timestamp=text.time,
                    excerpt=shown,
                )
            )
            if len(hits) == limit:
                break
        return sorted(hits, key=lambda hit: hit.timestamp, reverse=True)

    def _matching_positions(self, terms: list[SearchTerm]) -> Iterator[tuple[int, int]]:
        """Yields the positions of texts that contain all words in any order, newest first."""
        select = "select session, at from words join texts on texts.key = words.rowid where "
        if self._has_search:
            wanted = " ".join(_database_query(term) for term in terms)
            sql = f"{select}words match ? order by words.rowid desc limit ?"
            return self._db.execute(sql, (wanted, _MAX_SEARCH_CANDIDATES))
        words = [word for term in terms for word in term.words]
        like = " and ".join("text like ?" for _ in words)
        likes = [f"%{word}%" for word in words]  # letters and digits
        return self._db.execute(
            f"{select}{like} order by words.rowid desc limit ?", (*likes, _MAX_SEARCH_CANDIDATES)
        )


class _IndexedFile(msgspec.Struct, frozen=True, array_like=True):
    """The database row of an indexed session file."""

    key: int
    inode: int
    size: int
    mtime: int
    read_bytes: int
    is_session: bool

    def is_unchanged(self, found: os.stat_result) -> bool:
        """Whether the session file is unchanged since it was indexed. Files that could not be read are always
        tried again."""
        there = (found.st_ino, found.st_size, found.st_mtime_ns)
        return bool(self.is_session) and (self.inode, self.size, self.mtime) == there


class _LineCollector:
    """Collects digest, usage and broken lines from new lines of a session file."""

    def __init__(self, digest: SessionDigest, tally: SessionUsageTally) -> None:
        self.digest = digest
        self.tally = tally
        self.broken: list[tuple[int, str]] = []
        """The offset of each broken line and the reason why it is broken."""

    def receive_session_line(self, line: bytes, at: int) -> None:
        found, why = decode_session_line(line)
        if found is not None:
            self.digest.add(found, line)
        if why:
            self.broken.append((at, why))
        elif found is not None:
            self.tally.add(found)


def _paths_with_stat(files: Iterable[os.DirEntry[str]]) -> Iterator[tuple[str, os.stat_result]]:
    for entry in files:
        with suppress(OSError):  # gone just now
            yield entry.path, entry.stat()


def _created_time(created: int, found: os.stat_result) -> int:
    return created or found.st_mtime_ns // 1_000_000


def _line_number_at(path: str, at: int) -> int:
    """Returns the number of the line that begins at an offset of a session file."""
    try:
        with Path(path).open("rb") as file:
            return file.read(at).count(b"\n") + 1
    except OSError:
        return 0


def _has_search_module(db: sqlite3.Connection) -> bool:
    try:
        db.execute(f"create virtual table temp.probe using {_SQLITE_SEARCH_MODULE}(x)")
        db.execute("drop table temp.probe")
    except sqlite3.OperationalError:
        return False
    return True


def _database_query(term: SearchTerm) -> str:
    """Returns a search term in SQLite's query language, as single words, because the index has no positions to
    search for phrases."""
    *whole, last = term.words
    return " ".join([*(f'"{word}"' for word in whole), f'"{last}"{"*" if term.is_prefix else ""}'])


_SESSION_DIGEST_FIELDS = ("name", "first_prompt", "greeting", "messages", "cost", "modified")
"""The fields of a digest in the order in which they are stored."""


def _pack_digest(digest: SessionDigest) -> bytes:
    return msgspec.msgpack.encode([getattr(digest, name) for name in _SESSION_DIGEST_FIELDS])


def _unpack_digest(packed: bytes) -> SessionDigest:
    return SessionDigest(**dict(zip(_SESSION_DIGEST_FIELDS, msgspec.msgpack.decode(packed), strict=True)))


def _summary_of_row(
    root: Path, row: tuple[int, bytes, str, str, str | None, int, int, int, bytes]
) -> SessionSummary:
    _, path, session_id, cwd, parent, created, mtime, size, packed = row
    digest = _unpack_digest(packed)
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
