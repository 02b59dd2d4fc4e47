"""The wire below a connection: whoever answers before a large request is read is heard at once, and a peer that
thinks for minutes is known to be there.
"""

import asyncio
import os
import re
import socket
import ssl
from collections.abc import Iterable
from typing import Any

from app.providers.senders.failures import HTTP2_ONLY, TLS_ONLY
from app.providers.senders.http_library import (
    AsyncNetworkBackend,
    AsyncNetworkStream,
    RemoteProtocolError,
    WriteError,
)
from tools.patterns import late

_LARGE = 64 * 1024
"""More than systems take in without the other side reading."""
_SETTINGS = late(rb"\0\0.\x04\0\0\0\0\0", re.DOTALL)
"""What a server that speaks HTTP/2 begins with, asked or not."""
_ALERT = late(rb"[\x15\x16]\x03[\0-\4]")
"""What one that wants encryption says to words without it."""
_ALIVE = [
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    *(
        (socket.IPPROTO_TCP, getattr(socket, name), seconds)
        for name, seconds in (("TCP_KEEPIDLE", 60), ("TCP_KEEPINTVL", 60), ("TCP_KEEPCNT", 5))
        if hasattr(socket, name)
    ),
]


class ServerLines(AsyncNetworkBackend):
    """Opens lines on whatever opens connections."""

    def __init__(self, below: AsyncNetworkBackend) -> None:
        self._below = below

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> AsyncNetworkStream:
        below = await self._below.connect_tcp(
            host, port, timeout, local_address, [*(socket_options or ()), *_ALIVE]
        )
        return ServerLine(below, is_plain=True)

    async def sleep(self, seconds: float) -> None:
        await self._below.sleep(seconds)


class ServerLine(AsyncNetworkStream):
    """`is_plain`: what is written is what travels, no encryption lies between."""

    def __init__(self, below: AsyncNetworkStream, *, is_plain: bool) -> None:
        self._below = below
        self._socket = below.get_extra_info("socket") if is_plain else None
        self._is_plain = is_plain
        self._has_heard = False
        self._early: asyncio.Task[bytes] | None = None
        """The reading that was begun because a request did not go out at once."""

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        early, self._early = self._early, None
        if early is None:
            data = await self._below.read(max_bytes, timeout)
        else:
            try:
                data = await early
            finally:
                early.cancel()
        if _SETTINGS.match(data):
            raise RemoteProtocolError(HTTP2_ONLY)
        if self._is_plain and not self._has_heard and _ALERT.match(data):
            raise RemoteProtocolError(TLS_ONLY)
        self._has_heard = True
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Raises `WriteError` when the answer is there before everything is written: it is to be read instead."""
        rest = memoryview(buffer)[self._taken_at_once(buffer) :]
        if not rest:
            return
        if self._early is None:
            if self._socket is None and len(rest) < _LARGE:
                await self._below.write(buffer, timeout)
                return
            self._early = asyncio.ensure_future(self._below.read(_LARGE))
        writing = asyncio.ensure_future(self._below.write(rest, timeout))  # pyright: ignore[reportArgumentType]
        try:
            await asyncio.wait({self._early, writing}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            if not writing.done():
                writing.cancel()
                await asyncio.wait({writing})
        if writing.cancelled():
            raise WriteError("the answer came before the request was read")
        writing.result()

    def _taken_at_once(self, buffer: bytes) -> int:
        """How much of it the system has taken: it reads where the bytes lie, nothing is copied for it or waits.

        Nothing of what was written before waits either: each writing ends when all of it has been taken.
        """
        if self._socket is None:
            return 0
        try:
            return os.write(self._socket.fileno(), buffer)
        except BlockingIOError:
            return 0
        except OSError as problem:
            raise WriteError(str(problem)) from problem

    async def aclose(self) -> None:
        early, self._early = self._early, None
        if early is not None:
            early.cancel()
            await asyncio.gather(early, return_exceptions=True)
        await self._below.aclose()

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> AsyncNetworkStream:
        return ServerLine(await self._below.start_tls(ssl_context, server_hostname, timeout), is_plain=False)

    def get_extra_info(self, info: str) -> Any:
        return self._below.get_extra_info(info)
