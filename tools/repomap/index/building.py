"""Updates an index: maps new and changed files, removes missing ones. Resumable at any moment.

A lock file beside the index allows one builder process. Files are committed in batches, so that the next process
continues after a killed one."""

import contextlib
import fcntl
import multiprocessing
import os
import sqlite3
import threading
import zlib
from collections import deque
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import msgspec

from tools.repomap.index.hidden import HiddenFiles
from tools.repomap.index.listing import MAX_FILES, is_below, list_files
from tools.repomap.index.outlining import blob_id, index_file, path_only, stat_file
from tools.repomap.index.store import (
    FileRecord,
    FileStamp,
    IndexDamaged,
    IndexedFile,
    IndexInconsistent,
    IndexStore,
    delete_index,
    is_damage,
    limit_index_folder,
)

_COMMIT_BATCH = 200
"""Files per commit."""
_TASK_BATCH = 25
"""Files per task of the pool."""
_MAX_DEATHS = 100
_INDEXED_DECODER = msgspec.msgpack.Decoder(list[FileRecord])
_MAX_WORKERS = 4
_PATH_BATCH = 2000
_STAT_BATCH = 50


class IndexProgress(msgspec.Struct, frozen=True, array_like=True):
    done: int
    total: int


class IndexBusy(Exception):
    """Another process builds this index."""


class CannotIndex(Exception):
    """The reason in words for the user: disk full, no write permission."""


@contextlib.contextmanager
def open_for_writing(path: Path) -> Generator[IndexStore]:
    """Opens the index for writing, and recreates a damaged one. Raises `IndexBusy` or `CannotIndex`."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(path.with_name(path.name + ".lock"), os.O_CREAT | os.O_RDWR, 0o600)
    except OSError as problem:
        raise CannotIndex(f"The index cannot be kept in {path.parent}: {problem.strerror}.") from None
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise IndexBusy from None
        with _open_or_recreate(path) as store:
            yield store
        with contextlib.suppress(OSError):
            os.utime(path)
            limit_index_folder(path.parent)
    except IndexDamaged as problem:  # a new index could not be opened either
        raise CannotIndex(f"The index cannot be written: {problem}.") from None
    except (sqlite3.Error, zlib.error, msgspec.MsgspecError, IndexInconsistent) as problem:
        if is_damage(problem):
            delete_index(path)
            raise CannotIndex(f"The index {path} was damaged and is removed; it is made anew.") from None
        raise CannotIndex(f"The index {path} cannot be written: {problem}.") from None
    finally:
        os.close(descriptor)


def _open_or_recreate(path: Path) -> IndexStore:
    try:
        return IndexStore(path, is_writing=True)
    except IndexDamaged:
        delete_index(path)
        return IndexStore(path, is_writing=True)


class IndexedFolder(msgspec.Struct, frozen=True):
    """The folder to index, its hidden files, and the order."""

    root: Path
    hidden: HiddenFiles = HiddenFiles()
    begins_at: str = ""
    """The session's folder, relative to the root; its files are indexed first."""
    max_files_at_once: int = 50_000
    """For more files, all paths are indexed before any content, so that questions can be answered soon."""
    max_bytes_at_once: int = 500_000_000


class FolderSurvey(msgspec.Struct, frozen=True):
    """The differences between a folder and its index."""

    listed: int
    is_cut: bool
    """Whether there are more files than are listed."""
    gone: tuple[str, ...]
    waiting: tuple[str, ...]
    """New or changed files, in the order of indexing."""
    unknown: tuple[str, ...] = ()
    """In a large folder: files whose paths are not indexed either."""
    unreadable: tuple[str, ...] = ()
    """Folders that could not be listed."""


def survey_folder(
    store: IndexStore, folder: IndexedFolder, is_stopped: Callable[[], bool] = lambda: False
) -> FolderSurvey:
    """Lists the folder again. Raises `SurveyStopped` when it is stopped."""
    unreadable: list[str] = []
    hides = folder.hidden.matcher_for(folder.root)
    listed = list_files(folder.root, is_stopped=is_stopped, hides=hides, unreadable=unreadable)
    if is_stopped():
        raise SurveyStopped
    is_cut = len(listed) > MAX_FILES
    listed = listed[:MAX_FILES]
    known = store.stamps()
    gone = tuple(sorted(known.keys() - set(listed)))
    waiting = _changed_files(folder.root, ((path, known.get(path)) for path in listed), is_stopped)
    sizes, changed = _sizes_and_folder_times(folder.root, waiting) if waiting else (0, {})
    is_large = len(listed) > folder.max_files_at_once or sizes > folder.max_bytes_at_once
    unknown = tuple(path for path in waiting if path not in known) if is_large else ()
    ordered = _build_order(waiting, changed, folder.begins_at)
    return FolderSurvey(len(listed), is_cut, gone, ordered, unknown, tuple(unreadable))


