"""What a large piece of work asks of the memory: not to be looked through meanwhile, and to be given back."""

import gc
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import lru_cache


@contextmanager
def garbage_collection_paused() -> Generator[None]:
    """Thousands of young objects, all of which live: the collector would only look at them again and again."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def trim_heap() -> None:
    trim = _malloc_trim()
    if trim is not None:
        trim(0)


@lru_cache(maxsize=1)
def _malloc_trim() -> Callable[[int], object] | None:
    """glibc keeps what a thread freed; it gives it back when asked."""
    if not sys.platform.startswith("linux"):
        return None
    import ctypes  # noqa: PLC0415  (whoever reads a session at the start has no use for it)

    try:
        return ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError):
        return None
