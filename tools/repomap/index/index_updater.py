"""Keeps an index up to date: small changes are indexed by the caller at once, the rest by a builder in the
background.

Everything here blocks, except for short times stated below: use a thread."""

import os
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from tools.repomap.index.builder_process import IndexBuilder
from tools.repomap.index.folder_listing import FolderListingCache
from tools.repomap.index.git_history import read_git_head_state
from tools.repomap.index.index_updates import (
    CannotWriteIndex,
    FolderToIndex,
    IndexComparisonStopped,
    IndexDifferences,
    IndexLocked,
    compare_folder_with_index,
    find_changed_indexed_files,
    open_index_for_writing,
    restore_known_outlines,
    update_index,
)
from tools.repomap.index.repository_index import IndexFileDamaged, RepositoryIndex

DEFAULT_INDEX_WAIT_SECONDS = 0.2
"""The number of seconds that an answer waits for indexing that is nearly done."""
FOLDER_LISTING_TIMEOUT = DEFAULT_INDEX_WAIT_SECONDS
_MAX_FILES_INDEXED_BY_CALLER = 60
"""The maximum number of changed files that are indexed before an answer; more are left to the builder."""
_MAX_BYTES_INDEXED_BY_CALLER = 1_000_000
_MAX_FILES_OF_SHORT_BUILD = 100
"""The maximum number of files for whose indexing by the builder an answer waits."""
_UNKNOWN_FILE_COUNT = sys.maxsize
_CHANGE_CHECK_CACHE_SECONDS = 5.0
"""The number of seconds for which the result of a check for changes is reused."""
_MAX_FILES_CHECKED_FOR_CHANGES = 50_000
"""The maximum number of files that are checked one by one before an answer, which takes a quarter of a second."""
_CHANGE_CHECK_TIMEOUT = 1.0
_SLOW_DRIVE_CHECK_INTERVAL = 20.0
"""The number of seconds between checks for changes on a slow drive, such as a network drive, where the builder
makes them."""
_NEW_FILES_CHECK_INTERVAL = 30.0
"""The number of seconds between searches for new files, unless git changed something meanwhile."""


