"""Sends one request and receives its response: redirects that keep credentials from other servers, hooks, and
errors in words."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx2

from app.providers.errors import ProviderError, error_from_response
from app.providers.model_stream import StreamOptions
from app.providers.senders.client import (
    address_without_query,
    invalid_redirect_error,
    shared_http_client,
)
from app.providers.senders.connection_errors import explain_connection_error
from app.providers.transport import HttpRequest, ServerResponse
from tools.lazy_patterns import lazy_regex

_MAX_REDIRECTS = 10
_MAX_PORT_NUMBER = 65_535
_HEADERS_KEPT_IN_REDIRECTS = (
    "host",
    "accept",
    "accept-encoding",
    "anthropic-version",
    "content-length",
    "content-type",
    "user-agent",
)
"""Headers that a redirect may take to another origin: none of them can hold a credential."""
_CONTENT_ENCODINGS = {"gzip": "gzip", "x-gzip": "gzip", "deflate": "deflate", "identity": "identity", "": ""}
_INVALID_HEADER_CHARACTERS_PATTERN = lazy_regex(r"[^\t\x20-\x7e\x80-\xff]")
_BODY_DRAIN_TIMEOUT_SECONDS = 0.05
_MAX_ERROR_BODY_BYTES = 1024 * 1024


@asynccontextmanager
async def send_http_request(request: HttpRequest, options: StreamOptions) -> AsyncIterator[ServerResponse]:
    async with open_http_response(request, options) as answer:
        if answer.status >= 400:
            raise await error_of_http_response(answer)
        yield answer


@asynccontextmanager
async def open_http_response(request: HttpRequest, options: StreamOptions) -> AsyncIterator["HttpxResponse"]:
    """Opens the response to a request, whatever its status, after following redirects. Leaving the context closes
    the connection if the response was not read to the end."""
    client = shared_http_client(options.proxy, options.ca_bundle)
    response = await _send_with_reconnect(client, await _build_httpx_request(request, options))
    try:
        for _ in range(_MAX_REDIRECTS):
            if not response.has_redirect_location:
                break
            following = _redirect_request(response, request)
            await response.aclose()
            response = await _send_with_reconnect(client, following)
        if response.has_redirect_location:
            raise ProviderError(
                f"{response.status_code} {address_without_query(response.url)} redirects in a circle.",
                status=response.status_code,
            )
        answer = HttpxResponse(response)
        if options.hooks.on_response_headers is not None:
            await options.hooks.on_response_headers(answer.status, answer.headers)
        yield answer
        await answer.drain_body()
    finally:
        await response.aclose()


async def fetch_http_response(request: HttpRequest, options: StreamOptions) -> tuple[int, bytes]:
    """Returns status and whole body of a short exchange; the connection is closed afterwards."""
    closing = HttpRequest(
        base_url=request.base_url,
        path=request.path,
        body=request.body,
        headers={**request.headers, "Connection": "close"},
        query=request.query,
        method=request.method,
        is_body_secret=request.is_body_secret,
    )
    async with open_http_response(closing, options) as answer:
        return answer.status, await answer.read_body(_MAX_ERROR_BODY_BYTES)


class HttpxResponse:
    """A response whose headers have arrived, with its final address after redirects."""

    def __init__(self, response: httpx2.Response) -> None:
        encoding = response.headers.get("content-encoding", "").strip().lower()
        if encoding not in _CONTENT_ENCODINGS:
            raise ProviderError(
                f"The server compressed its answer with '{encoding}', which bayou did not request (gzip, "
                "deflate)."
            )
        response.headers["content-encoding"] = _CONTENT_ENCODINGS[encoding]
        self.status = response.status_code
        self.headers: Mapping[str, str] = dict(response.headers)
        self._url = str(response.url)
        self._body = response.aiter_bytes()

    async def body_chunks(self) -> AsyncIterator[bytes]:
        try:
            async for piece in self._body:
                yield piece
        except Exception as problem:
            raise explain_connection_error(problem, self._url) from problem

    async def read_body(self, limit: int) -> bytes:
        """Returns the body up to `limit` bytes."""
        body = bytearray()
        async for piece in self.body_chunks():
            body += piece
            if len(body) >= limit:
                break
        return bytes(body[:limit])

    async def drain_body(self) -> None:
        """Reads the rest of the body after the format's terminal event, so that the connection can be reused."""
        try:
            async with asyncio.timeout(_BODY_DRAIN_TIMEOUT_SECONDS):
                async for _ in self._body:
                    pass
        except Exception:  # noqa: BLE001  (the answer is complete; then the connection is not kept)
            pass


