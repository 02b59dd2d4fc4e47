"""Prepares a file for the index: its symbols from the mapper, its text split into words."""

import hashlib
import os
import stat
import time
from pathlib import Path, PurePath

import msgspec

from tools.filemap.file_map import Symbol
from tools.filemap.file_mapper import language_title, make_file_map_of_source
from tools.filemap.language_detection import detect_language
from tools.filemap.map_deadline import FileMapTimeLimitReached, MapDeadline
from tools.filemap.source_text import count_lines, decode_source
from tools.protected.credential_file_names import is_credential_file_name
from tools.repomap.index.declared_names import find_declared_names
from tools.repomap.index.file_kinds import RepositoryFileKind, classify_repository_file
from tools.repomap.index.repository_index import MTIME_OF_PATH_ONLY_FILE, IndexFileRecord, make_file_words
from tools.repomap.index.word_parts import find_identifiers

MAX_INDEXED_BYTES = 1_000_000
"""The maximum size of an indexed file in bytes; of a larger file only path and size are indexed."""
_INDEXED_FILE_READ_TIMEOUT = 2.0
_INDEXED_FILE_OUTLINE_TIMEOUT = 2.0
_CLASSIFIED_HEAD_BYTES = 16 * 1024
_MAX_DATA_KEY_DEPTH = 1
_MAX_INDEXED_DOC_CHARS = 80
"""The maximum number of characters of a symbol's documentation that are indexed: enough to find the symbol, and too
few for instructions to the model."""
_MAX_INDEXED_SIGNATURE_CHARS = 160
_MAX_INDEXED_SYMBOLS = 20_000
_RECENT_WRITE_AGE_NS = 2_000_000_000


class _LoadedFile(msgspec.Struct, frozen=True):
    """A file read for the index: its record and its content."""

    record: IndexFileRecord
    """The file's record without words and outline."""
    source: bytes
    language: str | None
    kind: RepositoryFileKind


def make_complete_index_record(root: Path, path: str) -> IndexFileRecord | None:
    """Returns the complete record of a file; None if it is missing or not a regular file."""
    read = _read_file_for_index(root, path)
    return _add_outline_to_record(_add_words_to_record(read), read) if isinstance(read, _LoadedFile) else read


def make_index_record_with_words(root: Path, path: str) -> IndexFileRecord | None:
    """Returns the index record of a file with its words only; its outline is made later, which takes three times as
    long."""
    read = _read_file_for_index(root, path)
    return _add_words_to_record(read) if isinstance(read, _LoadedFile) else read


def make_index_record_with_outline(root: Path, path: str) -> IndexFileRecord | None:
    """Returns the index record of a file with its outline only; its words are indexed already."""
    read = _read_file_for_index(root, path)
    return _add_outline_to_record(read.record, read) if isinstance(read, _LoadedFile) else read


def _read_file_for_index(root: Path, path: str) -> _LoadedFile | IndexFileRecord | None:
    """Reads a file for the index; returns a record of the path alone if nothing else may be indexed."""
    state = read_file_state(root, path)
    if state is None or state.path_only_reason:
        return make_path_only_index_record(path, state) if state is not None else None
    try:
        data = _read_file_bytes(root, path)
        source = decode_source(data, MapDeadline(_INDEXED_FILE_READ_TIMEOUT, None))
    except OSError as problem:
        why = f"unreadable: {problem.strerror}"
        return make_path_only_index_record(path, msgspec.structs.replace(state, path_only_reason=why))
    except FileMapTimeLimitReached:
        return make_path_only_index_record(
            path, msgspec.structs.replace(state, path_only_reason="slow to read")
        )
    if source is None:
        return make_path_only_index_record(path, msgspec.structs.replace(state, path_only_reason="binary"))
    language = detect_language(PurePath(path), source)
    kind = classify_repository_file(path, language, source[:_CLASSIFIED_HEAD_BYTES])
    record = IndexFileRecord(
        path=os.fsencode(path),
        mtime=state.mtime,
        size=len(data),
        inode=state.inode,
        git_blob_id=_hash_as_git_blob(data),
        language=language_title(language),
        kind=kind,
        words=None,
        lines=count_lines(source),
        symbols=None,
    )
    return _LoadedFile(record, source, language, kind)


def _add_words_to_record(read: _LoadedFile) -> IndexFileRecord:
    text = read.source.decode("utf-8", "replace")
    runs = find_identifiers(text)
    names = find_declared_names(read.language, text, runs)
    body = runs if read.kind != "generated" else ()
    words = make_file_words(os.fsdecode(read.record.path), names, body)
    return msgspec.structs.replace(read.record, words=words)