class IndexUpdater:
    """Keeps one index up to date for one session."""

    def __init__(
        self,
        index: Path,
        folder: Callable[[], FolderToIndex],
        home: Callable[[], Path | None],
        listing: FolderListingCache,
        hides: Callable[[str], bool],
        heard: Callable[[], None],
    ) -> None:
        """Creates it without checking the folder. `home` returns the user's home if git may be asked for the
        history; `heard` is called from a thread on progress."""
        self._index = index
        self._folder = folder
        self._home = home
        self._listing = listing
        self._hides = hides
        self._on_progress = heard
        self._lock = threading.Lock()
        self._builder: IndexBuilder | None = None
        self._files_left_to_builder = _UNKNOWN_FILE_COUNT
        """The number of files that were left to the builder."""
        self.last_checked_at = self._listed_at = self._was_slow_at = float("-inf")
        self._git_state: tuple[int, ...] = ()
        self._survey: IndexDifferences | None = None
        """The survey of the folder that the next builder starts from; None if the builder has to make one."""
        self._problem_message = ""

    @property
    def has_checked_for_changes(self) -> bool:
        return self.last_checked_at != float("-inf")

    @property
    def problem_text(self) -> str:
        """The reason why answers may be incomplete, in words for the user; usually empty."""
        is_slow = time.monotonic() - self._was_slow_at < _SLOW_DRIVE_CHECK_INTERVAL
        slowness = "its files take long to look at, so what others change is seen late." if is_slow else ""
        return self._problem_message or slowness

    def index_changed_files(self, patience: float) -> None:
        with self._lock:
            began = time.monotonic()
            if self.is_building:
                self._wait_for_short_build(patience)
                return
            if self._builder is not None:
                self._problem_message = self._builder.report.problem
                self._builder = None
            if (
                began - self.last_checked_at < _CHANGE_CHECK_CACHE_SECONDS
                or began - self._was_slow_at < _SLOW_DRIVE_CHECK_INTERVAL
            ):
                return
            self.last_checked_at = began
            left = self._count_files_left_to_builder(patience)
            if left is not None:
                self._files_left_to_builder = left
                found, self._survey = self._survey, None
                self._builder = IndexBuilder(
                    self._folder(), self._index, self._home(), self._on_progress, found=found
                )
                self._wait_for_short_build(patience - (time.monotonic() - began))

    def rebuild_index(self, why: str) -> None:
        self._problem_message = why
        self.last_checked_at = float("-inf")

    def stop_updating_index(self) -> None:
        if self._builder is not None:
            self._builder.stop_builder()

    @property
    def is_building(self) -> bool:
        return self._builder is not None and self._builder.is_running

    def index_build_progress(self, after: float = 0.0) -> tuple[int, int] | None:
        """Returns the numbers of indexed and of all files, once the builder has been running for `after` seconds;
        None before."""
        builder = self._builder
        if builder is None or not builder.is_running or not builder.report.total_files:
            return None
        is_shown = time.monotonic() - builder.started_at >= after
        return (builder.report.done_files, builder.report.total_files) if is_shown else None

    def _wait_for_short_build(self, patience: float) -> None:
        builder = self._builder
        if builder is None or patience <= 0:
            return
        report = builder.report
        left = report.total_files - report.done_files if report.total_files else self._files_left_to_builder
        # Histories follow the last file, and no answer needs them.
        if 0 < left <= _MAX_FILES_OF_SHORT_BUILD or (patience > DEFAULT_INDEX_WAIT_SECONDS and left):
            builder.wait_for_builder_end(patience)

    def _count_files_left_to_builder(self, patience: float) -> int | None:
        """Returns how many files are left to a builder; None if there are none."""
        if self._index.exists() and not self._is_index_unlocked():
            return None
        missing = self._count_missing_files()
        if missing is None:
            return self._index_small_folder_now(patience)
        return missing or self._remaining_files()

    def _is_index_unlocked(self) -> bool:
        """Returns whether no other process is writing the index."""
        try:
            with open_index_for_writing(self._index):
                return True
        except IndexLocked:
            return False
        except CannotWriteIndex as problem:
            self._problem_message = str(problem)
            return True

    def _count_missing_files(self) -> int | None:
        """Returns how many files an incomplete index lacks; None without an index."""
        try:
            with RepositoryIndex(self._index) as store:
                if store.get_index_property("finished"):
                    return 0
                listed = int(store.get_index_property("listed") or 0)
                return max(1, listed - store.count_files()) if listed else None
        except (IndexFileDamaged, sqlite3.Error):
            return None

    def _index_small_folder_now(self, patience: float) -> int | None:
        """Indexes a small folder at once, which is quicker than starting a builder."""
        if patience <= 0:
            return _UNKNOWN_FILE_COUNT
        began = time.monotonic()
        paths = self._listing.list_paths_cached(self._hides, min(patience, FOLDER_LISTING_TIMEOUT))
        folder = self._folder()
        if not self._listing.is_complete or not _are_quick_to_map(folder.root, paths):
            return len(paths) if self._listing.is_complete else _UNKNOWN_FILE_COUNT

        def is_over() -> bool:
            return time.monotonic() - began >= patience

        git = read_git_head_state(folder.root)
        try:
            with open_index_for_writing(self._index) as store:
                if not update_index(store, folder, is_stopped=is_over):
                    return len(paths)
        except IndexLocked:
            return None
        except CannotWriteIndex as problem:
            self._problem_message = str(problem)
            return None
        self._listed_at, self._git_state = began, git
        return None if self._home() is None else _UNKNOWN_FILE_COUNT

    def _lacks_outlines(self) -> bool:
        try:
            with RepositoryIndex(self._index) as store:
                return not store.get_index_property("outlined")
        except (IndexFileDamaged, sqlite3.Error):
            return False

    def _remaining_files(self) -> int | None:
        """Indexes a few changed files at once and returns how many are left to the builder; None if there are none,
        or if the index cannot be written. Known files are checked each time; new files are searched for only at
        intervals."""
        folder = self._folder()
        git, now = read_git_head_state(folder.root), time.monotonic()
        is_listing = now - self._listed_at >= _NEW_FILES_CHECK_INTERVAL or git != self._git_state

        def is_slow() -> bool:
            return time.monotonic() - now >= _CHANGE_CHECK_TIMEOUT

        try:
            with open_index_for_writing(self._index) as store:
                if store.count_files() > _MAX_FILES_CHECKED_FOR_CHANGES:
                    raise IndexComparisonStopped
                found = (compare_folder_with_index if is_listing else find_changed_indexed_files)(
                    store, folder, is_slow
                )
                found = restore_known_outlines(store, folder.root, found, is_slow)
                if not _are_quick_to_map(folder.root, found.changed_files):
                    if is_listing:
                        self._survey, self._listed_at, self._git_state = found, now, git
                    return len(found.changed_files)
                is_done = update_index(store, folder, found=found)
        except IndexComparisonStopped:  # after the answers, and seldom
            self._was_slow_at = now
            return _UNKNOWN_FILE_COUNT
        except (IndexLocked, CannotWriteIndex):
            return None
        # Another head has another history of files that change together.
        is_other = bool(self._git_state) and git != self._git_state and self._home() is not None
        if is_listing:
            self._listed_at, self._git_state = now, git

        if not is_done or is_other or self._lacks_outlines():
            return _UNKNOWN_FILE_COUNT
        self._problem_message = ""
        return None


def _are_quick_to_map(root: Path, paths: Sequence[str]) -> bool:
    return (
        len(paths) <= _MAX_FILES_INDEXED_BY_CALLER
        and sum(_file_size(root, path) for path in paths) <= _MAX_BYTES_INDEXED_BY_CALLER
    )


def _file_size(root: Path, path: str) -> int:
    try:
        return os.lstat(f"{root}/{path}").st_size
    except (OSError, ValueError):
        return 0