class SurveyStopped(Exception):
    """The folder is on a slow drive, so that there was no time to check all files."""


def survey_known_files(
    store: IndexStore, folder: IndexedFolder, is_stopped: Callable[[], bool] = lambda: False
) -> FolderSurvey:
    """Checks only the indexed files for changes. Raises `SurveyStopped` when it is stopped."""
    root, hides = folder.root, folder.hidden.matcher_for(folder.root)
    known = store.stamps()
    waiting = _changed_files(root, known.items(), is_stopped)
    gone = tuple(path for path in waiting if not os.path.lexists(root / path))
    gone += tuple(path for path in known if hides(path))
    rest = set(waiting) - set(gone)
    unreadable = tuple(filter(None, store.meta("unreadable").split("\n")))
    listed = int(store.meta("listed") or 0)
    return FolderSurvey(listed, bool(store.meta("cut")), gone, tuple(sorted(rest)), unreadable=unreadable)


def recall_known_contents(
    store: IndexStore, root: Path, found: FolderSurvey, is_stopped: Callable[[], bool] = lambda: False
) -> FolderSurvey:
    """Restores the outlines of files that have an earlier content again, as after switching branches, without
    mapping them."""
    known = store.versions_of(found.waiting)
    states: list[tuple[str, bytes, FileStamp]] = []
    for path in (path for path in found.waiting if path in known):
        if is_stopped():
            break
        now = stat_file(root, path)
        blob = blob_id(root, path) if now is not None and not now.reason else b""
        if now is not None and blob:
            states.append((path, blob, (now.mtime, now.size, now.inode)))
    done = store.restore_versions(states)
    waiting = tuple(path for path in found.waiting if path not in done)
    return msgspec.structs.replace(found, waiting=waiting)


def _changed_files(
    root: Path, files: Iterable[tuple[str, FileStamp | None]], is_stopped: Callable[[], bool]
) -> list[str]:
    found: list[str] = []
    for number, (path, stamp) in enumerate(files, 1):
        if number % _STAT_BATCH == 0 and is_stopped():
            raise SurveyStopped
        if not _matches_stamp(root, path, stamp):
            found.append(path)
    return found


def _sizes_and_folder_times(root: Path, paths: Sequence[str]) -> tuple[int, dict[str, int]]:
    """Returns the total size, and the latest modification time in each of their folders."""
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


def _build_order(paths: Sequence[str], changed: Mapping[str, int], begins_at: str) -> tuple[str, ...]:
    """Sorts files of the session's folder first, then folders with recent changes."""

    def order(path: str) -> tuple[object, ...]:
        above = path.rpartition("/")[0]
        return (not is_below(path, begins_at), -changed.get(above, 0), above, path)

    return tuple(sorted(paths, key=order))


def build_index(
    store: IndexStore,
    folder: IndexedFolder,
    *,
    found: FolderSurvey | None = None,
    workers: int | None = None,
    progress: Callable[[IndexProgress], None] = lambda progress: None,
    is_stopped: Callable[[], bool] = lambda: False,
) -> bool:
    """Indexes the files; returns False if stopped. `workers=0` maps in this process, as does a folder with few
    files.

    A pool imports modules by this process's path: only the builder process starts one."""
    root = folder.root
    try:
        if found is None:
            store.tidy()
            found = recall_known_contents(store, root, survey_folder(store, folder, is_stopped), is_stopped)
    except SurveyStopped:
        return False
    store.remove([os.fsencode(path) for path in found.gone])
    store.set_meta("listed", str(found.listed))
    store.set_meta("cut", "1" if found.is_cut else "")
    store.set_meta("unreadable", "\n".join(found.unreadable))
    done = found.listed - len(found.waiting)
    progress(IndexProgress(done, found.listed))
    for at in range(0, len(found.unknown), _PATH_BATCH):
        if is_stopped():
            return False
        store.put([path_only(path) for path in found.unknown[at : at + _PATH_BATCH]])
    count = max(1, min(_MAX_WORKERS, (os.cpu_count() or 2) - 1)) if workers is None else workers
    # A few files are mapped sooner than processes have started.
    is_here = count == 0 or len(found.waiting) < 2 * _TASK_BATCH
    made = _map_in_process(root, found.waiting) if is_here else _map_in_pool(root, found.waiting, count)
    pending: list[FileRecord] = []
    for batch, asked in made:
        pending += batch
        done += asked
        if len(pending) >= _COMMIT_BATCH:
            store.put(pending)
            pending = []
            progress(IndexProgress(done, found.listed))
        if is_stopped():
            made.close()
            store.put(pending)
            return False
    store.put(pending)
    store.set_meta("finished", "1")
    progress(IndexProgress(found.listed, found.listed))
    return True


