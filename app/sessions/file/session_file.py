"""One session file open for writing: its lock, appends of whole lines, and recovery from partial writes. A write
puts all its bytes into the file or none. `session_log` decides the meaning of lines."""

import errno
import os
import tempfile
from collections import deque
from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import Path
from typing import Literal

from app.sessions.errors import SessionLocked, SessionWriteError, system_error_text
from app.sessions.file.session_lock import (
    lock_holder_process_id,
    path_of_file_descriptor,
    try_lock_session_file,
)
from tools.files.atomic_replacement import flush_folder_to_disk
from tools.files.private_folders import fallback_temporary_folder

SyncTiming = Literal["off", "turn", "entry"]
SyncPolicy = Callable[[], SyncTiming]
"""A function that returns when writes are forced onto the disk; it is called at each write, because the setting may
change."""


def sync_timing_at_turn_end() -> SyncTiming:
    return "turn"


_SESSION_FILE_OPEN_FLAGS = os.O_RDWR | os.O_APPEND | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_MAX_WRITE_PIECES = 1000
"""The maximum number of buffers that the system accepts in one write call."""
_WRITE_FAILURE_ERROR_NUMBERS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
_FREE_SPACE_HINT = "Free some disk space or export the session to another disk, then try again."
_UNWRITABLE_FOLDER_HINT = (
    "Make its folder writable, choose another with --session-dir DIR, or run without saving "
    "with --no-session."
)


