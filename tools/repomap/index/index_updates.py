"""Updates an index: maps new and changed files, removes missing ones. Resumable at any moment.

A lock file beside the index allows one builder process. Files are committed in batches, so that the next process
continues after a killed one."""

import contextlib
import fcntl
import os
import sqlite3
import zlib
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

from tools.repomap.index.file_hiding_rules import FileHidingRules
from tools.repomap.index.file_records import (
    compute_git_blob_id,
    make_complete_index_record,
    make_index_record_with_outline,
    make_path_only_index_record,
    read_file_state,
)
from tools.repomap.index.folder_listing import MAX_LISTED_FILES, is_path_below, list_folder_files
from tools.repomap.index.indexing_pool import (
    MIN_FILES_FOR_INDEXING_POOL,
    IndexingPool,
    IndexRecordsAsMade,
    pack_complete_records,
    pack_outline_records,
    pack_word_records,
)
from tools.repomap.index.repository_index import (
    IndexedFile,
    IndexedFileStamp,
    IndexFileDamaged,
    IndexFileRecord,
    IndexInconsistent,
    RepositoryIndex,
    delete_index,
    delete_old_indexes,
    is_damage_error,
)

_FILES_PER_INDEX_TRANSACTION = 400
"""The number of files whose records are stored in one transaction."""
_MAX_FILES_WITH_OUTLINES = 2000
"""The maximum number of files that are indexed with their outlines at once; of more, the words are indexed first,
because outlines take long."""
_PATHS_PER_INDEX_TRANSACTION = 2000
_FILES_PER_STOP_CHECK = 50


class IndexProgress(msgspec.Struct, frozen=True, array_like=True):
    done_files: int
    total_files: int


class IndexLocked(Exception):
    """Raised if another process is building this index."""


class CannotWriteIndex(Exception):
    """Raised if the index cannot be written; the message is the reason in words for the user, such as a full disk."""


@contextlib.contextmanager
def open_index_for_writing(path: Path) -> Generator[RepositoryIndex]:
    """Opens the index for writing, and recreates a damaged one. Raises `IndexLocked` or `CannotWriteIndex`."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(path.with_name(path.name + ".lock"), os.O_CREAT | os.O_RDWR, 0o600)
    except OSError as problem:
        raise CannotWriteIndex(f"The index cannot be kept in {path.parent}: {problem.strerror}.") from None
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise IndexLocked from None
        with _open_or_recreate_index(path) as store:
            yield store
        with contextlib.suppress(OSError):
            os.utime(path)
            delete_old_indexes(path.parent)
    except IndexFileDamaged as problem:  # a new index could not be opened either
        raise CannotWriteIndex(f"The index cannot be written: {problem}.") from None
    except (sqlite3.Error, zlib.error, msgspec.MsgspecError, IndexInconsistent) as problem:
        if is_damage_error(problem):
            delete_index(path)
            raise CannotWriteIndex(f"The index {path} was damaged and is removed; it is made anew.") from None
        raise CannotWriteIndex(f"The index {path} cannot be written: {problem}.") from None
    finally:
        os.close(descriptor)


def _open_or_recreate_index(path: Path) -> RepositoryIndex:
    try:
        return RepositoryIndex(path, is_writing=True)
    except IndexFileDamaged:
        delete_index(path)
        return RepositoryIndex(path, is_writing=True)


class FolderToIndex(msgspec.Struct, frozen=True):
    """A folder to index, with its hidden files and the order of indexing."""

    root: Path
    hidden_files: FileHidingRules = FileHidingRules()
    first_folder: str = ""
    """The session's folder, relative to the root; its files are indexed first."""
    max_files_at_once: int = 50_000
    """The maximum number of files that are indexed with their content at once; of more files, all paths are indexed
    first, so that questions can be answered soon."""
    max_bytes_at_once: int = 500_000_000


class IndexDifferences(msgspec.Struct, frozen=True):
    """The differences between a folder and its index."""

    listed_count: int
    is_listing_cut: bool
    """Whether the folder has more files than were listed."""
    removed_files: tuple[str, ...]
    changed_files: tuple[str, ...]
    """The new and changed files, in the order of indexing."""
    unindexed_files: tuple[str, ...] = ()
    """In a large folder, the new files of which not even the path is indexed."""
    unreadable_folders: tuple[str, ...] = ()
    """Folders that could not be listed."""


