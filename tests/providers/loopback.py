"""A server on this machine that answers what a test tells it to, byte by byte, over real HTTP."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import msgspec


class Received(msgspec.Struct, frozen=True, kw_only=True):
    method: str
    target: str
    headers: Mapping[str, str]
    """Names in lower case."""
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    status: int = 200
    headers: Mapping[str, str] = msgspec.field(default_factory=lambda: {"Content-Type": "text/event-stream"})
    body: bytes | tuple[bytes, ...] = b""
    """Several pieces are sent one by one."""
    cut_at: int | None = None
    """The connection breaks after so many bytes of the body."""
    is_open_ended: bool = False
    """The body has no length and ends with the connection."""
    then_hang: bool = False
    """After the body the server is silent and leaves the connection open."""
    hang_before_headers: bool = False
    forever: bytes = b""
    """Sent again and again, every few milliseconds, until the client goes."""


Answer = Reply | Callable[[Received], "Reply | Awaitable[Reply]"]


class Loopback:
    def __init__(self) -> None:
        self.url = ""
        self.requests: list[Received] = []
        self.connections = 0
        self.replies: list[Answer] = []
        """Taken from the front; the last one stays."""
        self.client_left = asyncio.Event()
        self.answering = asyncio.Event()
        """Set when a request has arrived."""
        self.body_sent = asyncio.Event()

    def reply(self, *replies: Answer) -> None:
        self.replies[:] = replies

    def sse(self, body: bytes | tuple[bytes, ...], **more: Any) -> None:
        self.reply(Reply(body=body, **more))

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while (received := await _read_request(reader)) is not None:
                self.requests.append(received)
                self.answering.set()
                answer = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
                reply = answer if isinstance(answer, Reply) else answer(received)
                if not isinstance(reply, Reply):
                    reply = await reply
                if not await self._send(reply, reader, writer):
                    return
        except (ConnectionError, asyncio.IncompleteReadError):
            self.client_left.set()
        except asyncio.CancelledError:
            pass  # the test is over; letting it through would only be logged
        finally:
            writer.close()

    async def _send(self, reply: Reply, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """True if the connection can be used again."""
        if reply.hang_before_headers:
            await self._until_gone(reader)
            return False
        pieces = (reply.body,) if isinstance(reply.body, bytes) else reply.body
        is_chunked = not reply.is_open_ended and (reply.then_hang or bool(reply.forever) or len(pieces) > 1)
        head = [f"HTTP/1.1 {reply.status} Because"]
        head += [f"{name}: {value}" for name, value in reply.headers.items()]
        if is_chunked:
            head.append("Transfer-Encoding: chunked")
        elif reply.is_open_ended:
            head.append("Connection: close")
        else:
            head.append(f"Content-Length: {sum(map(len, pieces))}")
        writer.write("\r\n".join([*head, "", ""]).encode())
        left = reply.cut_at
        for piece in pieces:
            if left is not None:
                piece, left = piece[:left], left - len(piece[:left])
            if piece:
                writer.write(b"%x\r\n%s\r\n" % (len(piece), piece) if is_chunked else piece)
                await writer.drain()
        self.body_sent.set()
        if reply.cut_at is not None or reply.is_open_ended:
            return False
        if reply.then_hang:
            await self._until_gone(reader)
            return False
        while reply.forever:
            writer.write(b"%x\r\n%s\r\n" % (len(reply.forever), reply.forever))
            await writer.drain()
            await asyncio.sleep(0.005)
        if is_chunked:
            writer.write(b"0\r\n\r\n")
        await writer.drain()
        return True

    async def _until_gone(self, reader: asyncio.StreamReader) -> None:
        while await reader.read(4096):
            pass
        self.client_left.set()


async def _read_request(reader: asyncio.StreamReader) -> Received | None:
    first = await reader.readline()
    if not first:
        return None
    method, target, _ = first.decode().split(" ", 2)
    headers: dict[str, str] = {}
    while (line := (await reader.readline()).decode().strip()) != "":
        name, _, value = line.partition(":")
        headers[name.strip().lower()] = value.strip()
    body = await reader.readexactly(int(headers.get("content-length") or 0))
    return Received(method=method, target=target, headers=headers, body=body)


@asynccontextmanager
async def loopback(tls: ssl.SSLContext | None = None) -> AsyncIterator[Loopback]:
    server = Loopback()
    listener = await asyncio.start_server(server.handle, "127.0.0.1", 0, ssl=tls)
    port = listener.sockets[0].getsockname()[1]
    server.url = f"{'https' if tls else 'http'}://127.0.0.1:{port}"
    try:
        yield server
    finally:
        listener.close()


def sse(*events: Any, names: bool = False, done: bool = False) -> bytes:
    """Events as a body; with `names`, each is preceded by its type."""
    out: list[bytes] = []
    for event in events:
        if isinstance(event, bytes):
            out.append(event)
            continue
        if names:
            out.append(b"event: %s\n" % event["type"].encode())
        out.append(b"data: %s\n\n" % json.dumps(event).encode())
    if done:
        out.append(b"data: [DONE]\n\n")
    return b"".join(out)