class SessionFile:
    """A session file that is open for writing. It holds the lock until it is closed."""

    def __init__(self, path: Path, descriptor: int, sync: SyncPolicy) -> None:
        self.path = path
        self.size = os.fstat(descriptor).st_size
        """The size of the file up to which all lines were written or read by this process."""
        self._descriptor = descriptor
        self._sync = sync
        self._held_lines = b""
        self._is_torn = False
        self._is_dirty = False
        self._is_new = False

    @classmethod
    def open(cls, path: Path, sync: SyncPolicy) -> "SessionFile":
        """Opens and locks an existing session file. Raises `SessionLocked`, or `OSError` when the system denies
        writing."""
        descriptor = os.open(path, _SESSION_FILE_OPEN_FLAGS)
        return cls(path, _lock_file(path, descriptor), sync)

    @classmethod
    def create(cls, path: Path, lines: Iterable[bytes], sync: SyncPolicy) -> "SessionFile":
        """Creates a session file with its first lines; on failure no file is left behind."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(path, _SESSION_FILE_OPEN_FLAGS | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            raise SessionWriteError(
                path, "a file of that name already exists", "Start another session with /new."
            ) from None
        except OSError as problem:
            raise SessionWriteError(
                path, f"cannot be created: {system_error_text(problem, path)}", _write_remedy(problem)
            ) from None
        try:
            file = cls(path, _lock_file(path, descriptor), sync)
        except SessionLocked:
            path.unlink(missing_ok=True)
            raise
        try:
            file._is_new = True
            file.append(lines)
        except SessionWriteError:
            file.close()
            path.unlink(missing_ok=True)
            raise
        return file

    def hold_lines(self, data: bytes) -> None:
        """Stores whole lines that the disk did not accept in memory; they are written before the next ones."""
        self._held_lines += data

    def append(self, lines: Iterable[bytes] = (), *, on_new_line: bool = False) -> None:
        """Appends whole lines, given in pieces of any size, after the held lines. Raises
        `SessionWriteError` with the file unchanged."""
        self._truncate_partial_write()
        data = (b"\n" if on_new_line else b"", self._held_lines, *lines)
        try:
            _write_all(self._descriptor, data)
            sync = self._sync()
            if sync == "entry":
                self._sync_to_disk()
        except OSError as problem:
            self._is_torn = True
            self._truncate_partial_write(quietly=True)
            raise SessionWriteError(
                self.path,
                f"cannot be written: {system_error_text(problem, self.path)}",
                _write_remedy(problem),
            ) from None
        self.size += sum(map(len, data))
        self._held_lines = b""
        self._is_dirty = sync == "turn"

    def truncate_to(self, size: int) -> None:
        """Truncates the session file to `size` bytes. Raises `SessionWriteError`."""
        try:
            os.ftruncate(self._descriptor, size)
        except OSError as problem:
            raise SessionWriteError(
                self.path, f"cannot be repaired: {system_error_text(problem)}", _write_remedy(problem)
            ) from None
        self.size = size

    def _truncate_partial_write(self, *, quietly: bool = False) -> None:
        """Truncates the file to its last whole line after a failed write, now or before the next write."""
        if not self._is_torn:
            return
        try:
            os.ftruncate(self._descriptor, self.size)
        except OSError as problem:
            if quietly:
                return
            raise SessionWriteError(
                self.path, f"cannot be repaired: {system_error_text(problem)}", _write_remedy(problem)
            ) from None
        self._is_torn = False

    def read_foreign_bytes(self) -> bytes:
        """Returns the bytes that another program appended since the last write, and counts them as read."""
        size = os.fstat(self._descriptor).st_size
        if size == self.size or self._is_torn:
            return b""
        if size < self.size:
            raise SessionWriteError(
                self.path,
                "another program cut this file short",
                "Nothing more is written to it; continue in a copy with /fork, or export the session.",
            )
        data = read_bytes_at_offset(self._descriptor, self.size, size - self.size)
        self.size = size
        return data

    def is_same_file_at_path(self) -> bool:
        """Whether the path still leads to the session file that is open."""
        try:
            named = self.path.stat()
        except OSError:
            return False
        mine = os.fstat(self._descriptor)
        return (named.st_ino, named.st_dev) == (mine.st_ino, mine.st_dev)

    def new_path_after_rename(self) -> Path | None:
        """Returns the file's new path after a rename; None when it was deleted or the system cannot tell."""
        if os.fstat(self._descriptor).st_nlink == 0:
            return None
        found = path_of_file_descriptor(self._descriptor)
        before, self.path = self.path, found or self.path
        if found is None or not self.is_same_file_at_path():
            self.path = before
            return None
        return found

    def wait_until_on_disk(self) -> None:
        """Waits until all writes to the session file are on the disk, if the policy requires it."""
        if not self._is_dirty:
            return
        try:
            self._sync_to_disk()
        except OSError as problem:
            raise SessionWriteError(
                self.path,
                f"may not be saved on the disk: {system_error_text(problem)}",
                "Check the disk, then export the session with /export.",
            ) from None
        self._is_dirty = False

    def _sync_to_disk(self) -> None:
        os.fsync(self._descriptor)
        if self._is_new:
            flush_folder_to_disk(self.path.parent)
            self._is_new = False

    def finish(self) -> None:
        try:
            self.wait_until_on_disk()
        finally:
            self.close()

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def copy_session_to_other_disk(problem: SessionWriteError, lines: Iterable[bytes]) -> SessionWriteError:
    """Copies a session to another disk when its disk is full, and returns the error that reports the copy."""
    assert problem.path is not None
    folder = Path(tempfile.gettempdir())
    try:
        folder = fallback_temporary_folder()
        copy = Path(tempfile.mkdtemp(prefix="session-", dir=folder)) / problem.path.name
        SessionFile.create(copy, lines, lambda: "entry").close()
    except (OSError, SessionWriteError):
        lost = f"{problem.what}. The last messages are lost, because {folder} could not be written either"
        return SessionWriteError(problem.path, lost)
    remedy = f"The whole session was saved to {copy}: bayou --session {copy}"
    return SessionWriteError(problem.path, problem.what, remedy)


def _lock_file(path: Path, descriptor: int) -> int:
    if not try_lock_session_file(descriptor):
        holder = lock_holder_process_id(descriptor)
        os.close(descriptor)
        raise SessionLocked(path, holder)
    return descriptor


def _write_all(descriptor: int, pieces: Iterable[bytes]) -> None:
    """Writes the pieces in one call where possible, so that another program's line cannot come between
    them."""
    views = deque(memoryview(piece) for piece in pieces if piece)
    while views:
        if hasattr(os, "writev"):
            count = os.writev(descriptor, list(islice(views, _MAX_WRITE_PIECES)))
        else:
            count = os.write(descriptor, views[0])
        while views and count >= len(views[0]):
            count -= len(views.popleft())
        if count:
            views[0] = views[0][count:]


def read_bytes_at_offset(descriptor: int, offset: int, size: int) -> bytes:
    """Reads bytes from the middle of an open file."""
    os.lseek(descriptor, offset, os.SEEK_SET)
    parts: list[bytes] = []
    while size > 0:
        part = os.read(descriptor, min(size, 1 << 20))
        if not part:
            break
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _write_remedy(problem: OSError) -> str:
    return _FREE_SPACE_HINT if problem.errno in _WRITE_FAILURE_ERROR_NUMBERS else _UNWRITABLE_FOLDER_HINT
