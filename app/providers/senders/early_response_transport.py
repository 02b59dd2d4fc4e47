"""An httpx2 transport that receives a response while a large request is still being written.

A server that refuses a large request answers before it has read the body, and may never read the rest.
httpx2 reads only after the whole request is written; here each large write also waits for the response and
stops when it arrives."""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator
from typing import Any

import httpcore2
import httpx2

_MIN_WATCHED_WRITE_BYTES = 64 * 1024
"""The minimum size of a write during which a response is awaited; a smaller one fits into the systems' buffers even
if the server does not read."""
HTTP2_ONLY_TEXT, TLS_ONLY_TEXT = "it speaks HTTP/2 only", "it speaks TLS"
_HAS_UNREAD_RESPONSE_INFO_KEY = "has_unasked_answer"
_TCP_KEEPALIVE_OPTIONS = [(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)] + [
    (socket.IPPROTO_TCP, getattr(socket, name), value)
    for name, value in (("TCP_KEEPIDLE", 60), ("TCP_KEEPINTVL", 60), ("TCP_KEEPCNT", 5))
    if hasattr(socket, name)
]
"""Socket options for TCP keep-alive, which detects a lost connection to a server that is silent for minutes."""


class EarlyResponseTransport(httpx2.AsyncBaseTransport):
    """The transport: httpcore2's connection pool over streams that read during large writes."""

    def __init__(self, context: ssl.SSLContext | None, proxy: httpx2.Proxy | None) -> None:
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=context,
            proxy=proxy and httpcore2.Proxy(str(proxy.url), proxy.raw_auth, ssl_context=proxy.ssl_context),
            max_connections=None,
            max_keepalive_connections=20,
            keepalive_expiry=30.0,  # servers and the routers between keep an idle connection for a minute or more
            network_backend=_EarlyReadBackend(),
            socket_options=_TCP_KEEPALIVE_OPTIONS,
        )

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        at = request.url
        assert isinstance(request.stream, httpx2.AsyncByteStream)
        try:
            response = await self._pool.handle_async_request(
                httpcore2.Request(
                    request.method,
                    httpcore2.URL(scheme=at.raw_scheme, host=at.raw_host, port=at.port, target=at.raw_path),
                    headers=request.headers.raw,
                    content=request.stream,
                    extensions=request.extensions,
                )
            )
        except Exception as problem:
            raise _to_httpx2_error(problem) from problem
        if response.extensions["network_stream"].get_extra_info(_HAS_UNREAD_RESPONSE_INFO_KEY):
            await response.aclose()
            raise httpx2.RemoteProtocolError("Answered what was not asked, without sending a response")
        return httpx2.Response(
            response.status,
            headers=response.headers,
            stream=_ResponseBody(response),
            extensions=response.extensions,
        )

    async def aclose(self) -> None:
        await self._pool.aclose()


class _ResponseBody(httpx2.AsyncByteStream):
    def __init__(self, response: httpcore2.Response) -> None:
        self._response = response

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for piece in self._response.aiter_stream():
                yield piece
        except Exception as problem:
            raise _to_httpx2_error(problem) from problem

    async def aclose(self) -> None:
        await self._response.aclose()


class _EarlyReadBackend(httpcore2.AsyncNetworkBackend):
    def __init__(self) -> None:
        self._backend: httpcore2.AsyncNetworkBackend = httpcore2.AnyIOBackend()  # pyright: ignore[reportAttributeAccessIssue]

    async def connect_tcp(self, *arguments: Any, **named: Any) -> httpcore2.AsyncNetworkStream:
        return _EarlyReadStream(await self._backend.connect_tcp(*arguments, **named))


class _EarlyReadStream(httpcore2.AsyncNetworkStream):
    def __init__(self, below: httpcore2.AsyncNetworkStream) -> None:
        self._inner_stream = below
        self._early_read_task: asyncio.Task[bytes] | None = None
        """The task that reads from the connection while a large request is being written; None if there is none."""
        self._has_read_response = True
        """Whether a read followed the last write; if not, unread bytes were left over from an earlier response."""
        self._has_received_bytes = False

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        self._has_read_response = True
        early, self._early_read_task = self._early_read_task, None
        try:
            data = await (early or self._inner_stream.read(max_bytes, timeout))
        finally:
            if early is not None:
                early.cancel()
        if data[3:9] == b"\4\0\0\0\0\0" and not self._has_received_bytes:
            raise httpcore2.RemoteProtocolError(HTTP2_ONLY_TEXT)
        if data[:2] in (b"\x15\3", b"\x16\3") and not self._has_received_bytes:
            raise httpcore2.RemoteProtocolError(TLS_ONLY_TEXT)
        self._has_received_bytes = True
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Writes to the connection. Raises `WriteError` when the response arrives before all is written, so that
        httpcore2 reads it."""
        self._has_read_response = False
        if self._early_read_task is None:
            if len(buffer) < _MIN_WATCHED_WRITE_BYTES:
                await self._inner_stream.write(buffer, timeout)
                return
            self._early_read_task = asyncio.ensure_future(self._inner_stream.read(_MIN_WATCHED_WRITE_BYTES))
        for start in range(0, len(buffer), _MIN_WATCHED_WRITE_BYTES):
            writing = asyncio.ensure_future(
                self._inner_stream.write(buffer[start : start + _MIN_WATCHED_WRITE_BYTES], timeout)
            )
            try:
                await asyncio.wait({self._early_read_task, writing}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                if not writing.done():
                    writing.cancel()
                    await asyncio.wait({writing})
            if writing.cancelled():
                raise httpcore2.WriteError("the answer came before the request was read")
            writing.result()

    async def aclose(self) -> None:
        early, self._early_read_task = self._early_read_task, None
        if early is not None:
            early.cancel()
            await asyncio.wait({early})
        await self._inner_stream.aclose()

    async def start_tls(self, *arguments: Any, **named: Any) -> httpcore2.AsyncNetworkStream:
        return _EarlyReadStream(await self._inner_stream.start_tls(*arguments, **named))

    def get_extra_info(self, info: str) -> Any:
        return (
            not self._has_read_response
            if info == _HAS_UNREAD_RESPONSE_INFO_KEY
            else self._inner_stream.get_extra_info(info)
        )


def _to_httpx2_error(problem: Exception) -> Exception:
    """Converts an httpcore2 exception to the httpx2 exception of the same name."""
    kind = getattr(httpx2, type(problem).__name__, None)
    return kind(str(problem)) if type(problem).__module__ == "httpcore2" and kind else problem
