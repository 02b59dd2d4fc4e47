"""The background process that updates an index: at low priority, until it is done or its input ends.

It is started with a path to bayou's modules only, in `/`, so that it never imports code of the folder it
indexes. Messages between it and the session are msgpack with a length of four bytes."""

import contextlib
import os
import selectors
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Self

import msgspec

from tools.repomap.index.file_hiding_rules import FileHidingRules
from tools.repomap.index.git_history import index_git_history
from tools.repomap.index.index_updates import (
    CannotWriteIndex,
    FolderToIndex,
    IndexDifferences,
    IndexLocked,
    IndexProgress,
    make_missing_outlines,
    open_index_for_writing,
    update_index,
)
from tools.repomap.index.indexing_pool import MIN_FILES_FOR_INDEXING_POOL, IndexingPool

_INDEX_BUILDER_PROGRAM = (
    "import sys, json; sys.path[:0] = json.loads(sys.stdin.buffer.readline()); "
    "from tools.repomap.index.builder_process import run_index_builder_process; run_index_builder_process()"
)
_INDEX_BUILDER_NICENESS = 15
"""The niceness of the builder and its pool. It is high so that the session's user interface gets the processor
first, even with two processors only."""
_INDEX_PROGRESS_INTERVAL = 0.25
"""The number of seconds between progress reports, because the session paints each of them."""
INDEX_BUSY_MESSAGE = "another bayou builds the index"


class _EncodedIndexDifferences(msgspec.Struct, frozen=True, array_like=True):
    """A survey of a folder with paths as bytes, because messages cannot contain every path as text."""

    listed: int
    is_cut: bool
    gone: tuple[bytes, ...]
    waiting: tuple[bytes, ...]
    unknown: tuple[bytes, ...]
    unreadable: tuple[bytes, ...]

    @classmethod
    def encode_survey(cls, found: IndexDifferences) -> Self:
        paths = (
            tuple(map(os.fsencode, one))
            for one in (
                found.removed_files,
                found.changed_files,
                found.unindexed_files,
                found.unreadable_folders,
            )
        )
        return cls(found.listed_count, found.is_listing_cut, *paths)

    def decode_survey(self) -> IndexDifferences:
        paths = (
            tuple(map(os.fsdecode, one)) for one in (self.gone, self.waiting, self.unknown, self.unreadable)
        )
        return IndexDifferences(self.listed, self.is_cut, *paths)


class _IndexBuildOrder(msgspec.Struct, frozen=True, array_like=True):
    root_folder: bytes
    index_file: bytes
    home_folder: bytes | None
    """The user's home folder, if git may be asked for the repository's history; None otherwise."""
    hidden_files: FileHidingRules = FileHidingRules()
    first_folder: bytes = b""
    processes: int | None = None
    with_outlines: bool = True
    survey: _EncodedIndexDifferences | None = None


class IndexBuildReport(msgspec.Struct, frozen=True, array_like=True):
    """A message from the builder on its progress or its end."""

    done_files: int = 0
    total_files: int = 0
    has_ended: bool = False
    problem: str = ""


_BUILD_ORDER_DECODER = msgspec.msgpack.Decoder(_IndexBuildOrder)
_BUILD_REPORT_DECODER = msgspec.msgpack.Decoder(IndexBuildReport)


