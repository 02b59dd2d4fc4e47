"""Lists the files of a folder with ripgrep: without ignored files and `.git`; links are not followed."""

import contextlib
import os
import re
import selectors
import subprocess
import tempfile
import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import IO

from tools.running.programs_outside_project import find_program_outside_project
from tools.running.withheld_environment_variables import environment_for_child_processes
from tools.searching.ripgrep import DEFAULT_RIPGREP_ARGUMENTS, find_bundled_ripgrep

MAX_LISTED_FILES = 200_000
_LISTING_READ_CHUNK_BYTES = 1 << 16
_UNREADABLE_FOLDER_PATTERN = re.compile(rb"^rg: (.+): [^:\n]+ \(os error \d+\)$", re.MULTILINE)
_RIPGREP_POLL_INTERVAL = 0.05
_LISTING_CACHE_SECONDS = 30.0
_FAILED_LISTING_RETRY_SECONDS = 1.0
"""The number of seconds in which a listing that failed is not repeated."""


def is_path_below(path: str, folder: str) -> bool:
    """Returns whether a path is below a folder. Both are relative to the root; the root is the empty name."""
    return not folder or path == folder or path.startswith(folder.rstrip("/") + "/")


def list_folder_files(
    root: Path,
    most: int = MAX_LISTED_FILES,
    is_stopped: Callable[[], bool] = lambda: False,
    hides: Callable[[str], bool] = lambda path: False,
    unreadable: list[str] | None = None,
) -> list[str]:
    """Lists the files of a folder as paths relative to the root, sorted, up to `most`. `hides` filters hidden files;
    `unreadable` collects folders that cannot be listed."""
    with tempfile.TemporaryFile() as errors:
        found = [path for path in _list_with_ripgrep(root, most, is_stopped, errors) if not hides(path)]
        errors.seek(0)
        for match in _UNREADABLE_FOLDER_PATTERN.finditer(errors.read(_LISTING_READ_CHUNK_BYTES)):
            path = os.fsdecode(match[1].removeprefix(b"./"))
            if unreadable is not None and os.path.isdir(root / path) and not hides(path):  # noqa: PTH112  (no error for odd names)
                unreadable.append(path)
    return found


@contextlib.contextmanager
def start_listing_with_ripgrep(
    root: Path, *words: str, errors: IO[bytes] | int = subprocess.DEVNULL
) -> Generator["subprocess.Popen[bytes] | None"]:
    """Yields a running ripgrep, which is ended with the block; None if it is not installed."""
    program = find_bundled_ripgrep() or find_program_outside_project("rg", outside=root)
    if program is None:
        yield None
        return
    process = subprocess.Popen(
        [program, *DEFAULT_RIPGREP_ARGUMENTS, *words],
        cwd=root,
        env=environment_for_child_processes(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=errors,
    )
    assert process.stdout is not None
    try:
        yield process
    finally:
        process.kill()
        process.stdout.close()
        process.wait()


def _list_with_ripgrep(root: Path, most: int, is_stopped: Callable[[], bool], errors: IO[bytes]) -> list[str]:
    found: list[str] = []
    rest = b""
    # Links are not followed unless asked for.
    with start_listing_with_ripgrep(root, "--files", "--null", errors=errors) as listing:
        if listing is None or listing.stdout is None:
            return _list_by_walking(root, most)
        with selectors.DefaultSelector() as waiting:
            waiting.register(listing.stdout, selectors.EVENT_READ)
            while len(found) <= most and not is_stopped():
                if not waiting.select(_RIPGREP_POLL_INTERVAL):
                    continue  # a slow drive; the caller may stop the search meanwhile
                piece = os.read(listing.stdout.fileno(), _LISTING_READ_CHUNK_BYTES)
                if not piece:
                    break
                *paths, rest = (rest + piece).split(b"\0")
                found += [os.fsdecode(path) for path in paths]
    return sorted(found[: most + 1])


def _list_by_walking(root: Path, most: int) -> list[str]:
    """Lists the files of a folder without ripgrep, if it is not installed: everything but hidden folders."""
    found: list[str] = []
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name != "node_modules")
        below = os.path.relpath(folder, root)
        found += [name if below == "." else f"{below}/{name}" for name in sorted(names)]
        if len(found) > most:
            break
    return sorted(found[: most + 1])


class FolderListingCache:
    """Caches the list of a folder's files for a while; as many as could be listed in time."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._found_paths: list[str] = []
        self._listed_at = self._tried_at = float("-inf")
        self._last_time_limit = 0.0
        self.is_complete = False

    def list_paths_cached(self, hides: Callable[[str], bool], seconds: float) -> list[str]:
        now = time.monotonic()
        is_tried = now - self._tried_at < _FAILED_LISTING_RETRY_SECONDS and seconds <= self._last_time_limit
        if not is_tried and (not self.is_complete or now - self._listed_at >= _LISTING_CACHE_SECONDS):
            found = list_folder_files(self._root, is_stopped=lambda: time.monotonic() - now >= seconds)
            self._tried_at, self._last_time_limit = now, seconds
            self.is_complete = time.monotonic() - now < seconds
            if self.is_complete or len(found) > len(self._found_paths):
                self._found_paths, self._listed_at = found, now
        return [path for path in self._found_paths[:MAX_LISTED_FILES] if not hides(path)]

    @property
    def is_listing_cut(self) -> bool:
        return len(self._found_paths) > MAX_LISTED_FILES
