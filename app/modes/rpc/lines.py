"""Lines in and out of a pipe: LF framing only, bounded memory, and a standard output that is the protocol's alone."""

import asyncio
import os
import sys
from collections import deque
from collections.abc import AsyncIterator

LINE_LIMIT = 64 * 1024 * 1024
_WAITING_LIMIT = 1024 * 1024
_CHUNK = 64 * 1024


class TooLong(Exception):
    """A line over the limit; it was passed over."""


def claim_stdout() -> int:
    """Returns a descriptor for the protocol; whatever else writes to standard output goes to standard error.

    On the level of descriptors, so that C libraries and child processes are covered.
    """
    sys.stdout.flush()
    own = os.dup(1)
    os.set_inheritable(own, False)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return own


async def read_lines(descriptor: int) -> AsyncIterator[bytes | TooLong]:
    """Every line without its LF (and an optional CR); the last one also when it is unterminated."""
    rest = bytearray()
    is_skipping = False
    while chunk := await _read(descriptor):
        start = 0
        while (end := chunk.find(b"\n", start)) >= 0:
            rest += chunk[start:end]
            start = end + 1
            if is_skipping:
                is_skipping = False
                yield TooLong(f"The line is over {LINE_LIMIT // 1024 // 1024} MB")
            else:
                yield bytes(rest.removesuffix(b"\r"))
            rest.clear()
        if not is_skipping:
            rest += chunk[start:]
        if len(rest) > LINE_LIMIT:
            is_skipping = True
            rest.clear()
    if rest:
        yield bytes(rest.removesuffix(b"\r"))


async def _read(descriptor: int) -> bytes:
    """Waits for input without a thread where the descriptor can be watched (not for plain files)."""
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[None] = loop.create_future()

    def note() -> None:
        if not ready.done():
            ready.set_result(None)

    try:
        loop.add_reader(descriptor, note)
    except (PermissionError, OSError):
        return os.read(descriptor, _CHUNK)
    try:
        await ready
    finally:
        loop.remove_reader(descriptor)
    return os.read(descriptor, _CHUNK)


class LineWriter:
    """Writes lines in order, never holding up the event loop; a slow reader is felt by `room`."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._waiting: deque[bytes] = deque()
        self._waiting_bytes = 0
        self._changed = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()
        self._empty = asyncio.Event()
        self._empty.set()
        self.is_broken = False
        """The reader has gone."""
        self._task = asyncio.get_running_loop().create_task(self._serve())

    def put(self, line: bytes) -> None:
        if self.is_broken:
            return
        self._waiting.append(line + b"\n")
        self._waiting_bytes += len(line) + 1
        self._empty.clear()
        if self._waiting_bytes > _WAITING_LIMIT:
            self._room.clear()
        self._changed.set()

    async def room(self) -> None:
        """Waits while too much is waiting to be read."""
        await self._room.wait()

    async def flush(self) -> None:
        await self._empty.wait()

    async def close(self) -> None:
        self._task.cancel()
        await asyncio.wait([self._task])

    async def _serve(self) -> None:
        while True:
            await self._changed.wait()
            self._changed.clear()
            while self._waiting:
                batch = b"".join(self._waiting)
                self._waiting.clear()
                self._waiting_bytes = 0
                await asyncio.to_thread(self._write, batch)
                self._room.set()
            self._empty.set()

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(self._descriptor, view) :]
        except OSError:
            self.is_broken = True
