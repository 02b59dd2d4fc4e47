"""Who goes first: a person who types says so, and processes that map files beside them wait for a moment; where
something is painted, as an answer that streams in, they leave a processor free.

What is said is a point in time, in memory that all of them share. So nothing has to be taken back: whoever said it may
be killed, and the others go on a moment later.
"""

import contextlib
import mmap
import os
import struct
import tempfile
import time
from collections.abc import Sequence

_REST_NS = 200_000_000
"""So long after a key nothing is mapped: most people press the next one sooner."""
_LONGEST_NS = 5_000_000_000
"""Whoever types for longer without a rest is not waited for any more, until there was one."""
_WHEN = struct.Struct("=q")
_TYPED, _PAINTED = 0, _WHEN.size
_SIZE = 2 * _WHEN.size


class RightOfWay:
    def __init__(self, descriptor: int) -> None:
        """A file of 16 bytes, which others have too; below zero: nobody ever takes it."""
        self._descriptor = descriptor
        self._until = mmap.mmap(descriptor, _SIZE) if descriptor >= 0 else None
        self._waits_since: int | None = None

    @classmethod
    def made(cls) -> "RightOfWay":
        """In a file without a name. Where none can be had nobody waits."""
        with contextlib.suppress(OSError, ValueError), tempfile.TemporaryFile() as file:
            os.truncate(file.fileno(), _SIZE)
            return cls(os.dup(file.fileno()))
        return cls(-1)

    @classmethod
    def of_words(cls, words: Sequence[str]) -> "RightOfWay":
        """As one was handed to this process."""
        return cls(int(words[0]) if words else -1)

    @property
    def words(self) -> tuple[str, ...]:
        """For the command line of another process, which is handed `descriptors`."""
        return (str(self._descriptor),)

    @property
    def descriptors(self) -> tuple[int, ...]:
        return (self._descriptor,) if self._descriptor >= 0 else ()

    def take(self) -> None:
        """Nothing is mapped for a moment."""
        self._say(_TYPED)

    def share(self) -> None:
        """One processor less maps for a moment."""
        self._say(_PAINTED)

    @property
    def is_taken(self) -> bool:
        return self._is_said(_TYPED)

    @property
    def is_free(self) -> bool:
        return not self._is_said(_TYPED) and not self._is_said(_PAINTED)

    def wait(self) -> None:
        """Until nobody has the right of way; for a while only, of one who never rests."""
        while self.is_taken:
            now = time.monotonic_ns()
            self._waits_since = self._waits_since or now
            if now - self._waits_since >= _LONGEST_NS:
                return
            time.sleep(max(0.001, self._left_ns(_TYPED, now) / 1e9))
        self._waits_since = None

    def _say(self, what: int) -> None:
        if self._until is not None:
            _WHEN.pack_into(self._until, what, time.monotonic_ns() + _REST_NS)

    def _is_said(self, what: int) -> bool:
        return 0 < self._left_ns(what, time.monotonic_ns()) <= _REST_NS

    def _left_ns(self, what: int, now: int) -> int:
        return _WHEN.unpack_from(self._until, what)[0] - now if self._until is not None else 0

    def hand_over(self) -> None:
        """Those that are to wait have it by now: this process needs its memory alone."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
