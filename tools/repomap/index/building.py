"""Bringing an index up to date: what is new or changed is mapped, what is gone is removed. Resumable at any moment.

Only one process builds an index, by a lock on a file beside it. Files are committed in batches, so one that is killed
is gone on with by the next.
"""

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
from tools.repomap.index.listing import MOST_FILES, is_below, list_files
from tools.repomap.index.outlining import blob_id, indexed, path_alone, stamped
from tools.repomap.index.store import (
    FileStamp,
    IndexDamaged,
    Indexed,
    IndexedFile,
    IndexInconsistent,
    IndexStore,
    forget,
    is_damage,
    keep_within,
)

_BATCH = 200
"""Files of one commit."""
_ASKED = 25
"""Files of one task of the pool."""
_MOST_DEATHS = 100
_INDEXED = msgspec.msgpack.Decoder(list[Indexed])
_MOST_WORKERS = 4
_PATHS_AT_ONCE = 2000
_LOOKED_AT_ONCE = 50


class IndexProgress(msgspec.Struct, frozen=True, array_like=True):
    done: int
    total: int


class IndexBusy(Exception):
    """Another process builds this index."""


class CannotIndex(Exception):
    """In words for the person: no room on the disk, no right to write."""


@contextlib.contextmanager
def writing(path: Path) -> Generator[IndexStore]:
    """The index, with the right to change it. Raises `IndexBusy` or `CannotIndex`. One that is damaged is made anew."""
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
        with _opened(path) as store:
            yield store
        with contextlib.suppress(OSError):
            os.utime(path)
            keep_within(path.parent)
    except IndexDamaged as problem:  # made anew, it cannot be opened either
        raise CannotIndex(f"The index cannot be written: {problem}.") from None
    except (sqlite3.Error, zlib.error, msgspec.MsgspecError, IndexInconsistent) as problem:
        if is_damage(problem):
            forget(path)
            raise CannotIndex(f"The index {path} was damaged and is removed; it is made anew.") from None
        raise CannotIndex(f"The index {path} cannot be written: {problem}.") from None
    finally:
        os.close(descriptor)


def _opened(path: Path) -> IndexStore:
    try:
        return IndexStore(path, is_writing=True)
    except IndexDamaged:
        forget(path)
        return IndexStore(path, is_writing=True)


class IndexedFolder(msgspec.Struct, frozen=True):
    """What of which folder is indexed, and in which order."""

    root: Path
    hidden: HiddenFiles = HiddenFiles()
    begins_at: str = ""
    """Where the session works, as the index names it: that is done first."""
    most_at_once: int = 50_000
    """Of more files the paths come before anything else, so that there is an answer soon."""
    most_bytes_at_once: int = 500_000_000


class FolderSurvey(msgspec.Struct, frozen=True):
    """What there is beside what the index knows."""

    listed: int
    is_cut: bool
    """There are more files than are listed."""
    gone: tuple[str, ...]
    waiting: tuple[str, ...]
    """New or changed, in the order in which they are to be done."""
    unknown: tuple[str, ...] = ()
    """Of a large folder: those of which not even the path is known."""
    unreadable: tuple[str, ...] = ()
    """Folders that could not be listed."""


def survey(
    store: IndexStore, folder: IndexedFolder, is_stopped: Callable[[], bool] = lambda: False
) -> FolderSurvey:
    """Lists the folder anew. Raises `TooSlow` when it is stopped."""
    unreadable: list[str] = []
    hides = folder.hidden.below(folder.root)
    listed = list_files(folder.root, is_stopped=is_stopped, hides=hides, unreadable=unreadable)
    if is_stopped():
        raise TooSlow
    is_cut = len(listed) > MOST_FILES
    listed = listed[:MOST_FILES]
    known = store.stamps()
    gone = tuple(sorted(known.keys() - set(listed)))
    waiting = _changed(folder.root, ((path, known.get(path)) for path in listed), is_stopped)
    sizes, changed = _states(folder.root, waiting) if waiting else (0, {})
    is_large = len(listed) > folder.most_at_once or sizes > folder.most_bytes_at_once
    unknown = tuple(path for path in waiting if path not in known) if is_large else ()
    ordered = _ordered(waiting, changed, folder.begins_at)
    return FolderSurvey(len(listed), is_cut, gone, ordered, unknown, tuple(unreadable))


