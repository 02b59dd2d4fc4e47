"""Reduces memory use during large pieces of work: pauses the garbage collector and returns freed memory to the
system."""

import gc
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import lru_cache


@contextmanager
def pause_garbage_collection() -> Generator[None]:
    """Pauses the garbage collector while thousands of long-lived objects are created, which it would scan again and
    again."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def trim_heap() -> None:
    """Returns memory that the process has freed to the system."""
    trim = _malloc_trim()
    if trim is not None:
        trim(0)


@lru_cache(maxsize=1)
def _malloc_trim() -> Callable[[int], object] | None:
    """Returns glibc's `malloc_trim`, which releases the memory that glibc keeps after a thread frees it; None
    elsewhere."""
    if not sys.platform.startswith("linux"):
        return None
    import ctypes  # noqa: PLC0415  (reading a session at the start does not need it)

    try:
        return ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError):
        return None