def compare_folder_with_index(
    store: RepositoryIndex, folder: FolderToIndex, is_stopped: Callable[[], bool] = lambda: False
) -> IndexDifferences:
    """Lists the folder's files and compares them with the index. Raises `IndexComparisonStopped` when the caller stops
    it."""
    unreadable: list[str] = []
    hides = folder.hidden_files.make_hidden_file_test(folder.root)
    with ThreadPoolExecutor(1) as thread:  # ripgrep lists the files while the known ones are checked here
        listing = thread.submit(
            list_folder_files, folder.root, is_stopped=is_stopped, hides=hides, unreadable=unreadable
        )
        known = store.file_stamps()
        changed_files = set(_find_changed_files(folder.root, known.items(), is_stopped))
        listed = listing.result()
    if is_stopped():
        raise IndexComparisonStopped
    is_cut = len(listed) > MAX_LISTED_FILES
    listed = listed[:MAX_LISTED_FILES]
    gone = tuple(sorted(known.keys() - set(listed)))
    waiting = [path for path in listed if path not in known or path in changed_files]
    sizes, changed = _sum_sizes_and_folder_times(folder.root, waiting) if waiting else (0, {})
    is_large = len(listed) > folder.max_files_at_once or sizes > folder.max_bytes_at_once
    unknown = tuple(path for path in waiting if path not in known) if is_large else ()
    ordered = _sort_in_build_order(waiting, changed, folder.first_folder)
    return IndexDifferences(len(listed), is_cut, gone, ordered, unknown, tuple(unreadable))


class IndexComparisonStopped(Exception):
    """Raised if checking the files for changes takes too long, as on a slow drive."""


def find_changed_indexed_files(
    store: RepositoryIndex, folder: FolderToIndex, is_stopped: Callable[[], bool] = lambda: False
) -> IndexDifferences:
    """Checks only the files in the index for changes. Raises `IndexComparisonStopped` when the caller stops it or time
    is over."""
    root, hides = folder.root, folder.hidden_files.make_hidden_file_test(folder.root)
    known = store.file_stamps()
    waiting = _find_changed_files(root, known.items(), is_stopped)
    gone = tuple(path for path in waiting if not os.path.lexists(root / path))
    gone += tuple(path for path in known if hides(path))
    rest = set(waiting) - set(gone)
    unreadable = tuple(filter(None, store.get_index_property("unreadable").split("\n")))
    listed = int(store.get_index_property("listed") or 0)
    return IndexDifferences(
        listed,
        bool(store.get_index_property("cut")),
        gone,
        tuple(sorted(rest)),
        unreadable_folders=unreadable,
    )


def restore_known_outlines(
    store: RepositoryIndex,
    root: Path,
    found: IndexDifferences,
    is_stopped: Callable[[], bool] = lambda: False,
) -> IndexDifferences:
    """Restores the outlines of files whose content is an earlier one again, as after switching branches, without
    mapping these files."""
    known = store.paths_with_indexed_content(found.changed_files)
    states: list[tuple[str, bytes, IndexedFileStamp]] = []
    for path in (path for path in found.changed_files if path in known):
        if is_stopped():
            break
        now = read_file_state(root, path)
        blob = compute_git_blob_id(root, path) if now is not None and not now.path_only_reason else b""
        if now is not None and blob:
            states.append((path, blob, (now.mtime, now.size, now.inode)))
    done = store.assign_stored_contents(states)
    waiting = tuple(path for path in found.changed_files if path not in done)
    return msgspec.structs.replace(found, changed_files=waiting)


def _find_changed_files(
    root: Path, files: Iterable[tuple[str, IndexedFileStamp]], is_stopped: Callable[[], bool]
) -> list[str]:
    found: list[str] = []
    for number, (path, stamp) in enumerate(files, 1):
        if number % _FILES_PER_STOP_CHECK == 0 and is_stopped():
            raise IndexComparisonStopped
        if not _matches_file_stamp(root, path, stamp):
            found.append(path)
    return found


def _sum_sizes_and_folder_times(root: Path, paths: Sequence[str]) -> tuple[int, dict[str, int]]:
    """Returns the total size of the files, and for each folder the latest modification time of its files."""
    size, changed = 0, dict[str, int]()
    for path in paths:
        try:
            state = os.lstat(f"{root}/{path}")
        except (OSError, ValueError):
            continue
        size += state.st_size
        above = path.rpartition("/")[0]
        changed[above] = max(changed.get(above, 0), state.st_mtime_ns)
    return size, changed


def _sort_in_build_order(paths: Sequence[str], changed: Mapping[str, int], begins_at: str) -> tuple[str, ...]:
    """Sorts files in the order of indexing: the session's folder first, then folders with recent changes."""

    def order(path: str) -> tuple[object, ...]:
        above = path.rpartition("/")[0]
        return (not is_path_below(path, begins_at), -changed.get(above, 0), above, path)

    return tuple(sorted(paths, key=order))


