"""HTTP clients that keep their connections: proxies, private certificates, headers as they finally go out.

One client per library, proxy and certificate file, for as long as its event loop lives. Around each request a
`ContextVar` says whose hooks are to be told, because the SDKs offer no other way through.
"""

import asyncio
import os
import ssl
import weakref
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any
from urllib.parse import urlsplit

import msgspec

from app.providers.contract import StreamOptions
from app.providers.errors import ProviderError, error_from_response
from app.providers.transport import Request

CONNECT_SECONDS = 30.0
_OF_THE_TRANSPORT = frozenset(
    ("host", "content-length", "transfer-encoding", "accept", "accept-encoding", "connection", "content-type")
)
_EXTRA_BUNDLES = ("NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")


class Exchange(msgspec.Struct, frozen=True):
    """The request that is under way in this task."""

    request: Request
    options: StreamOptions


_exchange: ContextVar[Exchange | None] = ContextVar("exchange", default=None)
# Connections belong to their event loop: kept beside it, gone with it.
_clients: "weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, dict[tuple[str, ...], Any]]" = (
    weakref.WeakKeyDictionary()
)


async def client_for(
    library: str, options: StreamOptions, url: str, make: Callable[[dict[str, Any]], Any]
) -> Any:
    """The shared async HTTP client of `library` for that URL; `make` builds one from httpx arguments."""
    proxy = proxy_for(url, options.proxy)
    bundle = options.ca_bundle or next(
        (os.environ[name] for name in _EXTRA_BUNDLES if os.environ.get(name)), ""
    )
    clients = _clients.setdefault(asyncio.get_running_loop(), {})
    key = (library, proxy or "", bundle, str(options.proxy is None))
    client = clients.get(key)
    if client is None:
        # Importing the library and reading the certificates takes time: not on the loop that draws the screen.
        client = await asyncio.to_thread(_build, make, proxy, bundle, options.proxy is None)
        client = clients.setdefault(key, client)
    return client


def _build(make: Callable[[dict[str, Any]], Any], proxy: str | None, bundle: str, trust_env: bool) -> Any:
    return make(
        {
            "proxy": proxy,
            "verify": _certificates(bundle),
            "trust_env": trust_env,
            "follow_redirects": True,
            "event_hooks": {"request": [_before_request], "response": [_after_headers]},
        }
    )


async def close_connections() -> None:
    """Closes what this event loop keeps open."""
    clients = _clients.pop(asyncio.get_running_loop(), {})
    for client in clients.values():
        await client.aclose()


def proxy_for(url: str, proxy: str | None) -> str | None:
    """The proxy that was set, unless the host is local or excepted. None: the environment decides."""
    if not proxy:
        return None
    host = (urlsplit(url).hostname or "").lower()
    excepted = os.environ.get("NO_PROXY") or os.environ.get("no_proxy") or ""
    names = [name.strip().lstrip(".").lower() for name in excepted.split(",") if name.strip()]
    is_local = host in ("localhost", "::1") or host.startswith("127.")
    if is_local or "*" in names or any(host == name or host.endswith(f".{name}") for name in names):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


def _certificates(bundle: str) -> ssl.SSLContext:
    import certifi  # noqa: PLC0415  (only requests need it)

    path = os.environ.get("SSL_CERT_FILE")
    try:
        context = ssl.create_default_context(cafile=path or certifi.where())
    except (OSError, ssl.SSLError) as problem:
        raise ProviderError(
            f"The certificate file {path} (SSL_CERT_FILE) cannot be read: {problem}"
        ) from None
    if bundle:
        try:
            context.load_verify_locations(cafile=bundle)
        except (OSError, ssl.SSLError) as problem:
            raise ProviderError(f"The certificate file {bundle} cannot be read: {problem}") from None
    return context


@contextmanager
def exchange(request: Request, options: StreamOptions) -> Any:
    token = _exchange.set(Exchange(request, options))
    try:
        yield
    finally:
        _exchange.reset(token)


async def _before_request(request: Any) -> None:
    """The last word on the headers: what the adapter gave, and what the transport needs. An SDK's own headers,
    and those it takes from the environment for one particular vendor, do not reach other servers.
    """
    current = _exchange.get()
    if current is None:
        return
    wanted = {name.lower(): value for name, value in current.request.headers.items()}
    for name in list(request.headers):
        if name.lower() not in _OF_THE_TRANSPORT and name.lower() not in wanted:
            del request.headers[name]
    for name, value in current.request.headers.items():
        request.headers[name] = value
    hook = current.options.hooks.on_headers
    if hook is None:
        return
    before: dict[str, str | None] = dict(request.headers)
    after = dict(before)
    await hook(after)
    for name in before:
        if after.get(name) is None:
            del request.headers[name]
    for name, value in after.items():
        if value is not None and before.get(name) != value:
            request.headers[name] = value


async def _after_headers(response: Any) -> None:
    current = _exchange.get()
    if current is not None and current.options.hooks.on_response is not None and not response.is_redirect:
        await current.options.hooks.on_response(response.status_code, dict(response.headers))


class HttpAnswer:
    """An `Answer` over a response of httpx or of its successor."""

    def __init__(self, response: Any) -> None:
        self.status: int = response.status_code
        self.headers: Mapping[str, str] = response.headers
        self._response = response

    async def chunks(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._response.aiter_bytes():
                yield chunk
        except Exception as problem:
            raise connection_error(problem, self._response.request.url) from problem


async def status_error(response: Any) -> ProviderError:
    """The error that a response with an error status tells of."""
    try:
        body = await response.aread()
    except Exception:  # noqa: BLE001  (the status alone is an error already; its text could not be read)
        body = b""
    return error_from_response(response.status_code, response.headers, body)


def connection_error(problem: BaseException, url: Any) -> ProviderError:
    """What a failing connection means, in words; anything that is not one is passed on as it is."""
    host = urlsplit(str(url)).netloc
    names = {kind.__name__ for kind in type(problem).__mro__}
    cause = _innermost(problem)
    if isinstance(problem, ProviderError):
        return problem
    if isinstance(cause, ssl.SSLError):
        return ProviderError(f"TLS error with {host}: {cause.reason or cause}. {_TLS_ADVICE}", kind="tls")
    if "TimeoutException" in names or "APITimeoutError" in names or isinstance(cause, TimeoutError):
        return ProviderError(
            f"Request timed out: no connection to {host} within {CONNECT_SECONDS:g} s.", kind="timeout"
        )
    if "ProxyError" in names:
        return ProviderError(f"Connection error: the proxy refused: {cause}", kind="connection")
    if names & {"RemoteProtocolError", "ReadError", "StreamClosed"}:
        return ProviderError(f"Connection error: {host} closed the connection ({cause}).", kind="connection")
    if names & {"TransportError", "APIConnectionError", "DecodingError"} or isinstance(problem, OSError):
        return ProviderError(f"Connection error: {host}: {cause}", kind="connection")
    return ProviderError(str(problem) or type(problem).__name__)


_TLS_ADVICE = "If a proxy with certificates of its own stands between, name its file in SSL_CERT_FILE."


def _innermost(problem: BaseException) -> BaseException:
    """The cause at the bottom that has something to say."""
    best = problem
    current: BaseException | None = problem
    for _ in range(10):
        current = (current.__cause__ or current.__context__) if current is not None else None
        if current is None:
            break
        if isinstance(current, ssl.SSLError):
            return current
        if isinstance(current, OSError) and str(current):
            best = current
    return best