class IndexBuilder:
    """The session's side of the builder process: starts it, receives its reports, and stops it."""

    def __init__(
        self,
        folder: FolderToIndex,
        index: Path,
        home: Path | None,
        heard: Callable[[], None] = lambda: None,
        processes: int | None = None,
        with_outlines: bool = True,
        found: IndexDifferences | None = None,
    ) -> None:
        """Starts the builder. `found` is a fresh survey of the folder; without it, the builder makes one. `heard`
        is called from a thread for each report. `processes` is the size of the builder's pool. Without outlines,
        the index contains only what the ranking needs."""
        self.report = IndexBuildReport()
        self.started_at = time.monotonic()
        self._on_report = heard
        self._process = _start_builder_process()
        self._ended_event = threading.Event()
        assert self._process.stdin is not None
        order = _IndexBuildOrder(
            os.fsencode(folder.root),
            os.fsencode(index),
            os.fsencode(home) if home else None,
            folder.hidden_files,
            os.fsencode(folder.first_folder),
            processes,
            with_outlines,
            _EncodedIndexDifferences.encode_survey(found) if found is not None else None,
        )
        _send_packed_message(self._process.stdin, order)
        threading.Thread(target=self._read_reports, name="bayou-index", daemon=True).start()

    @property
    def is_running(self) -> bool:
        return not self._ended_event.is_set()

    def wait_for_builder_end(self, seconds: float) -> bool:
        """Waits until the builder has ended or the time is over; returns whether it has ended."""
        return self._ended_event.wait(seconds)

    def stop_builder(self) -> None:
        """Ends the builder by closing its input, or, if it does not react, by killing it; work that is already
        stored stays."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.close()
            self._process.wait(1.0)
        except (OSError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()

    def _read_reports(self) -> None:
        assert self._process.stdout is not None
        try:
            while not self.report.has_ended:
                self.report = _BUILD_REPORT_DECODER.decode(_receive_message(self._process.stdout))
                self._on_report()
        except (EOFError, OSError, ValueError, msgspec.MsgspecError):
            self.report = msgspec.structs.replace(self.report, has_ended=True)
        finally:
            self._process.stdout.close()
            self.stop_builder()
            self._ended_event.set()
            self._on_report()


def _start_builder_process() -> "subprocess.Popen[bytes]":
    started = subprocess.Popen(
        [sys.executable, "-I", "-c", _INDEX_BUILDER_PROGRAM],
        cwd="/",
        env={"PATH": os.defpath, "LANG": "C.UTF-8"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    assert started.stdin is not None
    places = [place for place in sys.path if place and Path(place).is_absolute()]
    started.stdin.write(msgspec.json.encode(places) + b"\n")
    started.stdin.flush()
    return started


def _send_packed_message(file: IO[bytes], value: object) -> None:
    data = msgspec.msgpack.encode(value)
    file.write(len(data).to_bytes(4, "big") + data)
    file.flush()


def _receive_message(file: IO[bytes]) -> bytes:
    length = file.read(4)
    if len(length) < 4:
        raise EOFError
    data = file.read(int.from_bytes(length, "big"))
    if len(data) < int.from_bytes(length, "big"):
        raise EOFError
    return data


def lower_process_priority() -> None:
    """Lets the programs of all sessions go before this process and those that it starts."""
    os.nice(_INDEX_BUILDER_NICENESS)
    with contextlib.suppress(OSError):  # only where Linux shares the processors between sessions first
        Path("/proc/self/autogroup").write_text(str(_INDEX_BUILDER_NICENESS))


def run_index_builder_process() -> None:
    lower_process_priority()
    order = _BUILD_ORDER_DECODER.decode(_receive_message(sys.stdin.buffer))
    watched = sys.stdin.buffer.fileno()

    def is_stopped() -> bool:
        """Returns whether the session has closed the input, so that the builder must stop and send nothing more."""
        with selectors.DefaultSelector() as waiting:
            waiting.register(watched, selectors.EVENT_READ)
            return bool(waiting.select(0))

    told = float("-inf")

    def tell(progress: IndexProgress) -> None:
        nonlocal told
        now = time.monotonic()
        if now - told < _INDEX_PROGRESS_INTERVAL and progress.done_files < progress.total_files:
            return
        told = now
        _send_packed_message(sys.stdout.buffer, IndexBuildReport(progress.done_files, progress.total_files))

    root = Path(os.fsdecode(order.root_folder))
    folder = FolderToIndex(root, order.hidden_files, os.fsdecode(order.first_folder))
    problem = ""
    try:
        pool = IndexingPool(root, order.processes)
        if order.survey is None or len(order.survey.waiting) >= MIN_FILES_FOR_INDEXING_POOL:
            pool.fork_indexing_processes()
        with open_index_for_writing(Path(os.fsdecode(order.index_file))) as store:
            is_current = order.survey is not None and store.remove_unused_versions()
            found = order.survey.decode_survey() if order.survey is not None and is_current else None
            with pool:
                is_whole = update_index(
                    store, folder, found=found, pool=pool, progress=tell, is_stopped=is_stopped
                )
            if is_whole and order.home_folder is not None:
                index_git_history(store, root, Path(os.fsdecode(order.home_folder)))
            if is_whole and order.with_outlines:

                def tell_more() -> None:  # no answer waits for outlines, so none is counted
                    _send_packed_message(sys.stdout.buffer, IndexBuildReport())

                tell_more()
                # Other processes: those before keep many words in memory.
                with IndexingPool(root, order.processes) as pool:
                    make_missing_outlines(store, root, pool=pool, tell=tell_more, is_stopped=is_stopped)
    except IndexLocked:
        problem = INDEX_BUSY_MESSAGE
    except CannotWriteIndex as failure:
        problem = str(failure)
    except BrokenPipeError:
        return
    _send_packed_message(sys.stdout.buffer, IndexBuildReport(has_ended=True, problem=problem))
    if is_stopped():
        os._exit(0)  # without waiting for the pool's present work