class TooSlow(Exception):
    """A folder on a drive that answers slowly: there is no time to look at all of its files."""


def sweep(
    store: IndexStore, folder: IndexedFolder, is_stopped: Callable[[], bool] = lambda: False
) -> FolderSurvey:
    """Looks at the files that are known, and at nothing else. Raises `TooSlow` when it is stopped."""
    root, hides = folder.root, folder.hidden.below(folder.root)
    known = store.stamps()
    waiting = _changed(root, known.items(), is_stopped)
    gone = tuple(path for path in waiting if not os.path.lexists(root / path))
    gone += tuple(path for path in known if hides(path))
    rest = set(waiting) - set(gone)
    unreadable = tuple(filter(None, store.meta("unreadable").split("\n")))
    listed = int(store.meta("listed") or 0)
    return FolderSurvey(listed, bool(store.meta("cut")), gone, tuple(sorted(rest)), unreadable=unreadable)


def recalled(
    store: IndexStore, root: Path, found: FolderSurvey, is_stopped: Callable[[], bool] = lambda: False
) -> FolderSurvey:
    """Files that have contents again which they had before, as on a branch that is gone back to, need no mapping."""
    known = store.versions_of(found.waiting)
    states: list[tuple[str, bytes, FileStamp]] = []
    for path in (path for path in found.waiting if path in known):
        if is_stopped():
            break
        now = stamped(root, path)
        blob = blob_id(root, path) if now is not None and not now.reason else b""
        if now is not None and blob:
            states.append((path, blob, (now.mtime, now.size, now.inode)))
    done = store.recall(states)
    waiting = tuple(path for path in found.waiting if path not in done)
    return msgspec.structs.replace(found, waiting=waiting)


def _changed(
    root: Path, files: Iterable[tuple[str, FileStamp | None]], is_stopped: Callable[[], bool]
) -> list[str]:
    found: list[str] = []
    for number, (path, stamp) in enumerate(files, 1):
        if number % _LOOKED_AT_ONCE == 0 and is_stopped():
            raise TooSlow
        if not _is_stamped(root, path, stamp):
            found.append(path)
    return found


def _states(root: Path, paths: Sequence[str]) -> tuple[int, dict[str, int]]:
    """Their size together, and when something in each of their folders was changed last."""
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


def _ordered(paths: Sequence[str], changed: Mapping[str, int], begins_at: str) -> tuple[str, ...]:
    """Where the session works first, then the folders in which something was changed lately."""

    def order(path: str) -> tuple[object, ...]:
        above = path.rpartition("/")[0]
        return (not is_below(path, begins_at), -changed.get(above, 0), above, path)

    return tuple(sorted(paths, key=order))


def build(
    store: IndexStore,
    folder: IndexedFolder,
    *,
    found: FolderSurvey | None = None,
    workers: int | None = None,
    progress: Callable[[IndexProgress], None] = lambda progress: None,
    is_stopped: Callable[[], bool] = lambda: False,
) -> bool:
    """False: it was stopped before its end. `workers=0` maps in this process, and a folder of a few files always does.

    A pool imports modules by this process's own path: only the builder, which has nothing else in it, starts one.
    """
    root = folder.root
    try:
        if found is None:
            store.tidy()
            found = recalled(store, root, survey(store, folder, is_stopped), is_stopped)
    except TooSlow:
        return False
    store.remove([os.fsencode(path) for path in found.gone])
    store.set_meta("listed", str(found.listed))
    store.set_meta("cut", "1" if found.is_cut else "")
    store.set_meta("unreadable", "\n".join(found.unreadable))
    done = found.listed - len(found.waiting)
    progress(IndexProgress(done, found.listed))
    for at in range(0, len(found.unknown), _PATHS_AT_ONCE):
        if is_stopped():
            return False
        store.put([path_alone(path) for path in found.unknown[at : at + _PATHS_AT_ONCE]])
    count = max(1, min(_MOST_WORKERS, (os.cpu_count() or 2) - 1)) if workers is None else workers
    # A few files are mapped sooner than processes have started.
    is_here = count == 0 or len(found.waiting) < 2 * _ASKED
    made = _mapped_here(root, found.waiting) if is_here else _mapped(root, found.waiting, count)
    pending: list[Indexed] = []
    for batch, asked in made:
        pending += batch
        done += asked
        if len(pending) >= _BATCH:
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


