"""Detects whether files that other programs may write have changed since they were read."""

from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

ParsedContent = TypeVar("ParsedContent")
FileChangeStamp = tuple[int, int, int] | None


def compute_file_change_stamp(path: Path) -> FileChangeStamp:
    """Returns a file's modification time, size and inode, which change whenever the file does; None if it is
    missing."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


class WatchedFiles:
    """A set of watched files. A check costs one `stat` per file."""

    def __init__(self) -> None:
        self._seen: dict[Path, FileChangeStamp] = {}

    def record_file_state(self, path: Path) -> None:
        """Records the present state of a file. Call it before reading the file, so that a change meanwhile is detected
        next time."""
        self._seen[path] = compute_file_change_stamp(path)

    def forget(self, path: Path) -> None:
        self._seen.pop(path, None)

    def has_changed(self, path: Path) -> bool:
        """Returns whether a file has changed since its state was recorded; an existing file without a record counts as
        changed."""
        return compute_file_change_stamp(path) != self._seen.get(path)

    def has_any_file_changed(self) -> bool:
        """Returns whether any of the watched files has changed since its state was recorded."""
        return any([compute_file_change_stamp(path) != seen for path, seen in self._seen.items()])


class ReloadedFile(Generic[ParsedContent]):
    """The parsed content of one file, read again when the file changes."""

    def __init__(self, path: Path, read: Callable[[], ParsedContent]) -> None:
        self._path = path
        self._read = read
        self._last: tuple[FileChangeStamp, ParsedContent] | None = None

    def current(self) -> ParsedContent:
        found = compute_file_change_stamp(
            self._path
        )  # before it is read: a change meanwhile is detected next time
        last = self._last  # read once: another thread may forget it meanwhile
        if last is None or last[0] != found:
            last = self._last = found, self._read()
        return last[1]

    def mark_changed(self) -> None:
        """Makes the next access read the file again, even if it seems unchanged."""
        self._last = None
