"""Files that others may write, too: whether they are still what was read of them."""

from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

Content = TypeVar("Content")
Stamp = tuple[int, int, int] | None


def file_stamp(path: Path) -> Stamp:
    """Changes whenever the file does: when it was written last, its size, which file it is; None: there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


class WatchedFiles:
    """Those that somebody goes by. A look at all of them is one question to the system for each."""

    def __init__(self) -> None:
        self._seen: dict[Path, Stamp] = {}

    def note(self, path: Path) -> None:
        """As it is now. Whoever reads it says so before, so that a change meanwhile is seen the next time."""
        self._seen[path] = file_stamp(path)

    def forget(self, path: Path) -> None:
        self._seen.pop(path, None)

    def has_changed(self, path: Path) -> bool:
        """One that nobody has noted is, if it is there."""
        return file_stamp(path) != self._seen.get(path)

    def any_changed(self) -> bool:
        """Whether any of them is another than it was."""
        return any([file_stamp(path) != seen for path, seen in self._seen.items()])


class ReloadedFile(Generic[Content]):
    """What one file says, read again when it is another."""

    def __init__(self, path: Path, read: Callable[[], Content]) -> None:
        self._path = path
        self._read = read
        self._last: tuple[Stamp, Content] | None = None

    def now(self) -> Content:
        found = file_stamp(self._path)  # before it is read: a change meanwhile is seen the next time
        last = self._last  # looked at once: another thread may forget it meanwhile
        if last is None or last[0] != found:
            last = self._last = found, self._read()
        return last[1]

    def forget(self) -> None:
        """It is read the next time, whatever it seems."""
        self._last = None
