"""Indexes files in a pool of processes. A file that kills a process gets no outline, or is indexed by its path only.

A pool imports modules by its parent's path: only the builder process starts one."""

import multiprocessing
import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Literal, Self

import msgspec

from tools.repomap.index.file_records import (
    compute_git_blob_id,
    make_complete_index_record,
    make_index_record_with_outline,
    make_index_record_with_words,
    make_path_only_index_record,
    read_file_state,
)
from tools.repomap.index.repository_index import IndexFileRecord

_FILES_PER_INDEXING_TASK = 25
"""The number of files that one task for a process of the pool contains."""
MIN_FILES_FOR_INDEXING_POOL = 2 * _FILES_PER_INDEXING_TASK
"""The minimum number of files for which a pool is used; for fewer, starting processes takes longer than indexing."""
_MAX_KILLED_INDEXING_PROCESSES = 100
_MAX_INDEXING_PROCESSES = 4
_INDEX_RECORDS_DECODER = msgspec.msgpack.Decoder(list[IndexFileRecord])

IndexRecordsAsMade = Generator[tuple[list[IndexFileRecord], int]]
"""Yields records, each time with the number of files that they were made from."""
MakePackedRecords = Callable[[Path, Sequence[str]], bytes]
"""A function that runs in a process of the pool: makes the records of files, given the root and their paths, and
returns them packed, because pickling many small values takes seven times as long."""


def pack_complete_records(root: Path, paths: Sequence[str]) -> bytes:
    """Makes the complete records of files (words and outlines) and returns them packed."""
    return _pack_records(root, paths, make_complete_index_record)


def pack_word_records(root: Path, paths: Sequence[str]) -> bytes:
    """Makes records of files with words and without outlines, and returns them packed."""
    return _pack_records(root, paths, make_index_record_with_words)


def pack_outline_records(root: Path, paths: Sequence[str]) -> bytes:
    """Makes records of files with outlines and without words, and returns them packed."""
    return _pack_records(root, paths, make_index_record_with_outline)


def _pack_records(
    root: Path, paths: Sequence[str], work: Callable[[Path, str], IndexFileRecord | None]
) -> bytes:
    return msgspec.msgpack.encode([made for path in paths if (made := work(root, path)) is not None])


class IndexingPool:
    """The processes that index files for one builder. They start with the first task, and end with the pool."""

    def __init__(self, root: Path, processes: int | None = None) -> None:
        """Prepares the pool. `processes` is its size; None means the number of processors, up to four."""
        self._root = root
        self._process_count = processes or min(_MAX_INDEXING_PROCESSES, os.cpu_count() or 2)
        self._running_executor: ProcessPoolExecutor | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self._stop_processes(is_waited_for=not any(problem))

    def fork_indexing_processes(self) -> None:
        """Starts the pool's processes now by forking this process, whose loaded modules they share, which halves
        the time. Allowed only in a process without threads and without an open index."""
        if sys.platform == "linux":
            self._running_executor = self._start_pool("fork")
            self._running_executor.submit(int)  # the first task starts all processes

    def index_files(self, paths: Sequence[str], work: MakePackedRecords) -> IndexRecordsAsMade:
        """Yields the records of all files. If it is closed early, the pool ends."""
        batches = deque(
            paths[at : at + _FILES_PER_INDEXING_TASK] for at in range(0, len(paths), _FILES_PER_INDEXING_TASK)
        )
        deaths = 0
        while batches:
            lost = yield from self._run_until_process_dies(batches, 3 * self._process_count, work)
            deaths += bool(lost)
            alone: deque[Sequence[str]] = deque([path] for batch in lost for path in batch)
            while alone:
                # One at a time, which shows the file that kills the process.
                died = (
                    (yield from self._run_until_process_dies(alone, 1, work))
                    if deaths <= _MAX_KILLED_INDEXING_PROCESSES
                    else list(alone)
                )
                if deaths > _MAX_KILLED_INDEXING_PROCESSES:
                    alone.clear()
                deaths += bool(died)
                for path in (path for batch in died for path in batch):
                    yield [one for one in [self._make_path_only_record(path)] if one is not None], 1

    def _run_until_process_dies(
        self, batches: deque[Sequence[str]], ahead: int, work: MakePackedRecords
    ) -> Generator[tuple[list[IndexFileRecord], int], None, list[Sequence[str]]]:
        """Processes batches, `ahead` at once, until all are done or a process dies; returns the batches that may have
        killed it."""
        waiting: deque[tuple[Sequence[str], Future[bytes]]] = deque()
        try:
            while batches or waiting:
                while batches and len(waiting) < ahead:
                    waiting.append((batches[0], self._get_executor.submit(work, self._root, batches[0])))
                    batches.popleft()
                made = _INDEX_RECORDS_DECODER.decode(waiting[0][1].result())
                yield made, len(waiting.popleft()[0])
        except BrokenProcessPool:
            self._stop_processes()
            lost = [batch for batch, future in waiting if not _has_result(future)]
            for batch, future in waiting:
                if _has_result(future):
                    yield _INDEX_RECORDS_DECODER.decode(future.result()), len(batch)
            return lost
        except GeneratorExit:
            self._stop_processes(is_waited_for=False)
            raise
        return []

    @property
    def _get_executor(self) -> ProcessPoolExecutor:
        if self._running_executor is None:
            # The store is open here, and no other process may have it.
            self._running_executor = self._start_pool("spawn")
        return self._running_executor

    def _start_pool(self, method: Literal["fork", "spawn"]) -> ProcessPoolExecutor:
        context = multiprocessing.get_context(method)
        return ProcessPoolExecutor(
            self._process_count, mp_context=context, initializer=_exit_when_parent_dies
        )

    def _stop_processes(self, *, is_waited_for: bool = True) -> None:
        if self._running_executor is not None:
            self._running_executor.shutdown(wait=is_waited_for, cancel_futures=True)
            self._running_executor = None

    def _make_path_only_record(self, path: str) -> IndexFileRecord | None:
        """Returns the record of a file that kills processes: the words of its path, unless others are stored, and an
        empty outline."""
        state = read_file_state(self._root, path)
        if state is None:
            return None
        return msgspec.structs.replace(
            make_path_only_index_record(path, state), git_blob_id=compute_git_blob_id(self._root, path)
        )


def _has_result(future: "Future[bytes]") -> bool:
    return future.done() and future.exception() is None


def _exit_when_parent_dies() -> None:
    """Ends a process of the pool when its parent is killed; otherwise it would wait for work for ever."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
