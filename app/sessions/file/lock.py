"""What the system knows of an open session file: who holds its lock, and what it is called by now.

One writer per file: the lock is the system's, gone with the process that held it.

The file itself is locked, so nothing is left beside it, and other names of the same file are covered too.
Readers are never kept out.
"""

import os
import sys
from collections.abc import Iterable
from pathlib import Path

_LOCK_OFFSET = 1 << 62
"""On Windows a lock keeps readers out of its range; nobody reads there."""


def try_lock(descriptor: int) -> bool:
    """False: another process (or another place in this one) holds it."""
    if sys.platform == "win32":
        return _try_lock_windows(descriptor)
    import fcntl  # noqa: PLC0415  (exists on this platform only)

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True  # a file system without locks: nothing better can be had there
    return True


def _try_lock_windows(descriptor: int) -> bool:
    import msvcrt  # noqa: PLC0415  (exists on this platform only)

    os.lseek(descriptor, _LOCK_OFFSET, os.SEEK_SET)
    try:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # pyright: ignore[reportAttributeAccessIssue]
    except OSError:
        return False
    finally:
        os.lseek(descriptor, 0, os.SEEK_SET)
    return True


def holder_of(descriptor: int) -> int | None:
    """The process that holds the lock, where the system tells."""
    holders = _holders()
    try:
        return holders.get(_place(os.fstat(descriptor))) if holders else None
    except OSError:
        return None


def locked_by_others(paths: Iterable[Path]) -> frozenset[Path]:
    """Which of these another process has open for writing, where the system tells. One look for all of them."""
    own = os.getpid()
    held = {place for place, holder in _holders().items() if holder != own}
    found: list[Path] = []
    for path in paths if held else ():
        try:
            stat = path.stat()
        except OSError:
            continue
        if _place(stat) in held:
            found.append(path)
    return frozenset(found)


def _holders() -> dict[str, int]:
    """Which process has locked what lies at a place of a disk."""
    try:
        lines = [line.split() for line in Path("/proc/locks").read_text(encoding="ascii").splitlines()]
        return {words[5]: int(words[4]) for words in lines if len(words) > 5 and words[1] == "FLOCK"}
    except (OSError, ValueError):
        return {}


def _place(found: os.stat_result) -> str:
    return f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}:{found.st_ino}"


def name_of(descriptor: int) -> Path | None:
    """The present name of an open file, where the system tells."""
    try:
        return Path(f"/proc/self/fd/{descriptor}").readlink()
    except OSError:
        pass
    try:
        import fcntl  # noqa: PLC0415  (exists on POSIX only)

        return Path(os.fsdecode(fcntl.fcntl(descriptor, fcntl.F_GETPATH, bytes(1024)).rstrip(b"\0")))  # pyright: ignore[reportAttributeAccessIssue]
    except (ImportError, AttributeError, OSError):
        return None