def _add_outline_to_record(record: IndexFileRecord, read: _LoadedFile) -> IndexFileRecord:
    """Adds the symbols that the mapper finds in a file to its index record; none if it takes too long."""
    try:
        made = make_file_map_of_source(
            read.source, read.language, deadline_seconds=_INDEXED_FILE_OUTLINE_TIMEOUT
        )
    except (OSError, FileMapTimeLimitReached):
        return msgspec.structs.replace(record, symbols=())
    symbols = _select_indexed_symbols(made.symbols, read.kind)
    return msgspec.structs.replace(record, lines=made.total_lines, symbols=symbols)


def compute_git_blob_id(root: Path, path: str) -> bytes:
    """Returns git's blob id for the file's content; empty if it is unreadable."""
    try:
        return _hash_as_git_blob(_read_file_bytes(root, path))
    except (OSError, ValueError):
        return b""


def _hash_as_git_blob(data: bytes) -> bytes:
    found = hashlib.sha1(b"blob %d\0" % len(data), usedforsecurity=False)
    found.update(data)
    return found.digest()


def _read_file_bytes(root: Path, path: str) -> bytes:
    """Reads a whole file; waits for no pipe and follows no link that has taken its place."""
    descriptor = os.open(f"{root}/{path}", os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    with open(descriptor, "rb", buffering=0) as file:  # noqa: PTH123  (for thousands of files, a path object takes longer)
        return file.readall() or b""


class FileIndexState(msgspec.Struct, frozen=True):
    """The modification time, size and inode of a file, and why only its path may be indexed."""

    mtime: int
    size: int
    inode: int
    path_only_reason: str = ""


def read_file_state(root: Path, path: str) -> FileIndexState | None:
    """Returns the present time, size and inode of a file; None if it is missing or not a regular file."""
    try:
        state = os.lstat(f"{root}/{path}")
    except (OSError, ValueError):
        return None
    if not stat.S_ISREG(state.st_mode):
        return None
    # What is written at this very moment may be written again within the same tick of the clock.
    is_young = time.time_ns() - state.st_mtime_ns < _RECENT_WRITE_AGE_NS
    mtime = -1 if is_young else state.st_mtime_ns
    reason = _find_secret_reason(path, state) or ("over 1 MB" if state.st_size > MAX_INDEXED_BYTES else "")
    return FileIndexState(mtime, state.st_size, state.st_ino, reason)


def make_path_only_index_record(path: str, state: FileIndexState | None = None) -> IndexFileRecord:
    """Returns an index record of a file with nothing but its path; without a state, it counts as changed."""
    state = state or FileIndexState(MTIME_OF_PATH_ONLY_FILE, 0, 0)
    return IndexFileRecord(
        path=os.fsencode(path),
        mtime=state.mtime,
        size=state.size,
        inode=state.inode,
        git_blob_id=b"",
        language="",
        kind="data",
        words=make_file_words(path, (), ()),
        path_only_reason=state.path_only_reason,
    )


def is_file_text_hidden(root: Path, path: str) -> bool:
    """Returns whether the text of a file is neither indexed nor shown, because it may have secrets."""
    try:
        return bool(_find_secret_reason(path, os.lstat(f"{root}/{path}")))
    except (OSError, ValueError):
        return True


def _find_secret_reason(path: str, state: os.stat_result) -> str:
    """Returns why the text of a file may be secret; another name (hard link) of it may be one of a secret file."""
    if is_credential_file_name(path.rpartition("/")[2]):
        return "named like a secret"
    return "has other names (hard links)" if state.st_nlink > 1 else ""


def _select_indexed_symbols(symbols: tuple[Symbol, ...], kind: RepositoryFileKind) -> tuple[Symbol, ...]:
    """Returns the symbols that the index stores: only the outer keys of data files, without what a list of places does
    not need."""
    depth: dict[int, int] = {}
    places: dict[int, int] = {}
    kept: list[Symbol] = []
    for index, symbol in enumerate(symbols):
        if kind == "data":
            depth[index] = depth.get(symbol.parent, 0) + 1 if symbol.parent is not None else 0
            if depth[index] > _MAX_DATA_KEY_DEPTH:
                continue
        if len(kept) >= _MAX_INDEXED_SYMBOLS:
            break
        places[index] = len(kept)
        kept.append(symbol)
    return tuple(
        msgspec.structs.replace(
            symbol,
            parent=places.get(symbol.parent) if symbol.parent is not None else None,
            doc=symbol.doc[:_MAX_INDEXED_DOC_CHARS],
            signature=symbol.signature[:_MAX_INDEXED_SIGNATURE_CHARS],
        )
        for symbol in kept
    )
