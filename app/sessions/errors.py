"""What can go wrong with a session file. Each error names the file and says what to do."""

import errno
import os
from pathlib import Path

from app.values.unable import Unable

DISK_FULL_ERRORS = (errno.ENOSPC, errno.EDQUOT)


class SessionError(Unable):
    """`what` happened to `path`; `remedy` is the next step. `str` of it is a sentence to show."""

    def __init__(self, path: Path | None, what: str, remedy: str = "") -> None:
        self.path = path
        self.what = what
        self.remedy = remedy
        place = f"{path}: " if path is not None else ""
        super().__init__(f"{place}{what}." + (f" {remedy}" if remedy else ""))


class SessionNotFound(SessionError):
    """There is no such file, or no session with that id."""


class NotASession(SessionError):
    """The file is something else, or its first line is damaged. It is left as it is."""


class SessionUnreadable(SessionError):
    """The system does not let us read it."""


class SessionTooNew(SessionError):
    """Written in a version of the format that this program does not know."""


class SessionLocked(SessionError):
    """Another process writes this session."""

    def __init__(self, path: Path, holder: int | None) -> None:
        self.holder = holder
        who = f"process {holder}" if holder else "another process"
        super().__init__(
            path,
            f"{who} is writing this session",
            "Close the other one first, or fork this session (--fork) to go on in a copy.",
        )


class SessionWriteError(SessionError):
    """An entry could not be written; memory and file are as before."""


class SessionReadOnly(SessionWriteError):
    """The session was opened for reading only."""

    def __init__(self, path: Path | None) -> None:
        super().__init__(path, "the session is open read-only", "Fork or clone it to continue in a copy.")


def error_text(problem: OSError, path: Path | None = None) -> str:
    """The system's words for a fault, without the number and the file name. With `path`, which disk is full."""
    words = (problem.strerror or str(problem)).lower()
    disk = disk_of(path) if path is not None and problem.errno in DISK_FULL_ERRORS else None
    return f"{words} (the disk at {disk} is full)" if disk is not None else words


def disk_of(path: Path) -> Path | None:
    """Where the disk that `path` is on, or would be on, is mounted."""
    try:
        return next((place for place in (path, *path.absolute().parents) if os.path.ismount(place)), None)
    except OSError:
        return None
