"""The index of a repository on disk: one SQLite file of files, names, words and history. `ranking` queries it.

A *version* is a content that a path once had, by git's blob id: it is mapped once and stays when the file changes,
so that switching branches back only updates which version each file has. Everything is derived from sources: an
index that is damaged or of another format is rebuilt. Several processes may read; one writes, under the lock of
`index_updates`.
"""

import contextlib
import hashlib
import os
import re
import sqlite3
import time
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Self

import msgspec

from tools.filemap.file_map import Symbol
from tools.filemap.map_cache import FILE_MAP_CACHE_VERSION
from tools.repomap.index.file_kinds import RepositoryFileKind
from tools.repomap.index.outline_packing import StoredOutline, pack_outline, unpack_outline
from tools.repomap.index.word_parts import (
    count_word_parts,
    count_word_parts_of_identifiers,
    repeat_words_by_count,
    split_into_word_parts,
)

REPOSITORY_INDEX_VERSION = f"6.{FILE_MAP_CACHE_VERSION}"
"""The version of the index's format: increase it when an index would have other content."""
BM25_WEIGHT_BY_INDEX_COLUMN = (1.0, 6.0, 5.0)
"""The BM25 weights of the columns: text, path, symbol names. The text is the first column because that saves two
bytes per word."""
MTIME_OF_PATH_ONLY_FILE = -2
"""The modification time that is stored for a file of which only the path is indexed."""
MAX_RATIO_OF_UNUSED_FILE_VERSIONS = 2.0
"""The number of unused versions per used one, in addition to `_MIN_UNUSED_FILE_VERSIONS`, above which the index is
rebuilt."""
_MIN_UNUSED_FILE_VERSIONS = 5000
_MAX_FILES_GUESSED_TO_DEFINE_NAME = 30
"""The maximum number of files without an outline that are searched for a definition."""
_INDEX_SQL_SCHEMA = f"""
create table meta (key text primary key, value text) without rowid;
create table file (
    path blob primary key, version integer not null, mtime integer not null, size integer not null,
    inode integer not null, language text not null, kind text not null, reason text not null
);
create index file_version on file (version);
create index file_unseen on file (mtime) where mtime={MTIME_OF_PATH_ONLY_FILE};
create table version (
    id integer primary key, path blob not null, blob blob not null, language text not null, kind text not null,
    unique (path, blob)
);
create table outline (id integer primary key, map blob not null);
create table sym (name text not null, version integer not null, place integer not null,
    primary key (name, version, place)) without rowid;
create virtual table text using fts5 (
    body, path, symbols, content='', detail=full, tokenize="unicode61 remove_diacritics 0");
create virtual table seen using fts5vocab (text, row);
create table revision (id integer primary key, hash blob not null unique, age integer);
create index revision_age on revision (age);
create table place (id integer primary key, path blob not null unique);
create table touch (place integer not null, revision integer not null,
    primary key (place, revision)) without rowid;
create index touch_revision on touch (revision);
create virtual table message using fts5 (words, content='', tokenize="unicode61 remove_diacritics 0");
"""
"""The SQL schema of the index. Large columns are in separate tables, so that a scan of all files reads little.
`age` counts revisions from the head; null if the revision is not in the head's history."""
_INDEX_TABLE_NAMES = ("meta", "file", "version", "outline", "sym", "text", "revision", "touch", "message")

IndexedFileStamp = tuple[int, int, int]
"""The modification time, size and inode of a file."""


class SearchableFileWords(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The searchable words of a file, split into parts."""

    body_words: str
    path_words: str
    symbol_words: str


def make_file_words(path: str, names: Sequence[str], body: Sequence[str]) -> SearchableFileWords:
    """Returns the searchable words of a file. `body` are all words of the text, `names` those that it declares."""
    return SearchableFileWords(
        body_words=repeat_words_by_count(count_word_parts_of_identifiers(body).items()),
        path_words=repeat_words_by_count(count_word_parts(path).items()),
        symbol_words=repeat_words_by_count(count_word_parts(" ".join(names)).items()),
    )


class IndexFileRecord(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A file as the index stores it."""

    path: bytes
    mtime: int
    size: int
    inode: int
    git_blob_id: bytes
    """Git's blob id of the file's content; empty if the content is not indexed."""
    language: str
    kind: str
    words: SearchableFileWords | None
    """The searchable words of the file; None if the record has only the outline."""
    lines: int = 0
    symbols: tuple[Symbol, ...] | None = ()
    """The symbols of the file's outline; None if the outline is made later."""
    path_only_reason: str = ""
    """The reason why only the file's path is indexed; empty if its content is."""


class IndexedFile(msgspec.Struct, frozen=True, gc=False):
    id: int
    """The id of the file's version in the index."""
    path: str
    mtime: int
    size: int
    inode: int
    language: str
    kind: RepositoryFileKind
    path_only_reason: str
    """The reason why only the file's path is indexed; usually empty."""


class IndexedCommit(msgspec.Struct, frozen=True):
    """A commit as the index stores it: message and touched files."""

    hash: bytes
    message: str
    paths: tuple[bytes, ...]


class IndexFileDamaged(Exception):
    """Raised if a file is not an index of a repository, or of another version."""


class IndexInconsistent(Exception):
    """Raised if the database of a repository map has lost part of its data."""


_DAMAGE_ERROR_CODES = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})


