"""Locks an open session file, and finds the holder of its lock and its present name.

The operating system releases the lock when its process ends. The session file itself is locked: no lock
file is left behind, and hard links to the file are covered. Readers are never blocked."""

import os
import sys
from collections.abc import Iterable
from pathlib import Path

_SESSION_LOCK_OFFSET = 1 << 62
"""The offset of the locked byte on Windows. It is far beyond the content, because a lock there also blocks readers
of its range."""


def try_lock_session_file(descriptor: int) -> bool:
    """Locks a session file; returns False if another process, or other code in this process, holds the lock."""
    if sys.platform == "win32":
        return _try_lock_windows(descriptor)
    import fcntl  # noqa: PLC0415  (exists on this platform only)

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True  # a file system without locks, where nothing better is possible
    return True


def _try_lock_windows(descriptor: int) -> bool:
    import msvcrt  # noqa: PLC0415  (exists on this platform only)

    os.lseek(descriptor, _SESSION_LOCK_OFFSET, os.SEEK_SET)
    try:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # pyright: ignore[reportAttributeAccessIssue]
    except OSError:
        return False
    finally:
        os.lseek(descriptor, 0, os.SEEK_SET)
    return True


def lock_holder_process_id(descriptor: int) -> int | None:
    """Returns the id of the process that holds the lock on a session file; None if there is none or the system
    cannot tell."""
    holders = _lock_holders()
    try:
        return holders.get(_device_and_inode(os.fstat(descriptor))) if holders else None
    except OSError:
        return None


def session_files_locked_by_others(paths: Iterable[Path]) -> frozenset[Path]:
    """Returns those of the session files that another process has open for writing, found with one query for all;
    none where the system cannot tell."""
    own = os.getpid()
    held = {place for place, holder in _lock_holders().items() if holder != own}
    found: list[Path] = []
    for path in paths if held else ():
        try:
            stat = path.stat()
        except OSError:
            continue
        if _device_and_inode(stat) in held:
            found.append(path)
    return frozenset(found)


def _lock_holders() -> dict[str, int]:
    """Maps each locked file, by device and inode, to the process that locked it."""
    try:
        lines = [line.split() for line in Path("/proc/locks").read_text(encoding="ascii").splitlines()]
        return {words[5]: int(words[4]) for words in lines if len(words) > 5 and words[1] == "FLOCK"}
    except (OSError, ValueError):
        return {}


def _device_and_inode(found: os.stat_result) -> str:
    return f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}:{found.st_ino}"


def path_of_file_descriptor(descriptor: int) -> Path | None:
    """Returns the present path of an open file; None where the system cannot tell."""
    try:
        return Path(f"/proc/self/fd/{descriptor}").readlink()
    except OSError:
        pass
    try:
        import fcntl  # noqa: PLC0415  (exists on POSIX only)

        return Path(os.fsdecode(fcntl.fcntl(descriptor, fcntl.F_GETPATH, bytes(1024)).rstrip(b"\0")))  # pyright: ignore[reportAttributeAccessIssue]
    except (ImportError, AttributeError, OSError):
        return None
