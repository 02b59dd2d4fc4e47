"""Which contents a session needs: a list in the store, one a session, locked as long as the session is open.

It only grows. It is beside the contents and not beside the session, so that a session which lies on another disk, in
the trash or in a folder of the person's own does not lose what it needs.
"""

import errno
import os
import threading
from collections.abc import Callable, Iterable
from pathlib import Path

from app.sessions.lock import try_lock

FOLDER = "needed"
_LENGTH = 65


class Needed:
    """Of one session that is open."""

    def __init__(self, store: Path, session_id: str) -> None:
        self.path = store / FOLDER / session_id
        self._known: set[str] | None = None
        self._handle = -1
        self._lock = threading.Lock()

    def open(self, first: Callable[[], Iterable[str]]) -> None:
        """`first`: what it needs already, when there is no list yet. Raises `OSError`."""
        with self._lock:
            if self._handle >= 0:
                return
            is_new = not self.path.exists()
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_CLOEXEC", 0)
            self._handle = os.open(self.path, flags, 0o600)
            try_lock(self._handle)
            os.utime(self.path)
            self._known = set(names_in(self.path))
        if is_new:
            self.add(first())

    def add(self, names: Iterable[str]) -> None:
        """Before they are put. Raises `OSError`."""
        with self._lock:
            if self._known is None:
                raise OSError(errno.EBADF, "the list of what this session needs cannot be written")
            fresh = [name for name in dict.fromkeys(names) if name not in self._known]
            if not fresh:
                return
            os.write(self._handle, "".join(f"{name}\n" for name in fresh).encode("ascii"))
            self._known.update(fresh)

    def close(self) -> None:
        with self._lock:
            if self._handle >= 0:
                os.close(self._handle)
            self._handle, self._known = -1, None


def names_in(path: Path) -> Iterable[str]:
    """Whole lines; what a crash tore off names nothing."""
    try:
        data = path.read_bytes()
    except OSError:
        return ()
    lines = data.decode("ascii", "replace").split("\n")
    return [line for line in lines if len(line) == _LENGTH - 1]


def is_open(path: Path) -> bool:
    """Whether a session that is open holds this list."""
    try:
        handle = os.open(path, os.O_RDWR | getattr(os, "O_CLOEXEC", 0))
    except OSError:
        return False
    try:
        return not try_lock(handle)
    finally:
        os.close(handle)