def is_damage_error(problem: Exception) -> bool:
    """Returns whether an error of SQLite means that the index is damaged, although it could be opened."""
    if isinstance(problem, sqlite3.Error):
        code = getattr(problem, "sqlite_errorcode", 0) & 0xFF
        return code in _DAMAGE_ERROR_CODES or "Could not decode" in str(problem)
    return isinstance(problem, zlib.error | msgspec.MsgspecError | IndexInconsistent)


class RepositoryIndex:
    """One connection to the index of a repository, for one thread at a time."""

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
                # Larger pages waste less space with compressed rows.
                self._db.execute("pragma page_size=8192")
                self._db.execute("pragma journal_mode=wal")
                self._db.execute("pragma synchronous=normal")
                _create_tables(self, self._db)
            elif self.get_index_property("version") != REPOSITORY_INDEX_VERSION:
                raise IndexFileDamaged(f"{path} is of another version")
        except sqlite3.DatabaseError as problem:
            raise IndexFileDamaged(f"{path}: {problem}") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    def close(self) -> None:
        self._db.close()

    def get_index_property(self, key: str) -> str:
        try:
            row = self._db.execute("select value from meta where key=?", (key,)).fetchone()
        except sqlite3.OperationalError:
            return ""
        return row[0] if row else ""

    def set_index_property(self, key: str, value: str) -> None:
        with self._db:
            self._db.execute("insert or replace into meta values (?, ?)", (key, value))

    # Changes

    def store_records(self, files: Iterable[IndexFileRecord]) -> None:
        """Stores the records of files, all or none. A record with only an outline is added to the version that it
        belongs to; if that version is not stored, the file has changed, and the record is dropped."""
        with self._db:
            for file in files:
                row = self._db.execute(
                    "select id from version where path=? and blob=?", (file.path, file.git_blob_id)
                ).fetchone()
                if row is None and file.words is None:
                    continue
                version = row[0] if row else _insert_words(self._db, file)
                if file.symbols is not None:
                    _insert_outline(self._db, version, file.lines, file.symbols)
                stamp = (file.mtime, file.size, file.inode)
                self._assign_version(
                    file.path, version, stamp, file.language, file.kind, file.path_only_reason
                )

    def paths_with_indexed_content(self, paths: Sequence[str]) -> set[str]:
        """Returns those of the paths for which the index has any content."""
        asked = "select 1 from version where path=? and blob<>x'' limit 1"
        return {path for path in paths if self._db.execute(asked, (os.fsencode(path),)).fetchone()}

    def assign_stored_contents(self, found: Iterable[tuple[str, bytes, IndexedFileStamp]]) -> set[str]:
        """Assigns stored versions to files, given with their blob ids, and returns the files that have one."""
        recalled: set[str] = set()
        with self._db:
            for path, blob, stamp in found:
                name = os.fsencode(path)
                asked = "select id, language, kind from version where path=? and blob=?"
                row = self._db.execute(asked, (name, blob)).fetchone()
                if row is not None:
                    self._assign_version(name, row[0], stamp, row[1], row[2], "")
                    recalled.add(path)
        if recalled and self.files_without_outline():
            self.set_index_property("outlined", "")
        return recalled

    def _assign_version(
        self, path: bytes, version: int, stamp: IndexedFileStamp, language: str, kind: str, reason: str
    ) -> None:
        row = (path, version, *stamp, language, kind, reason)
        self._db.execute("insert or replace into file values (?, ?, ?, ?, ?, ?, ?, ?)", row)

    def files_without_outline(self) -> list[str]:
        """Returns the files whose words are indexed and whose outline is still missing; code first."""
        asked = (
            "select file.path from file left join outline on outline.id=version where outline.id is null "
            "order by kind <> 'code', file.path"
        )
        return [os.fsdecode(row[0]) for row in self._db.execute(asked)]

    def remove_files(self, paths: Iterable[bytes]) -> None:
        with self._db:
            self._db.executemany("delete from file where path=?", ((path,) for path in paths))

    def remove_unused_versions(self, least: int = _MIN_UNUSED_FILE_VERSIONS) -> bool:
        """Removes versions of files that were unused for long. Returns False if there were far too many, so that
        everything was dropped and must be rebuilt."""
        kept = int(self._db.execute("select count(*) from version").fetchone()[0])
        used = self.count_files()
        if kept - used <= MAX_RATIO_OF_UNUSED_FILE_VERSIONS * used + least:
            return True
        with self._db:
            for table in ("file", "version", "outline", "sym"):
                self._db.execute(f"delete from {table}")
            self._db.execute("insert into text (text) values ('delete-all')")
            self._db.execute("delete from meta where key in ('finished', 'outlined')")
        with contextlib.suppress(sqlite3.OperationalError):  # no room for a copy: it stays as large as it is
            self._db.execute("vacuum")
        return False

    def store_commits(self, revisions: Iterable[IndexedCommit]) -> None:
        """Stores commits in the index, each once, because it does not change."""
        with self._db:
            for one in revisions:
                added = self._db.execute("insert or ignore into revision (hash) values (?)", (one.hash,))
                if not added.rowcount:
                    continue
                id = added.lastrowid
                words = repeat_words_by_count(count_word_parts(one.message).items())
                self._db.execute("insert into message (rowid, words) values (?, ?)", (id, words))
                self._db.executemany(
                    "insert or ignore into place (path) values (?)", ((path,) for path in one.paths)
                )
                self._db.executemany(
                    "insert or ignore into touch select id, ? from place where path=?",
                    ((id, path) for path in one.paths),
                )

    def known_commits(self) -> set[bytes]:
        return {row[0] for row in self._db.execute("select hash from revision")}

    def set_commit_ages(self, hashes: Sequence[bytes]) -> None:
        """Sets which commits are in the history of the current head, newest first; searches ignore all other
        commits."""
        with self._db:
            self._db.execute("update revision set age=null where age is not null")
            self._db.executemany("update revision set age=? where hash=?", enumerate(hashes))

    # Queries

    def indexed_files(self, *, called: str = "") -> Iterator[IndexedFile]:
        """Returns all indexed files, or those of that name in any folder."""
        if not called:
            return _select_indexed_files(self._db, "")
        plain, below = os.fsencode(called), os.fsencode(f"/{called}")
        inner = "select path from file where path=? or substr(path, ?)=?"  # by an index that has the paths
        return _select_indexed_files(self._db, f" where path in ({inner})", plain, -len(below), below)

    def indexed_file(self, id: int) -> IndexedFile | None:
        return next(_select_indexed_files(self._db, " where version=?", id), None)

    def indexed_files_by_id(self, ids: Iterable[int]) -> list[IndexedFile]:
        return list(_select_indexed_files(self._db, f" where version in ({','.join(map(str, ids))})"))

    def indexed_file_at_path(self, path: str) -> IndexedFile | None:
        return next(_select_indexed_files(self._db, " where path=?", os.fsencode(path)), None)

    def file_stamps(self) -> dict[str, IndexedFileStamp]:
        """Returns the stamps of all files, which show whether they have changed."""
        rows = self._db.execute("select path, mtime, size, inode from file")
        return {os.fsdecode(path): (mtime, size, inode) for path, mtime, size, inode in rows}

    def count_files(self, *, below: str = "", is_unseen: bool = False) -> int:
        """Counts the indexed files: all, those of a folder, or those of which only the path is indexed."""
        where, asked = "", ()
        if below:
            where, asked = (
                " where path > ? and path < ?",
                (os.fsencode(f"{below}/"), os.fsencode(f"{below}0")),
            )
        elif is_unseen:
            where = f" where mtime={MTIME_OF_PATH_ONLY_FILE}"  # a parameter would not use the index of those
        return int(self._db.execute(f"select count(*) from file{where}", asked).fetchone()[0])

    def path_only_reasons(self) -> list[tuple[str, int]]:
        """Returns why files are indexed by path only, with counts."""
        asked = "select reason, count(*) as n from file where reason<>'' group by reason order by n desc"
        return self._db.execute(asked).fetchall()

    def stored_outline(self, id: int) -> StoredOutline | None:
        """Returns the stored outline of a file; None if it was not made yet."""
        row = self._db.execute("select map from outline where id=?", (id,)).fetchone()
        if row is None and self.get_index_property("outlined"):  # damage is not always seen by SQLite
            raise IndexInconsistent(f"{self.path} has lost an outline")
        return unpack_outline(row[0]) if row else None

    def files_defining_name(self, name: str, most: int = 400) -> set[int]:
        """Returns the files that define a name; those without an outline probably do."""
        found = {id for id, _ in self.find_symbols(name, most)}
        return found | set(self.files_probably_declaring(name, min(most, _MAX_FILES_GUESSED_TO_DEFINE_NAME)))

    def files_probably_declaring(self, name: str, most: int, *, is_beginning: bool = False) -> list[int]:
        """Returns files without an outline that probably declare the name, or names that begin so."""
        parts = split_into_word_parts(name)
        if self.get_index_property("outlined") or not parts:
            return []
        asked = (
            "select text.rowid from text join file on version=text.rowid left join outline "
            "on outline.id=text.rowid where outline.id is null and text match ? order by rank limit ?"
        )
        expression = f'symbols : "{parts[-1]}"' + "*" * is_beginning
        return [row[0] for row in self._db.execute(asked, (expression, most))]

    def find_symbols(self, name: str, most: int = 400) -> list[tuple[int, int]]:
        """Returns files and positions of symbols with that name, in any case."""
        return self._db.execute(
            "select version, place from sym join file using (version) where name=? limit ?",
            (_remove_surrogates(name).lower(), most),
        ).fetchall()

    def find_symbol_names_containing(self, text: str, most: int) -> list[tuple[str, int, int]]:
        """Returns symbol names that begin with the text, then those that contain it: (name, file, position)."""
        wanted = _remove_surrogates(text).lower()
        asked = "select name, version, place from sym join file using (version) where"
        found: list[tuple[str, int, int]] = self._db.execute(
            f"{asked} name >= ? and name < ? limit ?", (wanted, wanted + "\U0010ffff", most)
        ).fetchall()
        if len(found) < most:
            escaped = wanted.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
            found += self._db.execute(
                f"{asked} name like ? escape '\\' limit ?",
                (f"%_{escaped}%" if wanted else "%", most - len(found)),
            ).fetchall()
        return list(dict.fromkeys(found))

    def search_text(self, expression: str, most: int) -> list[tuple[int, float]]:
        """Returns the files that best match a full-text search, with their BM25 scores (higher is better)."""
        if not expression:
            return []
        rows = self._db.execute(
            "select version, -bm25(text, ?, ?, ?) as score from text join file on version=text.rowid "
            "where text match ? order by score desc limit ?",
            (*BM25_WEIGHT_BY_INDEX_COLUMN, expression, most),
        )
        return rows.fetchall()

    def contains_word(self, id: int, part: str) -> bool:
        """Returns whether an indexed file contains the word."""
        asked = "select 1 from text where text match ? and rowid=?"
        return self._db.execute(asked, (f'"{part}"', id)).fetchone() is not None

    def count_versions_with_word(self, part: str) -> int:
        """Returns how many versions of files contain the word."""
        row = self._db.execute("select doc from seen where term=?", (part,)).fetchone()
        return int(row[0]) if row else 0

    def find_earlier_changes(self, expression: str, most: int) -> list[tuple[int, list[int], float]]:
        """Returns the commits whose messages match a search best: the age, files and BM25 score of each."""
        if not expression:
            return []
        rows = self._db.execute(
            "select revision.id, age, -bm25(message) as score from message join revision on id=message.rowid "
            "where message match ? and age is not null order by score desc limit ?",
            (expression, most),
        )
        return [(age, self._current_files_of(id), score) for id, age, score in rows.fetchall()]

    def commits_that_changed(self, path: str, most: int) -> list[tuple[int, list[int]]]:
        """Returns the newest commits that changed a file: the age of each, and the files that it touched."""
        changes = self._db.execute(
            "select revision.id, age from place join touch on place=place.id "
            "join revision on revision.id=revision where path=? and age is not null order by age limit ?",
            (os.fsencode(path), most),
        )
        return [(age, self._current_files_of(id)) for id, age in changes.fetchall()]

    def _current_files_of(self, revision: int) -> list[int]:
        """Returns the files touched by a commit that still exist."""
        asked = (
            "select version from touch join place on place=place.id join file using (path) where revision=?"
        )
        return [row[0] for row in self._db.execute(asked, (revision,))]

    def indexed_languages(self) -> list[tuple[str, int]]:
        rows = self._db.execute("select language, count(*) as n from file group by language order by n desc")
        return rows.fetchall()


