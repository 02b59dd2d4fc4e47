"""The sender: HTTP/1.1 with kept connections. What it adds to httpcore2: redirects, encodings, hooks, words for
failures. How its connections come about is `pools`' business.
"""

import asyncio
import base64
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import quote, unquote, urljoin, urlsplit, urlunsplit

from app.providers.contract import StreamOptions
from app.providers.errors import ProviderError, error_from_response
from app.providers.senders.encodings import ACCEPTED, unpacking
from app.providers.senders.failures import CONNECT_SECONDS, connection_error
from app.providers.senders.http_library import (
    URL,
    ReadError,
    RemoteProtocolError,
    Request,
    Response,
    WriteError,
    has_more,
)
from app.providers.senders.pools import close_connections, pool_for
from app.providers.transport import HttpRequest, ServerAnswer
from tools.patterns import late

_REDIRECTS = (301, 302, 303, 307, 308)
_MOST_REDIRECTS = 10
_FOR_ANYBODY = ("accept", "accept-encoding", "anthropic-version", "content-type", "user-agent")
"""Headers that a server of another origin is told too: none that could be a credential, whatever its name."""
_UNFIT = late(r"[^\t\x20-\x7e\x80-\xff]")
_REST_SECONDS = 0.05
_MOST_OF_AN_ERROR = 1024 * 1024
_TIMEOUTS = {"connect": CONNECT_SECONDS, "read": None, "write": None, "pool": None}


@asynccontextmanager
async def send(request: HttpRequest, options: StreamOptions) -> AsyncIterator[ServerAnswer]:
    async with opened(request, options) as answer:
        if answer.status >= 400:
            raise await status_error(answer)
        yield answer


@asynccontextmanager
async def opened(request: HttpRequest, options: StreamOptions) -> AsyncIterator["HttpAnswer"]:
    """The answer, whatever its status, behind redirects. Leaving closes what was not read to the end."""
    headers = await _headers(request, options)
    answer = await _answer(request.url, request, headers, options)
    try:
        for _ in range(_MOST_REDIRECTS):
            if (target := _target(answer, request)) is None:
                break
            await answer.close()
            if _origin(target) != _origin(answer.url):
                headers = {name: value for name, value in headers.items() if name in _FOR_ANYBODY}
            answer = await _answer(target, request, headers, options)
        if answer.status in _REDIRECTS:
            raise ProviderError(
                f"{answer.status} {request.url} redirects again and again.", status=answer.status
            )
        if options.hooks.on_response is not None:
            await options.hooks.on_response(answer.status, answer.headers)
        yield answer
        await answer.read_rest()
    finally:
        await answer.close()


async def fetch(request: HttpRequest, options: StreamOptions) -> tuple[int, bytes]:
    """Status and whole body of a short exchange, whose connection is not kept."""
    try:
        async with opened(request, options) as answer:
            return answer.status, await answer.read(_MOST_OF_AN_ERROR)
    finally:
        await close_connections()


class HttpAnswer:
    """A response whose headers have arrived, at the address that it came from in the end."""

    def __init__(self, response: Response, url: str) -> None:
        self.status = response.status
        self.headers: Mapping[str, str] = _texts(response.headers)
        self.url = url
        self._response = response
        self._body = response.aiter_stream()

    async def chunks(self) -> AsyncIterator[bytes]:
        body = unpacking(self.headers.get("content-encoding", ""))
        try:
            async for chunk in self._body:
                for piece in body.unpack(chunk):
                    yield piece
        except Exception as problem:
            raise connection_error(problem, self.url) from problem
        body.finish()

    async def read(self, most: int) -> bytes:
        """The body as far as it may be of interest."""
        body = bytearray()
        async for chunk in self.chunks():
            body += chunk
            if len(body) >= most:
                break
        return bytes(body[:most])

    async def read_rest(self) -> None:
        """Formats say when they are over before the body ends: with its end read, the connection can be kept."""
        try:
            async with asyncio.timeout(_REST_SECONDS):
                async for _ in self._body:
                    pass
            if has_more(self._response):  # it would be taken for the answer to the next request
                await self._response.extensions["network_stream"].aclose()
        except Exception:  # noqa: BLE001  (nobody misses it; then the connection is not kept)
            pass

    async def close(self) -> None:
        await self._response.aclose()


async def status_error(answer: HttpAnswer) -> ProviderError:
    """The error that a response with an error status tells of."""
    try:
        body = await answer.read(_MOST_OF_AN_ERROR)
    except ProviderError:
        body = b""  # the status alone is an error already
    return error_from_response(answer.status, answer.headers, body)