def update_index(
    store: RepositoryIndex,
    folder: FolderToIndex,
    *,
    found: IndexDifferences | None = None,
    pool: IndexingPool | None = None,
    progress: Callable[[IndexProgress], None] = lambda progress: None,
    is_stopped: Callable[[], bool] = lambda: False,
) -> bool:
    """Indexes the files; returns False if stopped. Of many files it indexes only the words, which the ranking
    needs; `make_missing_outlines` adds their outlines. Without a pool, and for few files, this process does the
    work."""
    root = folder.root
    try:
        if found is None:
            store.remove_unused_versions()
            found = restore_known_outlines(
                store, root, compare_folder_with_index(store, folder, is_stopped), is_stopped
            )
    except IndexComparisonStopped:
        return False
    store.remove_files([os.fsencode(path) for path in found.removed_files])
    store.set_index_property("listed", str(found.listed_count))
    store.set_index_property("cut", "1" if found.is_listing_cut else "")
    store.set_index_property("unreadable", "\n".join(found.unreadable_folders))
    done = found.listed_count - len(found.changed_files)
    progress(IndexProgress(done, found.listed_count))
    for at in range(0, len(found.unindexed_files), _PATHS_PER_INDEX_TRANSACTION):
        if is_stopped():
            return False
        store.store_records(
            [
                make_path_only_index_record(path)
                for path in found.unindexed_files[at : at + _PATHS_PER_INDEX_TRANSACTION]
            ]
        )
    is_whole = pool is None or len(found.changed_files) <= _MAX_FILES_WITH_OUTLINES
    if not is_whole:
        store.set_index_property("outlined", "")
    made = (
        _make_records_in_process(root, found.changed_files, make_complete_index_record)
        if pool is None or len(found.changed_files) < MIN_FILES_FOR_INDEXING_POOL
        else pool.index_files(found.changed_files, pack_complete_records if is_whole else pack_word_records)
    )
    if not _store_records_in_batches(
        store, made, is_stopped, lambda more: progress(IndexProgress(done + more, found.listed_count))
    ):
        return False
    store.set_index_property("finished", "1")
    if is_whole and not store.get_index_property("outlined") and not store.files_without_outline():
        store.set_index_property("outlined", "1")
    progress(IndexProgress(found.listed_count, found.listed_count))
    return True


def make_missing_outlines(
    store: RepositoryIndex,
    root: Path,
    *,
    pool: IndexingPool | None = None,
    tell: Callable[[], None] = lambda: None,
    is_stopped: Callable[[], bool] = lambda: False,
) -> bool:
    """Makes the missing outlines; returns False if stopped. Before that, answers make the outlines that they show
    themselves. `tell` is called after each batch is stored."""
    waiting = store.files_without_outline()
    made = (
        _make_records_in_process(root, waiting, make_index_record_with_outline)
        if pool is None or len(waiting) < MIN_FILES_FOR_INDEXING_POOL
        else pool.index_files(waiting, pack_outline_records)
    )
    if not _store_records_in_batches(store, made, is_stopped, lambda done: tell()):
        return False
    store.set_index_property("outlined", "" if store.files_without_outline() else "1")
    return True


def _store_records_in_batches(
    store: RepositoryIndex,
    made: IndexRecordsAsMade,
    is_stopped: Callable[[], bool],
    tell: Callable[[int], None],
) -> bool:
    """Stores records in batches; returns False if stopped, and keeps the records made until then."""
    pending: list[IndexFileRecord] = []
    done = 0
    for batch, asked in made:
        pending += batch
        done += asked
        if len(pending) >= _FILES_PER_INDEX_TRANSACTION:
            store.store_records(pending)
            pending = []
            tell(done)
        if is_stopped():
            made.close()
            store.store_records(pending)
            return False
    store.store_records(pending)
    return True


def is_indexed_file_up_to_date(root: Path, known: IndexedFile) -> bool:
    """Returns whether the file's time and size are those in the index."""
    return _matches_file_stamp(root, known.path, (known.mtime, known.size, known.inode))


def _matches_file_stamp(root: Path, path: str, stamp: IndexedFileStamp | None) -> bool:
    if stamp is None:
        return False
    try:
        state = os.lstat(f"{root}/{path}")
    except (OSError, ValueError):
        return False
    return (state.st_mtime_ns, state.st_size, state.st_ino) == stamp


def _make_records_in_process(
    root: Path, paths: Sequence[str], work: Callable[[Path, str], IndexFileRecord | None]
) -> IndexRecordsAsMade:
    for path in paths:
        made = work(root, path)
        yield ([made] if made is not None else []), 1
