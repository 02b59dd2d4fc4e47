"""Owns standard output for a mode: lines in order, bounded memory, and no output of other code between them.

Nothing here blocks in a system call: a reader that has stopped reading never keeps bayou from ending.
"""

import asyncio
import os
import select
import stat
import sys
from collections import deque
from collections.abc import Coroutine, Iterable
from typing import Any, TypeVar

from tools.text_sanitizing import escape_json_for_terminal

T = TypeVar("T")
STDOUT_READER_TIMEOUT = 30.0
"""How many seconds a reader may read nothing, after bayou has ended, before the rest of the output is
dropped."""
STDOUT_READER_TIMEOUT_AFTER_SIGNAL = 0.3
"""The same limit after a signal to end."""
_MAX_QUEUED_BYTES = 1024 * 1024
_BYTES_PER_WRITE = 4096
"""A pipe or socket that is ready for writing takes this many bytes without blocking."""
_WRITES_BEFORE_YIELDING = 64
"""After so many slices the event loop runs other tasks."""


def claim_stdout() -> int:
    """Returns a descriptor for the mode's output; all other writes to standard output go to standard error.

    Works on the level of descriptors, so that C libraries and child processes are covered.
    """
    sys.stdout.flush()
    own = os.dup(1)
    os.set_inheritable(own, False)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return own


def claim_stdin() -> int:
    """Returns a descriptor for the mode's input; all other code that reads standard input finds it empty."""
    own = os.dup(0)
    os.set_inheritable(own, False)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return own


class StdoutLineWriter:
    """Writes lines in order without blocking the event loop; `room` lets the caller wait for a slow
    reader."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._is_terminal = os.isatty(descriptor)
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[memoryview] = deque()
        self._size = 0
        """The number of bytes not yet written."""
        self._written = 0
        self._is_scheduled = False
        self._room = asyncio.Event()
        self._room.set()
        self._empty = asyncio.Event()
        self._empty.set()
        self.broken = asyncio.Event()
        """Set when the reader has gone, or was given up."""
        self.failure = ""
        """Why writing failed, unless the reader has gone."""

    @property
    def is_broken(self) -> bool:
        return self.broken.is_set()

    @property
    def has_output_space(self) -> bool:
        return self._room.is_set()

    def queue_line(self, line: bytes) -> None:
        self.queue_line_in_pieces((line + b"\n",))

    def queue_line_in_pieces(self, line: Iterable[bytes]) -> None:
        """Queues one line of JSON with its line feed; its pieces are kept without copying until they are written.

        A terminal gets the same data with control characters and direction marks escaped."""
        if self.is_broken:
            return
        if self._is_terminal:
            line = (escape_json_for_terminal(b"".join(line).decode("utf-8", "replace")).encode(),)
        for piece in line:
            if piece:
                self._waiting.append(memoryview(piece))
                self._size += len(piece)
        self._empty.clear()
        if self._size > _MAX_QUEUED_BYTES:
            self._room.clear()
        if not self._is_scheduled:
            self._is_scheduled = True
            self._loop.call_soon(self._write_queued)

    async def wait_for_output_space(self) -> None:
        """Waits while too many bytes are unread."""
        await self._room.wait()

    async def flush(self, patience: float) -> bool:
        """Waits until everything is written; drops the rest when the reader reads nothing for `patience`
        seconds."""
        watch = asyncio.ensure_future(self.give_up_stalled_reader(patience))
        try:
            await self._empty.wait()
        finally:
            watch.cancel()
        return not self.is_broken

    async def await_until_reader_gone(self, work: Coroutine[Any, Any, T]) -> T | None:
        """Awaits the work and returns its result; None as soon as the reader has gone (`head`), of a pipe even if
        nothing is written."""
        if stat.S_ISFIFO(os.fstat(self._descriptor).st_mode):
            # The writing end of a pipe is never readable, but becomes so with an error when the reader has gone.
            self._loop.add_reader(self._descriptor, self._on_reader_gone)
        working = asyncio.ensure_future(work)
        gone = asyncio.ensure_future(self.broken.wait())
        try:
            await asyncio.wait({working, gone}, return_when=asyncio.FIRST_COMPLETED)
            return await working if working.done() else None
        finally:
            working.cancel()
            gone.cancel()
            self._loop.remove_reader(self._descriptor)

    def _on_reader_gone(self) -> None:
        self._loop.remove_reader(self._descriptor)
        self._drop_reader()

    async def give_up_stalled_reader(self, patience: float) -> None:
        """Gives up the reader when lines are queued and it reads nothing for `patience` seconds."""
        while not self.is_broken:
            before = self._written
            await asyncio.sleep(patience)
            if self._waiting and self._written == before:
                self._drop_reader()

    def _write_queued(self) -> None:
        self._is_scheduled = False
        try:
            for _ in range(_WRITES_BEFORE_YIELDING):
                if not self._waiting or not self._can_write():
                    break
                self._count_written(os.write(self._descriptor, self._waiting[0][:_BYTES_PER_WRITE]))
        except OSError as problem:
            if not isinstance(problem, BrokenPipeError):
                self.failure = f"Standard output cannot be written: {problem.strerror}."
            self._drop_reader()
            return
        if self._size <= _MAX_QUEUED_BYTES:
            self._room.set()
        if not self._waiting:
            self._empty.set()
            return
        self._is_scheduled = True
        if self._can_write():
            self._loop.call_soon(self._write_queued)
        else:
            self._loop.add_writer(self._descriptor, self._resume_writing)

    def _count_written(self, count: int) -> None:
        self._written += count
        self._size -= count
        rest = self._waiting[0][count:]
        if rest:
            self._waiting[0] = rest
        else:
            self._waiting.popleft()

    def _resume_writing(self) -> None:
        self._loop.remove_writer(self._descriptor)
        self._write_queued()

    def _can_write(self) -> bool:
        poll = select.poll()
        poll.register(self._descriptor, select.POLLOUT)
        return bool(poll.poll(0))

    def _drop_reader(self) -> None:
        if self._is_scheduled:
            try:
                self._loop.remove_writer(self._descriptor)
            except (OSError, ValueError):
                pass  # the descriptor was not watched
        self.broken.set()
        self._waiting.clear()
        self._size = 0
        self._room.set()
        self._empty.set()