async def _answer(
    url: str, request: HttpRequest, headers: Mapping[str, str], options: StreamOptions
) -> HttpAnswer:
    """One exchange. A kept connection that its server has closed meanwhile is replaced by a new one."""
    is_new: list[bool] = []

    async def trace(name: str, _: Any) -> None:
        if ".connect_tcp" in name:
            is_new.append(True)

    try:
        address = _encoded(url)
        pool = await pool_for(url, options)
        built = Request(
            request.method,
            address,
            headers=_wire_headers(url, request, headers),
            content=request.body or None,
            extensions={"timeout": _TIMEOUTS, "trace": trace},
        )
        try:
            response = await pool.handle_async_request(built)
        except (ReadError, WriteError, RemoteProtocolError) as problem:
            if is_new or not _was_closed(problem):
                raise
            response = await pool.handle_async_request(built)
    except Exception as problem:
        raise connection_error(problem, url) from problem
    return HttpAnswer(response, url)


def _was_closed(problem: Exception) -> bool:
    """Whether the connection ended before anything was answered, so that nothing is done twice."""
    return not isinstance(problem, RemoteProtocolError) or "without sending" in str(problem)


def _target(answer: HttpAnswer, request: HttpRequest) -> str | None:
    """Where a redirect leads; None: this is the answer. Raises `ProviderError` where it is not followed."""
    place = answer.headers.get("location")
    if answer.status not in _REDIRECTS or not place:
        return None
    try:
        target = urljoin(answer.url, place)
        is_elsewhere = _origin(target) != _origin(answer.url)
    except ValueError as problem:
        raise ProviderError(
            f"{answer.status} {_shown(answer.url)} redirects to what is no address of a server: {problem}.",
            status=answer.status,
        ) from None
    why = ""
    if urlsplit(target).scheme not in ("http", "https"):
        why = "that is no address of a server"
    elif answer.url.startswith("https:") and not target.startswith("https:"):
        why = "that connection would not be encrypted"
    elif request.method != "GET" and answer.status in (301, 302, 303):
        why = "what was sent would be lost on the way; use that address instead"
    elif request.is_secret and is_elsewhere:
        why = "credentials are sent to no other server"
    if why:
        raise ProviderError(
            f"{answer.status} {_shown(answer.url)} redirects to {_shown(target)}, which is not followed: {why}.",
            status=answer.status,
        )
    return target


def _origin(url: str) -> tuple[str, str, int]:
    parts = urlsplit(url)
    return (
        parts.scheme,
        (parts.hostname or "").lower(),
        parts.port or (443 if parts.scheme == "https" else 80),
    )


def _shown(url: str) -> str:
    """Without its query, where keys may be."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


async def _headers(request: HttpRequest, options: StreamOptions) -> dict[str, str]:
    """What the adapter gave and what the transport needs, by names in lower case, after the hook has seen them."""
    headers = {"accept": "*/*", "accept-encoding": ACCEPTED, "connection": "keep-alive"}
    headers.update((name.lower(), value) for name, value in request.headers.items())
    if options.hooks.on_headers is None:
        return headers
    changed: dict[str, str | None] = dict(headers)
    await options.hooks.on_headers(changed)
    out: dict[str, str] = {}
    for name, value in changed.items():  # those that were added come last, in whatever case
        if value is None:
            out.pop(name.lower(), None)
        else:
            out[name.lower()] = value
    return out


def _wire_headers(url: str, request: HttpRequest, headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    parts = urlsplit(url)
    needed = {"host": _ascii(parts.netloc.rpartition("@")[2]), **headers}
    if parts.username and "authorization" not in headers:
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        needed["authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
    if request.body or request.method != "GET":
        needed["content-length"] = str(len(request.body))
    out: list[tuple[bytes, bytes]] = []
    for name, value in needed.items():
        text = value.strip()
        if not name.isascii() or _UNFIT.search(text):  # said without the value, which may be a key
            raise ProviderError(f"The header {name} holds characters that cannot be sent.")
        out.append((name.encode("ascii"), text.encode("latin-1")))
    return out


def _encoded(url: str) -> URL:
    """Raises `ProviderError` for what is no address."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        port = parts.port
        name = _ascii(host).encode()
    except (ValueError, UnicodeError) as problem:
        raise ProviderError(f"{url} is no address of a server: {problem}.") from None
    if parts.scheme not in ("http", "https") or not host:
        raise ProviderError(
            f"{url} is no address of a server: it begins with http:// or https:// and a name."
        )
    target = quote(parts.path or "/", safe="/%:@!$&'()*+,;=~")
    if parts.query:
        target += "?" + quote(parts.query, safe="/%:@!$&'()*+,;=~?")
    return URL(scheme=parts.scheme.encode(), host=name, port=port, target=target.encode())


def _ascii(host: str) -> str:
    return host if host.isascii() else host.encode("idna").decode()


def _texts(headers: list[tuple[bytes, bytes]]) -> dict[str, str]:
    """By names in lower case; what comes several times is joined."""
    out: dict[str, str] = {}
    for name, value in headers:
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        out[key] = f"{out[key]}, {text}" if key in out else text
    return out
