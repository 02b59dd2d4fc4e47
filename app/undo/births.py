"""When a folder was made, where the system knows that."""

import ctypes
import os
import sys
from functools import cache
from typing import Any

_AT_FDCWD, _NOFOLLOW, _BTIME = -100, 0x100, 0x800
_SECONDS, _NANOSECONDS, _SIZE = 80, 88, 256
"""Where the time of birth stands in Linux's `struct statx`, and how long that is."""


def born(path: str) -> float | None:
    """Seconds, as `time.time` has them; None where nobody knows."""
    try:
        found: float | None = getattr(os.lstat(path), "st_birthtime", None)
    except OSError:
        return None
    return found if found is not None else _told_by_linux(path)


def _told_by_linux(path: str) -> float | None:
    call = _statx()
    if call is None:
        return None
    told = ctypes.create_string_buffer(_SIZE)
    if call(_AT_FDCWD, os.fsencode(path), _NOFOLLOW, _BTIME, told) != 0:
        return None
    mask = int.from_bytes(told.raw[:4], sys.byteorder)
    if not mask & _BTIME:
        return None
    seconds = int.from_bytes(told.raw[_SECONDS : _SECONDS + 8], sys.byteorder, signed=True)
    return seconds + int.from_bytes(told.raw[_NANOSECONDS : _NANOSECONDS + 4], sys.byteorder) / 1e9


@cache
def _statx() -> Any:
    if not sys.platform.startswith("linux"):
        return None
    return getattr(ctypes.CDLL(None, use_errno=True), "statx", None)
