"""Connections and their encryption on asyncio alone, as httpcore2 wants them. Its own way goes through anyio."""

import asyncio
import ssl
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from app.providers.senders.http_library import (
    AsyncNetworkBackend,
    AsyncNetworkStream,
    ConnectError,
    ConnectTimeout,
    ReadError,
    ReadTimeout,
    WriteError,
    WriteTimeout,
    is_socket_readable,
    map_exceptions,
)

T = TypeVar("T")

_NEXT_ADDRESS_SECONDS = 0.25
"""After so long the next address of a server is tried beside the one that does not answer (RFC 8305)."""
_MOST = 64 * 1024
_CLOSED = "the connection was closed on this side"


class Sockets(AsyncNetworkBackend):
    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> AsyncNetworkStream:
        loop = asyncio.get_running_loop()
        with map_exceptions({TimeoutError: ConnectTimeout, OSError: ConnectError}):
            try:
                async with asyncio.timeout(timeout):
                    transport, ends = await loop.create_connection(
                        SocketEnds,
                        host,
                        port,
                        local_addr=(local_address, 0) if local_address else None,
                        happy_eyeballs_delay=_NEXT_ADDRESS_SECONDS,
                    )
            except OSError as problem:
                raise _first_of(problem) from None
            for option in socket_options or ():
                transport.get_extra_info("socket").setsockopt(*option)
        return SocketStream(transport, ends)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


def _first_of(problem: OSError) -> OSError:
    """Of several addresses that failed each, which asyncio tells in one sentence, what the first said."""
    several, found, told = str(problem).partition("Multiple exceptions: ")
    return OSError(told.partition(", [Errno ")[0]) if found and not several else problem


class SocketEnds(asyncio.Protocol):
    """What has come and was not read yet. While nobody reads, nothing is taken from the system."""

    def __init__(self) -> None:
        self._held = bytearray()
        self._has_come, self._is_taken = asyncio.Event(), asyncio.Event()
        self._is_taken.set()
        self._is_over = False
        self._problem: Exception | None = None
        self._transport: asyncio.Transport | None = None

    @property
    def has_something(self) -> bool:
        return bool(self._held) or self._is_over

    async def take(self, most: int) -> bytes:
        """At the end nothing."""
        transport = self._transport
        if transport is not None and not self.has_something:
            self._has_come.clear()
            transport.resume_reading()
            try:
                await self._has_come.wait()
            finally:
                transport.pause_reading()
        if not self._held and self._problem is not None:
            raise self._problem
        taken = bytes(self._held[:most])
        del self._held[:most]
        return taken

    async def send(self, data: bytes) -> None:
        """Until the system has all of it. Nothing of it is left out when the caller is cancelled meanwhile."""
        if self._problem is not None:
            raise self._problem
        if self._transport is None or self._transport.is_closing():
            raise ConnectionResetError(_CLOSED)
        self._transport.write(data)
        await self._is_taken.wait()
        if self._problem is not None:
            raise self._problem

    def abort(self) -> None:
        self._problem = self._problem or ConnectionAbortedError(_CLOSED)
        if self._transport is not None:
            self._transport.abort()

    # What asyncio tells

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.set_write_buffer_limits(0)
        transport.pause_reading()

    def data_received(self, data: bytes) -> None:
        self._held += data
        self._has_come.set()

    def eof_received(self) -> bool:
        self._is_over = True
        self._has_come.set()
        return True  # there may be something to say yet

    def connection_lost(self, exc: Exception | None) -> None:
        self._is_over = True
        self._problem = self._problem or exc
        self._has_come.set()
        self._is_taken.set()

    def pause_writing(self) -> None:
        self._is_taken.clear()

    def resume_writing(self) -> None:
        self._is_taken.set()


class SocketStream(AsyncNetworkStream):
    def __init__(self, transport: asyncio.Transport, ends: SocketEnds) -> None:
        self._transport, self._ends = transport, ends

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        with map_exceptions({TimeoutError: ReadTimeout, OSError: ReadError}):
            async with asyncio.timeout(timeout):
                return await self._ends.take(max_bytes)

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        with map_exceptions({TimeoutError: WriteTimeout, OSError: WriteError}):
            async with asyncio.timeout(timeout):
                await self._ends.send(buffer)

    async def aclose(self) -> None:
        self._ends.abort()
        await asyncio.sleep(0)  # asyncio closes the socket when its turn comes

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> AsyncNetworkStream:
        return await encrypted(self, ssl_context, server_hostname, timeout)

    def get_extra_info(self, info: str) -> Any:
        if info == "is_readable":
            return self._ends.has_something or is_socket_readable(self.get_extra_info("socket"))
        names = {"client_addr": "sockname", "server_addr": "peername", "socket": "socket"}
        return self._transport.get_extra_info(names[info]) if info in names else None


async def encrypted(
    below: AsyncNetworkStream, context: ssl.SSLContext, host: str | None, timeout: float | None
) -> "EncryptedStream":
    """Over `below`, which is closed if that fails."""
    # As bytes: of a text the `ssl` module makes those of an international name, by tables that are large.
    name: Any = host.encode("ascii") if host else None
    stream = EncryptedStream(below, context, name)
    try:
        with map_exceptions({TimeoutError: ConnectTimeout, OSError: ConnectError, ReadError: ConnectError,
                             WriteError: ConnectError}):  # fmt: skip
            async with asyncio.timeout(timeout):
                await stream.shake_hands()
    except BaseException:
        await below.aclose()
        raise
    return stream


class EncryptedStream(AsyncNetworkStream):
    """TLS over another stream, which may be encrypted itself (a proxy that is spoken to over TLS)."""

    def __init__(self, below: AsyncNetworkStream, context: ssl.SSLContext, host: Any) -> None:
        self._below = below
        self._coming, self._going = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._coming, self._going, server_hostname=host)

    async def shake_hands(self) -> None:
        await self._do(self._tls.do_handshake)

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        with map_exceptions({TimeoutError: ReadTimeout}):
            async with asyncio.timeout(timeout):
                try:
                    return await self._do(lambda: self._tls.read(max_bytes))
                except ssl.SSLEOFError:
                    return b""  # many servers end without a word; what HTTP says of the length tells what is missing

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        with map_exceptions({TimeoutError: WriteTimeout}):
            async with asyncio.timeout(timeout):
                await self._do(lambda: self._tls.write(buffer))

    async def aclose(self) -> None:
        await self._below.aclose()

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> AsyncNetworkStream:
        return await encrypted(self, ssl_context, server_hostname, timeout)

    def get_extra_info(self, info: str) -> Any:
        return self._tls if info == "ssl_object" else self._below.get_extra_info(info)

    async def _do(self, step: Callable[[], T]) -> T:
        """`step`, as often as it takes: what it wants to send is sent, what it wants to read is read."""
        while True:
            try:
                done = step()
            except ssl.SSLWantReadError:
                await self._send()
                if data := await self._below.read(_MOST):
                    self._coming.write(data)
                else:
                    self._coming.write_eof()
            except ssl.SSLError:
                await self._send()  # what is wrong is told to the server, too
                raise
            else:
                await self._send()
                return done

    async def _send(self) -> None:
        if self._going.pending:
            await self._below.write(self._going.read())