def is_up_to_date(root: Path, known: IndexedFile) -> bool:
    """Returns whether the file's time and size are those in the index."""
    return _matches_stamp(root, known.path, (known.mtime, known.size, known.inode))


def _matches_stamp(root: Path, path: str, stamp: FileStamp | None) -> bool:
    if stamp is None:
        return False
    try:
        state = os.lstat(f"{root}/{path}")
    except (OSError, ValueError):
        return False
    return (state.st_mtime_ns, state.st_size, state.st_ino) == stamp


def _map_in_process(root: Path, paths: Sequence[str]) -> Generator[tuple[list[FileRecord], int]]:
    for path in paths:
        made = index_file(root, path)
        yield ([made] if made is not None else []), 1


def index_batch(root: Path, paths: Sequence[str]) -> bytes:
    """Indexes a batch in a pool process; the result is packed, because pickling many small values takes seven times
    as long."""
    return msgspec.msgpack.encode([made for path in paths if (made := index_file(root, path)) is not None])


def _map_in_pool(root: Path, paths: Sequence[str], count: int) -> Generator[tuple[list[FileRecord], int]]:
    """Maps files in a pool of processes. A file that kills a process is indexed by its path only."""
    batches = deque(paths[at : at + _TASK_BATCH] for at in range(0, len(paths), _TASK_BATCH))
    deaths = 0
    while batches:
        lost = yield from _map_until_worker_dies(root, batches, count, 2 * count)
        deaths += bool(lost)
        alone: deque[Sequence[str]] = deque([path] for batch in lost for path in batch)
        while alone:
            # One at a time, which shows the file that kills the process.
            died = (
                (yield from _map_until_worker_dies(root, alone, 1, 1))
                if deaths <= _MAX_DEATHS
                else list(alone)
            )
            if deaths > _MAX_DEATHS:
                alone.clear()
            deaths += bool(died)
            for path in (path for batch in died for path in batch):
                yield [one for one in [stat_file(root, path)] if one is not None], 1


def _map_until_worker_dies(
    root: Path, batches: deque[Sequence[str]], count: int, ahead: int
) -> Generator[tuple[list[FileRecord], int], None, list[Sequence[str]]]:
    """Processes batches, `ahead` at once, until all are done or a process dies; returns the batches that may have
    killed it."""
    context = multiprocessing.get_context("spawn")  # the store is open here, and no other process may have it
    pool = ProcessPoolExecutor(count, mp_context=context, initializer=_exit_with_parent)
    waiting: deque[tuple[Sequence[str], Future[bytes]]] = deque()
    is_waited_for = True
    try:
        while batches or waiting:
            while batches and len(waiting) < ahead:
                waiting.append((batches[0], pool.submit(index_batch, root, batches[0])))
                batches.popleft()
            made = _INDEXED_DECODER.decode(waiting[0][1].result())
            yield made, len(waiting.popleft()[0])
    except BrokenProcessPool:
        lost = [batch for batch, future in waiting if not _has_result(future)]
        for batch, future in waiting:
            if _has_result(future):
                yield _INDEXED_DECODER.decode(future.result()), len(batch)
        return lost
    except GeneratorExit:
        is_waited_for = False
        raise
    finally:
        pool.shutdown(wait=is_waited_for, cancel_futures=True)
    return []


def _has_result(future: "Future[bytes]") -> bool:
    return future.done() and future.exception() is None


def _exit_with_parent() -> None:
    """Ends a pool process when its parent is killed; otherwise it would wait for work for ever."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
