"""Reads lines from a pipe with LF framing and bounded memory."""

import asyncio
import os
from collections.abc import AsyncIterator

MAX_INPUT_LINE_BYTES = 64 * 1024 * 1024
_LINE_READER_CHUNK_BYTES = 256 * 1024


class LineTooLong(Exception):
    """A line exceeded the limit and was skipped."""


async def read_pipe_lines(descriptor: int) -> AsyncIterator[bytes | LineTooLong]:
    """Yields every line without its LF (and an optional CR), and an unterminated last line."""
    rest = bytearray()
    is_skipping = False
    while chunk := await _read_bytes(descriptor):
        start = 0
        while (end := chunk.find(b"\n", start)) >= 0:
            rest += chunk[start:end]
            start = end + 1
            yield (
                _line_too_long()
                if is_skipping or len(rest) > MAX_INPUT_LINE_BYTES
                else bytes(rest.removesuffix(b"\r"))
            )
            is_skipping = False
            rest.clear()
        if not is_skipping:
            rest += chunk[start:]
        if len(rest) > MAX_INPUT_LINE_BYTES:
            is_skipping = True
            rest = bytearray()
    if is_skipping:
        yield _line_too_long()
    elif rest:
        yield bytes(rest.removesuffix(b"\r"))


def _line_too_long() -> LineTooLong:
    return LineTooLong(f"The line is longer than {MAX_INPUT_LINE_BYTES // 1024 // 1024} MB")


async def _read_bytes(descriptor: int) -> bytes:
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
        return os.read(descriptor, _LINE_READER_CHUNK_BYTES)
    try:
        await ready
    finally:
        loop.remove_reader(descriptor)
    return os.read(descriptor, _LINE_READER_CHUNK_BYTES)
