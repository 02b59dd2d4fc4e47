"""Bringing an index up to date: what is new or changed is mapped, what is gone is removed. Resumable at any moment.

Only one process builds an index, by a lock on a file beside it. Files are committed in batches, so one that is killed
is gone on with by the next.
"""

import contextlib
import fcntl
import os
import selectors
import sqlite3
from collections.abc import Callable, Generator, Sequence
from pathlib import Path

import msgspec

from tools.repomap.listing import MOST_FILES, list_files
from tools.repomap.outlining import indexed
from tools.repomap.store import IndexDamaged, Indexed, IndexedFile, IndexStore, forget, keep_within
from tools.repomap.worker import MapWorker

_BATCH = 200
"""Files of one commit."""
_ASKED = 25
"""Files of one question to a worker."""
_MOST_WORKERS = 4


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
    except sqlite3.Error as problem:
        raise CannotIndex(f"The index {path} cannot be written: {problem}.") from None
    finally:
        os.close(descriptor)


def _opened(path: Path) -> IndexStore:
    try:
        return IndexStore(path, is_writing=True)
    except IndexDamaged:
        forget(path)
        return IndexStore(path, is_writing=True)


class FolderSurvey(msgspec.Struct, frozen=True):
    """What there is beside what the index knows."""

    listed: int
    is_cut: bool
    """There are more files than are listed."""
    gone: tuple[str, ...]
    waiting: tuple[str, ...]
    """New or changed."""


def survey(store: IndexStore, root: Path, is_stopped: Callable[[], bool] = lambda: False) -> FolderSurvey:
    listed = list_files(root, is_stopped=is_stopped)
    is_cut = len(listed) > MOST_FILES
    listed = listed[:MOST_FILES]
    known = {file.path: file for file in store.files()}
    gone = tuple(sorted(known.keys() - set(listed)))
    waiting = tuple(path for path in listed if not is_fresh(root, known.get(path)))
    return FolderSurvey(len(listed), is_cut, gone, waiting)


def build(
    store: IndexStore,
    root: Path,
    *,
    found: FolderSurvey | None = None,
    workers: int | None = None,
    progress: Callable[[IndexProgress], None] = lambda progress: None,
    is_stopped: Callable[[], bool] = lambda: False,
) -> bool:
    """False: it was stopped before its end. `workers=0` maps in this process."""
    found = found or survey(store, root, is_stopped)
    store.remove([os.fsencode(path) for path in found.gone])
    store.set_meta("listed", str(found.listed))
    store.set_meta("cut", "1" if found.is_cut else "")
    done = found.listed - len(found.waiting)
    progress(IndexProgress(done, found.listed))
    count = min(_MOST_WORKERS, max(1, (os.cpu_count() or 2) // 2)) if workers is None else workers
    # A few files are mapped sooner than a process has started.
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


def is_fresh(root: Path, known: IndexedFile | None) -> bool:
    """Whether the file is as the index has it, by its time and size."""
    if known is None:
        return False
    try:
        state = os.lstat(root / known.path)
    except (OSError, ValueError):
        return False
    return (state.st_mtime_ns, state.st_size, state.st_ino) == (known.mtime, known.size, known.inode)


def _mapped_here(root: Path, paths: Sequence[str]) -> Generator[tuple[list[Indexed], int]]:
    for path in paths:
        made = indexed(root, path)
        yield ([made] if made is not None else []), 1


def _mapped(root: Path, paths: Sequence[str], count: int) -> Generator[tuple[list[Indexed], int]]:
    """By workers: each has one question before it and one waiting. One that dies leaves its files to be done here."""
    questions = [paths[at : at + _ASKED] for at in range(0, len(paths), _ASKED)]
    questions.reverse()
    asked: dict[MapWorker, list[Sequence[str]]] = {}
    lost: list[str] = []
    with contextlib.ExitStack() as stack, selectors.DefaultSelector() as waiting:
        for _ in range(min(count, len(questions))):
            worker = MapWorker()
            stack.callback(worker.close)
            waiting.register(worker, selectors.EVENT_READ, worker)
            asked[worker] = []
            _ask(worker, root, questions, asked[worker])
            _ask(worker, root, questions, asked[worker])
        while any(asked.values()):
            for key, _ in waiting.select():
                worker: MapWorker = key.data
                try:
                    made = worker.answer()
                except (EOFError, OSError, msgspec.MsgspecError):
                    waiting.unregister(worker)
                    lost += [path for question in asked.pop(worker) for path in question]
                    continue
                answered = asked[worker].pop(0)
                _ask(worker, root, questions, asked[worker])
                yield made, len(answered)
    rest = [*lost, *(path for question in questions for path in question)]
    # What made a worker die is not tried again: its path is known, and no more.
    yield [], len(lost)
    if rest and not lost:
        yield from _mapped_here(root, rest)


def _ask(worker: MapWorker, root: Path, questions: list[Sequence[str]], waiting: list[Sequence[str]]) -> None:
    if not questions:
        return
    question = questions.pop()
    waiting.append(question)
    with contextlib.suppress(OSError):  # it is gone; its answer will say so
        worker.ask(root, question)
