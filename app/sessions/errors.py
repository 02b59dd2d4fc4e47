"""Errors of session files. Each error names the file and the next step."""

import errno
import os
from pathlib import Path

from app.values.user_errors import UserError

DISK_FULL_ERROR_NUMBERS = (errno.ENOSPC, errno.EDQUOT)


class SessionError(UserError):
    """An error about a session file: `what` happened to `path`, and `remedy`, the next step. `str()` gives
    a sentence to show."""

    def __init__(self, path: Path | None, what: str, remedy: str = "") -> None:
        self.path = path
        self.what = what
        self.remedy = remedy
        place = f"{path}: " if path is not None else ""
        super().__init__(f"{place}{what}." + (f" {remedy}" if remedy else ""))


class SessionNotFound(SessionError):
    """Raised if the session file does not exist, or no session has the given id."""


class NotASession(SessionError):
    """Raised if the file is not a session file, or its header is damaged; the file is not changed."""


class SessionUnreadable(SessionError):
    """Raised if the operating system does not permit reading the session file."""


class SessionTooNew(SessionError):
    """Raised if the session file has a format version that this program does not know."""


class SessionLocked(SessionError):
    """Raised if another process has the session file open for writing."""

    def __init__(self, path: Path, holder: int | None) -> None:
        self.holder = holder
        who = f"process {holder}" if holder else "another process"
        super().__init__(
            path,
            f"{who} is writing to this session",
            "Close the other one first, or continue in a copy with --fork.",
        )


class SessionWriteError(SessionError):
    """Raised if an entry could not be written; the session in memory and its file are unchanged."""


class SessionReadOnly(SessionWriteError):
    """Raised if something is to be written to a session that was opened read-only."""

    def __init__(self, path: Path | None) -> None:
        super().__init__(path, "the session is open read-only", "Continue in a copy with /fork or /clone.")


def system_error_text(problem: OSError, path: Path | None = None) -> str:
    """Returns the system's message for an `OSError`, without number and file name. If the disk is full and `path`
    is given, names the disk."""
    words = (problem.strerror or str(problem)).lower()
    disk = mount_point_of(path) if path is not None and problem.errno in DISK_FULL_ERROR_NUMBERS else None
    return f"{words} (the disk at {disk} is full)" if disk is not None else words


def mount_point_of(path: Path) -> Path | None:
    """Returns the mount point of the disk that holds `path`, or would hold it."""
    try:
        return next((place for place in (path, *path.absolute().parents) if os.path.ismount(place)), None)
    except OSError:
        return None