async def error_of_http_response(answer: HttpxResponse) -> ProviderError:
    """Builds the error of a response with an error status."""
    try:
        body = await answer.read_body(_MAX_ERROR_BODY_BYTES)
    except ProviderError:
        body = b""  # the status alone is an error already
    return error_from_response(answer.status, answer.headers, body)


async def _send_with_reconnect(client: httpx2.AsyncClient, request: httpx2.Request) -> httpx2.Response:
    """Sends the request; if a kept connection was closed by its server meanwhile, sends it again on a new
    one."""
    is_new: list[bool] = []

    async def trace(name: str, _: Any) -> None:
        if ".connect_tcp" in name:
            is_new.append(True)

    request.extensions["trace"] = trace
    auth = httpx2.Auth() if "authorization" in request.headers else httpx2.USE_CLIENT_DEFAULT
    try:
        try:
            return await client.send(request, stream=True, auth=auth)
        except (httpx2.ReadError, httpx2.WriteError, httpx2.RemoteProtocolError) as problem:
            if is_new or not _is_closed_before_response(problem):
                raise
            return await client.send(request, stream=True, auth=auth)
    except Exception as problem:
        raise explain_connection_error(problem, str(request.url)) from problem


def _is_closed_before_response(problem: Exception) -> bool:
    """Says whether the connection was closed before any part of a response arrived, so that sending the request
    again repeats nothing."""
    return not isinstance(problem, httpx2.RemoteProtocolError) or "without sending" in str(problem)


def _redirect_request(response: httpx2.Response, request: HttpRequest) -> httpx2.Request:
    """Returns the request that follows a redirect. Raises `ProviderError` if the redirect is not followed."""
    following, status, here = response.next_request, response.status_code, response.url
    if following is None or (following.url.port or 0) > _MAX_PORT_NUMBER:
        raise invalid_redirect_error(response)
    is_elsewhere = following.url.origin != here.origin
    why = ""
    if following.url.scheme not in ("http", "https"):
        why = "that is no address of a server"
    elif here.scheme == "https" and following.url.scheme != "https":
        why = "that connection would not be encrypted"
    elif request.method != "GET" and status in (301, 302, 303):
        why = "what was sent would be lost on the way; use that address instead"
    elif request.is_body_secret and is_elsewhere:
        why = "credentials are sent to no other server"
    if why:
        raise ProviderError(
            f"{status} {address_without_query(here)} redirects to {address_without_query(following.url)}; "
            f"the redirect was refused: {why}.",
            status=status,
        )
    kept = response.request.headers
    if is_elsewhere:
        kept = {
            name: value for name, value in following.headers.items() if name in _HEADERS_KEPT_IN_REDIRECTS
        }
    return httpx2.Request(following.method, following.url, headers=kept, stream=following.stream)


async def _build_httpx_request(request: HttpRequest, options: StreamOptions) -> httpx2.Request:
    """Builds the request. Raises `ProviderError` for an invalid address or header."""
    try:
        url = httpx2.URL(request.url)
    except (httpx2.InvalidURL, UnicodeError) as problem:
        raise ProviderError(f"{request.url} is not a server address: {problem}.") from None
    if (
        url.scheme not in ("http", "https")
        or not url.host
        or "%" in url.host
        or (url.port or 0) > _MAX_PORT_NUMBER
    ):
        raise ProviderError(
            f"{request.url} is not a server address: it must begin with http:// or https:// and a host name."
        )
    headers: list[tuple[bytes, bytes]] = []
    for name, value in (await _merge_request_headers(request, options)).items():
        text = value.strip()
        if not name.isascii() or _INVALID_HEADER_CHARACTERS_PATTERN.search(
            text
        ):  # the value may be a key, so the message leaves it out
            raise ProviderError(f"The header {name} contains characters that cannot be sent.")
        headers.append((name.encode("ascii"), text.encode("latin-1")))
    return httpx2.Request(request.method, url, headers=headers, content=request.body)


async def _merge_request_headers(request: HttpRequest, options: StreamOptions) -> dict[str, str]:
    """Merges the headers of the adapter and the transport, with lower-case names, and passes them through the
    hook."""
    headers = {"accept": "*/*", "accept-encoding": "gzip, deflate", "connection": "keep-alive"}
    headers.update((name.lower(), value) for name, value in request.headers.items())
    if options.hooks.on_request_headers is not None:
        changed: dict[str, str | None] = dict(headers)
        await options.hooks.on_request_headers(changed)
        headers.clear()
        for name, value in changed.items():  # added headers come last and win, in upper or lower case
            if value is None:
                headers.pop(name.lower(), None)
            else:
                headers[name.lower()] = value
    if request.body or request.method != "GET":
        headers["content-length"] = str(len(request.body))
    return headers