def is_fresh(root: Path, known: IndexedFile) -> bool:
    """Whether the file is as the index has it, by its time and size."""
    return _is_stamped(root, known.path, (known.mtime, known.size, known.inode))


def _is_stamped(root: Path, path: str, stamp: FileStamp | None) -> bool:
    if stamp is None:
        return False
    try:
        state = os.lstat(f"{root}/{path}")
    except (OSError, ValueError):
        return False
    return (state.st_mtime_ns, state.st_size, state.st_ino) == stamp


def _mapped_here(root: Path, paths: Sequence[str]) -> Generator[tuple[list[Indexed], int]]:
    for path in paths:
        made = indexed(root, path)
        yield ([made] if made is not None else []), 1


def indexed_all(root: Path, paths: Sequence[str]) -> bytes:
    """What a process of the pool does. Pickled, so many small values take seven times as long."""
    return msgspec.msgpack.encode([made for path in paths if (made := indexed(root, path)) is not None])


def _mapped(root: Path, paths: Sequence[str], count: int) -> Generator[tuple[list[Indexed], int]]:
    """By a pool of processes. A file at which one of them dies is known by its path alone."""
    batches = deque(paths[at : at + _ASKED] for at in range(0, len(paths), _ASKED))
    deaths = 0
    while batches:
        lost = yield from _until_one_dies(root, batches, count, 2 * count)
        deaths += bool(lost)
        alone: deque[Sequence[str]] = deque([path] for batch in lost for path in batch)
        while alone:
            # One at a time, which tells who it was.
            died = (yield from _until_one_dies(root, alone, 1, 1)) if deaths <= _MOST_DEATHS else list(alone)
            if deaths > _MOST_DEATHS:
                alone.clear()
            deaths += bool(died)
            for path in (path for batch in died for path in batch):
                yield [one for one in [stamped(root, path)] if one is not None], 1


def _until_one_dies(
    root: Path, batches: deque[Sequence[str]], count: int, ahead: int
) -> Generator[tuple[list[Indexed], int], None, list[Sequence[str]]]:
    """Takes batches, `ahead` at once, until all are done or a process dies: gives what it may have died of."""
    context = multiprocessing.get_context("spawn")  # the store is open here, and no other process may have it
    pool = ProcessPoolExecutor(count, mp_context=context, initializer=_end_with_parent)
    waiting: deque[tuple[Sequence[str], Future[bytes]]] = deque()
    is_waited_for = True
    try:
        while batches or waiting:
            while batches and len(waiting) < ahead:
                waiting.append((batches[0], pool.submit(indexed_all, root, batches[0])))
                batches.popleft()
            made = _INDEXED.decode(waiting[0][1].result())
            yield made, len(waiting.popleft()[0])
    except BrokenProcessPool:
        lost = [batch for batch, future in waiting if not _is_made(future)]
        for batch, future in waiting:
            if _is_made(future):
                yield _INDEXED.decode(future.result()), len(batch)
        return lost
    except GeneratorExit:
        is_waited_for = False
        raise
    finally:
        pool.shutdown(wait=is_waited_for, cancel_futures=True)
    return []


def _is_made(future: "Future[bytes]") -> bool:
    return future.done() and future.exception() is None


def _end_with_parent() -> None:
    """A process of a pool waits for work for ever, also when the one that gives it was killed."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