_NAME_SEPARATOR = re.compile(r"::|[.#]")


def last_part_of_symbol_name(name: str) -> str:
    """Returns the last part of a symbol's name, without its owner: `Start` of `Server.Start` and `Server::Start`."""
    parts = _NAME_SEPARATOR.split(name)
    return parts[-1] if len(parts) > 1 and all(part.isidentifier() for part in parts) else name


def owner_names_in_symbol_name(name: str) -> list[str]:
    """Returns the owners in a symbol's name: `Server` of `Server.Start`."""
    return _NAME_SEPARATOR.split(name)[:-1] if last_part_of_symbol_name(name) != name else []


def _select_indexed_files(db: sqlite3.Connection, where: str, *asked: object) -> Iterator[IndexedFile]:
    rows = db.execute(
        f"select version, path, mtime, size, inode, language, kind, reason from file{where}", asked
    )
    return (IndexedFile(row[0], os.fsdecode(row[1]), *row[2:]) for row in rows)


def _create_tables(store: RepositoryIndex, db: sqlite3.Connection) -> None:
    tables = {row[0] for row in db.execute("select name from sqlite_master where type='table'")}
    if tables >= set(_INDEX_TABLE_NAMES) and store.get_index_property("version") == REPOSITORY_INDEX_VERSION:
        return
    if tables:
        raise IndexFileDamaged(f"{store.path} is of another version")
    db.executescript(_INDEX_SQL_SCHEMA)
    store.set_index_property("version", REPOSITORY_INDEX_VERSION)


