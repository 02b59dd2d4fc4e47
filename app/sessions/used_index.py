"""What all session files of one root used, and the database that keeps it in the cache folder.

It can be thrown away at any time. A file is known by size and time of change: a new one is read, a grown one from
where it was left, another one anew. What copies of an entry used (forks, clones, files that were copied) counts once.
"""

import os
import sqlite3
import time
from collections.abc import Iterable
from contextlib import closing, suppress
from pathlib import Path

import msgspec

from app.sessions.errors import SessionError, reason
from app.sessions.folders import session_files
from app.sessions.ids import folder_name
from app.sessions.lines_read import Rewritten, take
from app.sessions.projection import milliseconds
from app.sessions.reading import read_header
from app.sessions.summary import storable
from app.sessions.used import MOST_NAMED, UsageTally, Used

_VERSION = 1
_SCHEMA = """
create table if not exists sessions(
    key integer primary key, path blob not null, inode integer, size integer, mtime integer, read integer, tail blob,
    id text, cwd text, started integer, model text, name text, prompt text, greeting text, copies integer,
    broken integer, problem text);
create table if not exists used(
    session integer, day text, model text, answers integer, input integer, output integer,
    cache_read integer, cache_write integer, cost real, primary key(session, day, model)) without rowid;
create table if not exists broken(session integer, line integer, why text);
create table if not exists counted(key integer primary key, session integer);
create table if not exists zone(name text);
"""
"""`counted` says which session an entry was counted for."""
_PATIENCE = 30.0
"""Seconds that another bayou may take to read everything."""
_MEMORY = ":memory:"


class UsedSession(msgspec.Struct, frozen=True, kw_only=True):
    path: str
    id: str
    cwd: str
    title: str


class UsedPart(msgspec.Struct, frozen=True, kw_only=True):
    """What one session used on one day of one model."""

    session: UsedSession
    day: str
    model: str
    used: Used


class LeftOut(msgspec.Struct, frozen=True, kw_only=True):
    """What does not count, for it cannot be read."""

    path: str
    line: int = 0
    """0: the file as a whole, or more lines of it than are told one by one."""
    why: str


class UsageFound(msgspec.Struct, frozen=True, kw_only=True):
    parts: tuple[UsedPart, ...] = ()
    left_out: tuple[LeftOut, ...] = ()


class _Known(msgspec.Struct, frozen=True, array_like=True):
    key: int
    path: bytes
    inode: int
    size: int
    mtime: int
    read: int
    copies: int

    def is_as(self, found: os.stat_result) -> bool:
        """A file of which nothing could be read is tried each time."""
        there = (found.st_ino, found.st_size, found.st_mtime_ns)
        return bool(self.read) and (self.inode, self.size, self.mtime) == there


def used_in(root: Path, cache: Path) -> UsageFound:
    """Reads what is new. Where nothing can be kept everything is read, and the answer is the same."""
    folder = cache / "usage"
    place = folder / f"{folder_name(root.absolute())}.sqlite"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)  # what sessions begin with is in it
        try:
            return _used_in(root, str(place))
        except sqlite3.OperationalError:
            raise
        except sqlite3.DatabaseError:
            place.unlink(missing_ok=True)
            return _used_in(root, str(place))
    except (sqlite3.DatabaseError, OSError):
        return _used_in(root, _MEMORY)


def _used_in(root: Path, place: str) -> UsageFound:
    with closing(sqlite3.connect(place, timeout=_PATIENCE, isolation_level=None)) as db:
        db.execute("pragma synchronous=off")  # it can be made again from the files
        db.execute("begin immediate")
        _prepare(db)
        _Refreshing(db, root).refresh()
        db.execute("commit")
        return _found(db, root)


def _prepare(db: sqlite3.Connection) -> None:
    """Days are those of a time zone: in another one all is counted again."""
    zone = f"{time.tzname} {time.timezone}"
    version = db.execute("pragma user_version").fetchone()[0]
    if version == 0:
        for statement in _SCHEMA.split(";"):
            db.execute(statement)
        db.execute("insert into zone values(?)", (zone,))
        db.execute(f"pragma user_version={_VERSION}")
    elif version != _VERSION or db.execute("select name from zone").fetchone() != (zone,):
        raise sqlite3.DatabaseError("made by another version, or in another time zone")


