"""Connects to MCP servers on the network: streamable HTTP, and SSE for old ones, with the proxy and
certificates of bayou's settings. `oauth` handles the sign-in.

Imported when such a server is contacted, after the SDK."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from typing import Any

import httpx2
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client

from app.mcp.mcp_oauth import (
    McpHttpClientFactory,
    StoredMcpTokenAuth,
    forbidden_sign_in_address_reason,
    sign_in_to_mcp_server,
)
from app.mcp.mcp_token_store import McpTokenStore
from app.mcp.server_config_entries import McpServerConfig
from app.mcp.server_errors import McpServerUnavailable
from app.mcp.stdio_process import MAX_MCP_SERVER_LINE_BYTES
from app.providers.errors import ProviderError, read_retry_after_ms
from app.providers.senders.client import HTTP_CONNECT_TIMEOUT_SECONDS, SharedClientTransport
from app.providers.senders.connection_errors import explain_connection_error
from app.providers.signin.interface import SignInUi
from app.providers.transport import USER_AGENT

_MAX_MCP_REQUEST_RETRIES = 2
_FIRST_RETRY_PAUSE_SECONDS, _MAX_RETRY_PAUSE_SECONDS = 0.5, 10.0
_RETRYABLE_HTTP_STATUSES = (408, 429, 500, 502, 503, 504)
_MCP_READ_TIMEOUT_SECONDS = 30 * 60.0
"""The longest pause between bytes of an answer; the time limit of a call is checked elsewhere."""
_MAX_RESPONSE_CHUNK_BYTES = 256 * 1024


def make_mcp_http_transport(
    server: McpServerConfig, sign_ins: McpTokenStore, proxy: Callable[[], str | None] = lambda: None
) -> Callable[[], AbstractAsyncContextManager[Any]]:
    """Returns a function that opens the HTTP transport to an MCP server. `server` has its values filled in."""

    @asynccontextmanager
    async def opened() -> AsyncGenerator[Any, None]:
        url = server.url or ""
        clients = make_mcp_http_client_factory(server, proxy())
        auth = (
            None
            if is_authorization_header_configured(server)
            else StoredMcpTokenAuth(server, sign_ins, clients)
        )
        if server.type == "sse":

            def client(
                headers: dict[str, str] | None = None,
                timeout: httpx2.Timeout | None = None,
                auth: httpx2.Auth | None = None,
            ) -> httpx2.AsyncClient:
                made = clients(auth)
                made.headers.update({**server.headers, **(headers or {})})
                return made

            async with sse_client(url, auth=auth, httpx_client_factory=client) as streams:
                yield streams
            return
        async with clients(auth) as made:
            made.headers.update(server.headers)
            # The length of an event is checked here, together with all other answers (`_SizeLimitedStream`).
            async with streamable_http_client(url, http_client=made, max_sse_event_size=None) as streams:
                yield streams

    return opened


async def sign_in_to_mcp_server_with_browser(
    server: McpServerConfig, sign_ins: McpTokenStore, ui: SignInUi, proxy: str | None = None
) -> str:
    """Lets the user sign in to an MCP server in the browser; returns a sentence about the result. Raises
    `UserError`."""
    if is_authorization_header_configured(server):
        raise McpServerUnavailable(
            f'"{server.name}" sends an Authorization header; remove it from the configuration to '
            "sign in instead."
        )
    return await sign_in_to_mcp_server(server, sign_ins, make_mcp_http_client_factory(server, proxy), ui)


def is_authorization_header_configured(server: McpServerConfig) -> bool:
    return any(name.lower() == "authorization" for name in server.headers)


def make_mcp_http_client_factory(server: McpServerConfig, proxy: str | None) -> McpHttpClientFactory:
    """Creates HTTP clients for an MCP server that use bayou's shared connections and the server's own sign-in,
    retries and limits."""
    url = server.url or ""

    async def before(request: httpx2.Request) -> None:
        refused = await forbidden_sign_in_address_reason(str(request.url), url)
        if refused:
            raise McpServerUnavailable(refused)

    def made(auth: httpx2.Auth | None) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(
            transport=_RetryingTransport(
                SharedClientTransport(proxy), url, has_own_key=is_authorization_header_configured(server)
            ),
            auth=auth,
            headers={"User-Agent": USER_AGENT},
            timeout=httpx2.Timeout(HTTP_CONNECT_TIMEOUT_SECONDS, read=_MCP_READ_TIMEOUT_SECONDS),
            event_hooks={"request": [before]},
            trust_env=False,
        )

    return made


class _RetryingTransport(httpx2.AsyncBaseTransport):
    """An HTTP transport that repeats failed requests if that is safe, and describes a server's refusal in words."""

    def __init__(
        self,
        wire: httpx2.AsyncBaseTransport,
        url: str,
        *,
        has_own_key: bool,
    ) -> None:
        self._inner_transport = wire
        self._has_own_key = has_own_key
        self._server_url = httpx2.URL(url)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        left = _MAX_MCP_REQUEST_RETRIES if _is_safe_to_repeat(request) else 0
        pause = _FIRST_RETRY_PAUSE_SECONDS
        while True:
            try:
                response = await self._inner_transport.handle_async_request(request)
            except ProviderError as problem:  # a proxy or a certificate file that cannot be used
                raise McpServerUnavailable(str(problem)) from None
            except httpx2.ConnectError as problem:
                told = explain_connection_error(problem, str(request.url))
                if told.error_type == "tls":
                    raise McpServerUnavailable(str(told)) from None
                if not left:
                    raise McpServerUnavailable(
                        f"{self._server_name(request)} cannot be reached: {problem}"
                    ) from None
            except httpx2.TimeoutException:
                raise McpServerUnavailable(f"{self._server_name(request)} does not answer") from None
            except httpx2.ProxyError as problem:
                raise McpServerUnavailable(f"the proxy refused the connection: {problem}") from None
            except httpx2.HTTPError as problem:
                why = str(problem) or type(problem).__name__
                raise McpServerUnavailable(
                    f"the connection to {self._server_name(request)} broke: {why}"
                ) from None
            else:
                if not left or response.status_code not in _RETRYABLE_HTTP_STATUSES:
                    return await self._check_response(request, response)
                asked = (
                    read_retry_after_ms({"retry-after": response.headers.get("retry-after", "")}) or 0
                ) / 1000
                await response.aclose()
                pause = max(pause, asked)
                if pause > _MAX_RETRY_PAUSE_SECONDS:
                    raise McpServerUnavailable(
                        f"the server answered {response.status_code}: try again in {asked:.0f} s"
                    )
            left -= 1
            await asyncio.sleep(pause)
            pause *= 2

    async def _check_response(self, request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
        """Raises an error for an HTTP response that is outside of the MCP protocol; other responses go to the
        SDK."""
        response = _limit_answer_size(response)
        status = response.status_code
        is_server = request.url.host == self._server_url.host and request.method == "POST"
        kind = response.headers.get("content-type", "")
        if (
            is_server
            and (status in _RETRYABLE_HTTP_STATUSES or status == 407)
            and not kind.startswith("application/json")
        ):
            await response.aclose()
            raise McpServerUnavailable(f"the server answered {status} {response.reason_phrase}".rstrip())
        if is_server and status == 405:
            await response.aclose()
            raise McpServerUnavailable('the server answered 405; for an old server set "type": "sse"')
        if is_server and status == 401 and self._has_own_key:
            await response.aclose()
            raise McpServerUnavailable("the server rejected the Authorization in `headers` (401)")
        return response

    def _server_name(self, request: httpx2.Request) -> str:
        port = f":{request.url.port}" if request.url.port else ""
        return f"{request.url.host}{port}"

    async def aclose(self) -> None:
        await self._inner_transport.aclose()


class _SizeLimitedStream(httpx2.AsyncByteStream):
    """Limits the decompressed size of an MCP server's responses and of single events to the longest line that
    a local server may send, so that small compressed responses cannot fill the memory."""

    def __init__(self, answer: httpx2.Response, *, is_events: bool) -> None:
        self._answer = answer
        self._is_events = is_events
        self._size = 0

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async with aclosing(self._answer.aiter_bytes()) as pieces:
                async for piece in pieces:
                    end = max(piece.rfind(b"\n\n"), piece.rfind(b"\r\n\r\n")) if self._is_events else -1
                    self._size = self._size + len(piece) if end < 0 else len(piece) - end
                    if self._size > MAX_MCP_SERVER_LINE_BYTES:
                        raise self._size_error(
                            f"the server sent an answer of more than {MAX_MCP_SERVER_LINE_BYTES // 1024 // 1024} MB"
                        )
                    yield piece
                    if len(piece) > _MAX_RESPONSE_CHUNK_BYTES:
                        await asyncio.sleep(
                            0
                        )  # a little data can decompress to a lot: lets key presses be handled in between
        except httpx2.DecodingError as problem:
            raise self._size_error(f"the server's answer cannot be decompressed: {problem}") from None

    def _size_error(self, why: str) -> Exception:
        """Returns the exception for a response that is too large, of the kind that the SDK passes on: one for event
        streams, another for other responses."""
        return httpx2.SSEError(why) if self._is_events else McpServerUnavailable(why)

    async def aclose(self) -> None:
        await self._answer.aclose()


def _limit_answer_size(answer: httpx2.Response) -> httpx2.Response:
    kept = [
        (name, value)
        for name, value in answer.headers.multi_items()
        if name.lower() not in ("content-encoding", "content-length")
    ]
    is_events = answer.headers.get("content-type", "").startswith("text/event-stream")
    stream = _SizeLimitedStream(answer, is_events=is_events)
    return httpx2.Response(answer.status_code, headers=kept, stream=stream, extensions=answer.extensions)


def _is_safe_to_repeat(request: httpx2.Request) -> bool:
    """Returns whether a failed HTTP request to an MCP server can be repeated: greetings and lists can; a call
    cannot, since it may have been carried out."""
    if request.method != "POST":
        return False
    try:
        message = json.loads(request.content)
    except (ValueError, httpx2.RequestNotRead):
        return False
    method = message.get("method", "") if isinstance(message, dict) else ""
    return method in ("initialize", "server/discover") or method.endswith("/list")