def _insert_words(db: sqlite3.Connection, file: IndexFileRecord) -> int:
    assert file.words is not None
    row = (file.path, file.git_blob_id, file.language, file.kind)
    id = db.execute("insert into version (path, blob, language, kind) values (?, ?, ?, ?)", row).lastrowid
    assert id is not None
    words = (id, file.words.body_words, file.words.path_words, file.words.symbol_words)
    db.execute("insert into text (rowid, body, path, symbols) values (?, ?, ?, ?)", words)
    return id


def _insert_outline(db: sqlite3.Connection, id: int, lines: int, symbols: Sequence[Symbol]) -> None:
    if db.execute("select 1 from outline where id=?", (id,)).fetchone() is None:
        db.execute("insert into outline values (?, ?)", (id, pack_outline(lines, symbols)))
        db.executemany("insert into sym values (?, ?, ?)", _make_symbol_rows(id, symbols))


def _make_symbol_rows(id: int, symbols: Sequence[Symbol]) -> list[tuple[str, int, int]]:
    """Returns the rows of the index table `sym` for the symbols of a file."""
    return sorted(
        {
            (_remove_surrogates(name).lower(), id, place)
            for place, symbol in enumerate(symbols)
            for name in {symbol.name, last_part_of_symbol_name(symbol.name)}
        }
    )


def index_file_path(cache: Path, root: Path) -> Path:
    """Returns the path of the index of a folder."""
    name = hashlib.blake2b(os.fsencode(os.path.realpath(root)), digest_size=16).hexdigest()
    return cache / "repositories" / f"{name}.sqlite"


def delete_old_indexes(folder: Path, *, most_bytes: int = 500_000_000, days: float = 30.0) -> None:
    """Deletes indexes that were not used for `days`, and the oldest while the total size exceeds the limit."""
    found = sorted((path.stat().st_mtime, path) for path in folder.glob("*.sqlite"))
    sizes = {path: sum(part.stat().st_size for part in folder.glob(f"{path.name}*")) for _, path in found}
    total = sum(sizes.values())
    for used, path in found[:-1]:
        if time.time() - used > days * 86_400 or total > most_bytes:
            delete_index(path)
            total -= sizes[path]


def delete_index(path: Path) -> None:
    for ending in ("", "-wal", "-shm"):
        path.with_name(path.name + ending).unlink(missing_ok=True)


def _remove_surrogates(text: str) -> str:
    """Returns a text without lone surrogates, which SQLite rejects."""
    return text.encode("utf-8", "replace").decode("utf-8")