class _Refreshing:
    """One look at all files."""

    def __init__(self, db: sqlite3.Connection, root: Path) -> None:
        self._db = db
        self._root = root

    def refresh(self) -> None:
        known = {
            os.fsdecode(row[1]): _Known(*row)
            for row in self._db.execute("select key, path, inode, size, mtime, read, copies from sessions")
        }
        before = list(known.values())
        anew: dict[str, os.stat_result] = {}
        lost: list[_Known] = []
        for path, found in _files(self._root):
            row = known.pop(path, None)
            if row is None:
                anew[path] = found
            elif not row.is_as(found) and not self._continue(row, path, found):
                lost.append(row)
                anew[path] = found
        lost += known.values()
        if lost:
            self._give_up(lost, before, anew)
        # A copy is younger than what it was made of, and files are named by when they began.
        for path in sorted(anew, key=os.path.basename):
            self._read_whole(path, anew[path])

    def _give_up(self, lost: list[_Known], before: list[_Known], anew: dict[str, os.stat_result]) -> None:
        """What others hold as copies of lost ones counts for them now."""
        lost_keys = {row.key for row in lost}
        gone = {row.key: row for row in lost}
        if any(row.read for row in lost):
            gone |= {row.key: row for row in before if row.copies}
        keys = ",".join(map(str, gone))
        for table in ("used", "broken", "counted"):
            self._db.execute(f"delete from {table} where session in ({keys})")
        self._db.execute(f"delete from sessions where key in ({keys})")
        for row in gone.values():
            if row.key not in lost_keys:
                path = os.fsdecode(row.path)
                with suppress(OSError):  # gone just now
                    anew[path] = Path(self._root, path).stat()

    def _tally(self, key: int, started: int) -> UsageTally:
        def is_first(entry: int) -> bool:
            return self._db.execute("insert or ignore into counted values(?,?)", (entry, key)).rowcount == 1

        return UsageTally(started, is_first)

    def _read_whole(self, name: str, found: os.stat_result) -> None:
        path = Path(self._root, name)
        key = self._db.execute(
            "insert into sessions(path, inode, size, mtime, read, copies, broken) values(?,?,?,?,0,0,0)",
            (os.fsencode(name), found.st_ino, found.st_size, found.st_mtime_ns),
        ).lastrowid
        assert key is not None
        try:
            header, offset = read_header(path)
            started = milliseconds(header.timestamp) or found.st_mtime_ns // 1_000_000
            tally = self._tally(key, started)
            read, tail = take(path, offset, tally, with_texts=True)
        except (SessionError, OSError) as problem:
            why = problem.what if isinstance(problem, SessionError) else reason(problem)
            self._db.execute("delete from counted where session=?", (key,))
            self._db.execute("update sessions set problem=? where key=?", (storable(why), key))
            return
        self._db.execute(
            "update sessions set id=?, cwd=?, started=? where key=?",
            (storable(header.id), storable(header.cwd), started, key),
        )
        self._keep(key, path, tally, found, read, tail)

    def _continue(self, row: _Known, name: str, found: os.stat_result) -> bool:
        """False: another file stands there now."""
        if row.inode != found.st_ino or found.st_size < row.size or not row.read:
            return False
        started, tail, model, title, prompt, greeting = self._db.execute(
            "select started, tail, model, name, prompt, greeting from sessions where key=?", (row.key,)
        ).fetchone()
        tally = self._tally(row.key, started)
        tally.model, tally.copies = model, row.copies
        tally.digest.name, tally.digest.first_prompt, tally.digest.greeting = title, prompt, greeting
        path = Path(self._root, name)
        try:
            read, tail = take(path, row.read, tally, tail, with_texts=True)
        except (Rewritten, OSError):
            return False
        self._keep(row.key, path, tally, found, read, tail)
        return True

    def _keep(
        self, key: int, path: Path, tally: UsageTally, found: os.stat_result, read: int, tail: bytes
    ) -> None:
        digest = tally.digest
        self._db.execute(
            "update sessions set size=?, mtime=?, read=?, tail=?, model=?, name=?, prompt=?, greeting=?, copies=?,"
            " broken=broken+? where key=?",
            (
                found.st_size,
                found.st_mtime_ns,
                read,
                tail,
                tally.model,
                digest.name,
                digest.first_prompt,
                digest.greeting,
                tally.copies,
                len(tally.broken),
                key,
            ),
        )
        for (day, model), used in tally.sums.items():
            self._db.execute(
                "insert into used values(?,?,?,?,?,?,?,?,?) on conflict do update set answers=answers+excluded.answers,"
                " input=input+excluded.input, output=output+excluded.output,"
                " cache_read=cache_read+excluded.cache_read, cache_write=cache_write+excluded.cache_write,"
                " cost=cost+excluded.cost",
                (key, day, model, *msgspec.structs.astuple(used)),
            )
        named = self._db.execute("select count(*) from broken where session=?", (key,)).fetchone()[0]
        for at, why in tally.broken[: MOST_NAMED - named]:
            self._db.execute("insert into broken values(?,?,?)", (key, _line_at(path, at), why))


def _files(root: Path) -> Iterable[tuple[str, os.stat_result]]:
    """Named as seen from the root."""
    start = len(os.path.join(root, ""))  # noqa: PTH118  (of thousands)
    for entry in session_files(root):
        try:
            yield entry.path[start:], entry.stat()
        except OSError:
            continue  # gone just now


def _line_at(path: Path, at: int) -> int:
    """The number of the line that begins there."""
    try:
        with path.open("rb") as file:
            return file.read(at).count(b"\n") + 1
    except OSError:
        return 0


def _found(db: sqlite3.Connection, root: Path) -> UsageFound:
    sessions: dict[int, UsedSession] = {}
    left_out: list[LeftOut] = []
    named: dict[int, list[tuple[int, str]]] = {}
    for key, line, why in db.execute("select session, line, why from broken order by session, line"):
        named.setdefault(key, []).append((line, why))
    for key, name, size, read, broken, id_, cwd, title, problem in db.execute(
        "select key, path, size, read, broken, id, cwd, coalesce(name, prompt, greeting, ''), problem"
        " from sessions order by path"
    ):
        path = os.fsdecode(os.path.join(os.fsencode(root), name))  # noqa: PTH118  (of thousands)
        if problem is not None:
            left_out.append(LeftOut(path=path, why=problem))
            continue
        sessions[key] = UsedSession(path=path, id=id_, cwd=cwd, title=title)
        told = named.get(key, [])
        left_out += (LeftOut(path=path, line=line, why=why) for line, why in told)
        if broken > len(told):
            left_out.append(LeftOut(path=path, why=f"{broken - len(told)} more of its lines cannot be read"))
        if read < size:
            left_out.append(LeftOut(path=path, why="its last line has no end yet"))
    parts = tuple(
        UsedPart(
            session=sessions[key],
            day=day,
            model=model,
            used=Used(**dict(zip(Used.__struct_fields__, sums, strict=True))),
        )
        for key, day, model, *sums in db.execute(
            "select session, day, model, answers, input, output, cache_read, cache_write, cost from used"
        )
        if key in sessions
    )
    return UsageFound(parts=parts, left_out=tuple(left_out))
