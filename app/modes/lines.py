"""Reads lines from a pipe with LF framing and bounded memory."""

import asyncio
import os
from collections.abc import AsyncIterator

LINE_LIMIT = 64 * 1024 * 1024
_CHUNK = 256 * 1024


class TooLong(Exception):
    """A line exceeded the limit and was skipped."""


async def read_lines(descriptor: int) -> AsyncIterator[bytes | TooLong]:
    """Yields every line without its LF (and an optional CR), and an unterminated last line."""
    rest = bytearray()
    is_skipping = False
    while chunk := await _read(descriptor):
        start = 0
        while (end := chunk.find(b"\n", start)) >= 0:
            rest += chunk[start:end]
            start = end + 1
            yield _too_long() if is_skipping or len(rest) > LINE_LIMIT else bytes(rest.removesuffix(b"\r"))
            is_skipping = False
            rest.clear()
        if not is_skipping:
            rest += chunk[start:]
        if len(rest) > LINE_LIMIT:
            is_skipping = True
            rest = bytearray()
    if is_skipping:
        yield _too_long()
    elif rest:
        yield bytes(rest.removesuffix(b"\r"))


def _too_long() -> TooLong:
    return TooLong(f"The line is longer than {LINE_LIMIT // 1024 // 1024} MB")


async def _read(descriptor: int) -> bytes:
    """Reads bytes; waits without a thread where the descriptor can be watched (not for plain files)."""
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[None] = loop.create_future()

    def note() -> None:
        if not ready.done():
            ready.set_result(None)

    try:
        loop.add_reader(descriptor, note)
    except (PermissionError, OSError):
        await asyncio.sleep(0)  # a plain file is always ready, so other tasks get a turn here
        return os.read(descriptor, _CHUNK)
    try:
        await ready
    finally:
        loop.remove_reader(descriptor)
    return os.read(descriptor, _CHUNK)
