"""The sender's connections: every byte in its order, and an end that is told as what it is."""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from app.providers.senders.http_library import ConnectError, ConnectTimeout, ReadError, WriteError
from app.providers.senders.sockets import Sockets, SocketStream
from tests.providers.test_network import certificate, port_of, proxy_to, tls_server

__all__ = ["certificate"]

MUCH = bytes(range(256)) * 4 * 8192


@asynccontextmanager
async def listening(handle: Any, tls: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    listener = await asyncio.start_server(handle, "127.0.0.1", 0, ssl=tls, limit=2**24)
    try:
        yield listener.sockets[0].getsockname()[1]
    finally:
        listener.close()


def trusting(certificate: tuple[Path, Path]) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """For the server and for its client."""
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(*certificate)
    return server, ssl.create_default_context(cafile=str(certificate[0]))


async def read_all(stream: Any, most: int) -> bytes:
    out = bytearray()
    while data := await stream.read(most):
        assert len(data) <= most
        out += data
    return bytes(out)


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """What came, when all of it is there."""
    writer.write(await reader.readexactly(len(MUCH)))
    await writer.drain()
    writer.close()


@pytest.mark.parametrize("is_encrypted", [False, True])
async def test_much_goes_and_comes_in_its_order(is_encrypted: bool, certificate: tuple[Path, Path]):
    ours, theirs = trusting(certificate)
    async with listening(echo, ours if is_encrypted else None) as port:
        stream = await Sockets().connect_tcp("127.0.0.1", port, timeout=30)
        if is_encrypted:
            stream = await stream.start_tls(theirs, "127.0.0.1", timeout=30)
        await stream.write(MUCH)
        assert await read_all(stream, 1000) == MUCH
        await stream.aclose()


async def test_a_writing_that_is_cancelled_and_a_reading_lose_nothing():
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def slow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        begun.set()
        await go_on.wait()
        await echo(reader, writer)

    async with listening(slow) as port:
        stream = await Sockets().connect_tcp("127.0.0.1", port)
        for work in (stream.read(10), stream.write(MUCH)):
            task = asyncio.ensure_future(work)
            await begun.wait()
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        go_on.set()
        assert await read_all(stream, 2**20) == MUCH
        await stream.aclose()


async def test_what_nobody_reads_stays_in_the_system_and_is_known_to_be_there():
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"unasked")
        await reader.read()  # it stays: an end would be something to read, too

    async with listening(talk) as port:
        stream = await Sockets().connect_tcp("127.0.0.1", port)
        line = stream.get_extra_info("socket")
        await asyncio.to_thread(wait_until_readable, line.fileno())
        assert stream.get_extra_info("is_readable")
        assert await stream.read(2) == b"un"
        assert stream.get_extra_info("is_readable")
        assert await stream.read(100) == b"asked"
        assert not stream.get_extra_info("is_readable")
        await stream.aclose()


def wait_until_readable(number: int) -> None:
    with socket.socket(fileno=number) as line:
        try:
            line.setblocking(True)
            assert line.recv(1, socket.MSG_PEEK)
            line.setblocking(False)
        finally:
            line.detach()


async def test_who_reads_while_it_is_closed_hears_of_it_and_who_writes_behind_it():
    async def wait(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        await reader.read()

    async with listening(wait) as port:
        stream = await Sockets().connect_tcp("127.0.0.1", port)
        reading = asyncio.ensure_future(stream.read(10))
        await asyncio.sleep(0)
        await stream.aclose()
        with pytest.raises(ReadError, match="closed on this side"):
            await reading
        with pytest.raises(WriteError, match="closed on this side"):
            await stream.write(b"more")
        assert stream.get_extra_info("is_readable")


async def test_the_next_address_is_tried_and_none_is_told(monkeypatch: pytest.MonkeyPatch):
    loop = asyncio.get_running_loop()

    async def hello(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"hello")
        writer.close()

    async with listening(hello) as port:

        async def found(*_: Any, **__: Any) -> list[Any]:
            kind = (socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "")
            return [(*kind, ("127.0.0.2", port)), (*kind, ("127.0.0.1", port))]

        monkeypatch.setattr(loop, "getaddrinfo", found)
        stream = await Sockets().connect_tcp("two.test", port)
        assert isinstance(stream, SocketStream)
        assert await stream.read(9) == b"hello"
        assert stream.get_extra_info("server_addr") == ("127.0.0.1", port)
        await stream.aclose()
    with pytest.raises(ConnectError, match=r"^\[Errno [^[]*127\.0\.0\.2[^[]*$"):
        await Sockets().connect_tcp("two.test", port)


async def test_a_server_that_shakes_no_hands_is_given_up(certificate: tuple[Path, Path]):
    gone = asyncio.Event()

    async def silent(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        await reader.read()
        gone.set()

    _, theirs = trusting(certificate)
    async with listening(silent) as port:
        stream = await Sockets().connect_tcp("127.0.0.1", port)
        with pytest.raises(ConnectTimeout):
            await stream.start_tls(theirs, "127.0.0.1", timeout=0.05)
        await gone.wait()


async def test_encryption_within_encryption(certificate: tuple[Path, Path]):
    """A proxy that is spoken to over TLS, and through it a server that is, too."""
    ours, theirs = trusting(certificate)
    async with tls_server(certificate) as server, proxy_to(port_of(server)) as proxy:
        inner = int(proxy.url.rpartition(":")[2])

        async def unwrap(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            there, back = await asyncio.open_connection("127.0.0.1", inner)
            await asyncio.gather(pumped(reader, back), pumped(there, writer))

        async with listening(unwrap, ours) as port:
            stream = await Sockets().connect_tcp("127.0.0.1", port)
            outside = await stream.start_tls(theirs, "127.0.0.1")
            await outside.write(b"CONNECT models.test:443 HTTP/1.1\r\n\r\n")
            assert await outside.read(100) == b"HTTP/1.1 200 OK\r\n\r\n"
            inside = await outside.start_tls(theirs, "models.test")
            assert inside.get_extra_info("ssl_object") is not outside.get_extra_info("ssl_object")
            server.sse(b"data: within\n\n")
            await inside.write(b"GET / HTTP/1.1\r\nHost: models.test\r\n\r\n")
            said = b""
            while b"within" not in said:
                said += await inside.read(1000)
            await inside.aclose()


async def pumped(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(4096):
            writer.write(data)
            await writer.drain()
    except (ConnectionError, ssl.SSLError):
        pass
    finally:
        writer.close()
