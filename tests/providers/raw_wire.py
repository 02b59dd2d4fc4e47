"""A server whose every byte a test decides, and what may come of its answers."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from app.providers.senders.client import close_connections
from app.values.messages import AssistantMessage
from tests.providers.wire_formats import ANSWERS, TEXT

API = "openai-completions"
BODY = ANSWERS[API]()
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
WHOLE = HEAD + b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY
Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Wire:
    """A server whose every byte a test decides."""

    def __init__(self) -> None:
        self.url = ""
        self.connections = 0
        self.requests: list[bytes] = []

    async def request(self, reader: asyncio.StreamReader) -> bytes:
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(
            int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")
        )
        self.requests.append(head + await reader.readexactly(length))
        return self.requests[-1]


@asynccontextmanager
async def wire(talk: Talk, tls: ssl.SSLContext | None = None) -> AsyncIterator[Wire]:
    server = Wire()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server.connections += 1
        try:
            await talk(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError, ssl.SSLError):
            pass
        finally:
            writer.close()

    listener = await asyncio.start_server(handle, "127.0.0.1", 0, ssl=tls, limit=2**26)
    port = listener.sockets[0].getsockname()[1]
    server.url = f"{'https' if tls else 'http'}://127.0.0.1:{port}"
    try:
        yield server
    finally:
        await close_connections()
        listener.close()


def is_whole(message: AssistantMessage) -> bool:
    return message.stop_reason == "toolUse" and message.text == TEXT


def failed(message: AssistantMessage, *words: str) -> None:
    """In words, and worth another try."""
    told = message.error_message or ""
    assert message.stop_reason == "error" and all(word in told for word in words), told
    assert TEXT.startswith(message.text), "what had arrived is kept"
