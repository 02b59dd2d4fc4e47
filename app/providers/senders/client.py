"""The HTTP client that providers and MCP servers share: proxies, certificates and kept connections.

A client belongs to an event loop and its network settings; each combination has one."""

import asyncio
import os
import weakref
from collections.abc import Mapping
from http.cookiejar import CookieJar, DefaultCookiePolicy
from ipaddress import ip_network
from urllib.request import getproxies

import httpx2

from app.providers.errors import ProviderError
from app.providers.senders.certificates import (
    check_certificate_bundle_readable,
    find_certificate_bundle,
    tls_context,
)
from app.providers.senders.early_response_transport import EarlyResponseTransport

HTTP_CONNECT_TIMEOUT_SECONDS = 30.0
_LOOPBACK_HOSTS = ("localhost", "127.0.0.0/8", "::1")

ClientsBySettings = dict[tuple[str, str, str], httpx2.AsyncClient]
# Connections belong to their event loop: kept beside it, gone with it.
_clients_by_loop: "weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, ClientsBySettings]" = (
    weakref.WeakKeyDictionary()
)


def shared_http_client(proxy: str | None = None, ca_bundle: str | None = None) -> httpx2.AsyncClient:
    """Returns the HTTP client for these settings, the same one for each request. `proxy` serves all servers instead
    of the environment's; `ca_bundle` is a file of additional certificates."""
    bundle = find_certificate_bundle(ca_bundle)
    clients = _clients_by_loop.setdefault(asyncio.get_running_loop(), {})
    key = (proxy or "", bundle, os.environ.get("SSL_CERT_FILE", ""))
    if key not in clients:
        clients[key] = httpx2.AsyncClient(
            transport=ProxyOrDirectTransport(None, bundle),
            mounts={
                pattern: ProxyOrDirectTransport(address, bundle) if address else None
                for pattern, address in proxy_by_address_pattern(proxy).items()
            },
            timeout=httpx2.Timeout(None, connect=HTTP_CONNECT_TIMEOUT_SECONDS),
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
            event_hooks={"response": [raise_for_invalid_redirect]},
            trust_env=False,
        )
    return clients[key]


async def raise_for_invalid_redirect(response: httpx2.Response) -> None:
    """Raises `ProviderError` for a redirect to an invalid address, such as `//:80/`, for which httpx2 itself raises a
    `ValueError` that does not say who sent it."""
    if not response.has_redirect_location:
        return
    place = response.headers["location"]
    try:
        is_valid = bool(httpx2.URL(place).scheme or response.url.join(place).host)
    except httpx2.InvalidURL:
        is_valid = False
    if not is_valid:
        raise invalid_redirect_error(response)


def invalid_redirect_error(response: httpx2.Response) -> ProviderError:
    status, place = response.status_code, response.headers.get("location", "")
    return ProviderError(
        f"{status} {address_without_query(response.url)} redirects to an invalid address: {place[:200]}",
        status=status,
    )


def address_without_query(url: httpx2.URL) -> str:
    """Returns the address without its query, which may contain keys."""
    return str(url.copy_with(username=None, password=None, query=None, fragment=None))


async def close_connections() -> None:
    """Closes the connections to providers and servers that belong to this event loop."""
    for client in _clients_by_loop.pop(asyncio.get_running_loop(), {}).values():
        await client.aclose()


class SharedClientTransport(httpx2.AsyncBaseTransport):
    """Sends requests through the shared client, for libraries that need a client with separate headers and
    sign-in."""

    def __init__(self, proxy: str | None = None, ca_bundle: str | None = None) -> None:
        self._client_settings = proxy, ca_bundle

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        client = shared_http_client(*self._client_settings)
        return await client.send(request, stream=True, auth=httpx2.Auth(), follow_redirects=False)


class ProxyOrDirectTransport(httpx2.AsyncBaseTransport):
    """Connects to servers directly or through a proxy. It loads certificates at the first encrypted
    connection."""

    def __init__(self, proxy: str | None, bundle: str) -> None:
        self._proxy = proxy
        self._certificate_bundle = bundle
        self._transport_by_encryption: dict[bool, EarlyResponseTransport] = {}
        """The two transports, by whether the connection is encrypted."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        proxy = None if self._proxy is None else parse_proxy_address(self._proxy)
        to_proxy = None if proxy is None else proxy.url.scheme
        is_encrypted = "https" in (request.url.scheme, to_proxy)
        if is_encrypted not in self._transport_by_encryption:
            check_certificate_bundle_readable(self._certificate_bundle)
            # Reading certificates takes time: not on the loop that draws the screen.
            context = await asyncio.to_thread(tls_context, self._certificate_bundle) if is_encrypted else None
            if proxy is not None and to_proxy == "https":
                proxy.ssl_context = context
            self._transport_by_encryption.setdefault(is_encrypted, EarlyResponseTransport(context, proxy))
        return await self._transport_by_encryption[is_encrypted].handle_async_request(request)

    async def aclose(self) -> None:
        for transport in self._transport_by_encryption.values():
            await transport.aclose()


def proxy_by_address_pattern(
    configured_proxy: str | None, environment: Mapping[str, str] | None = None
) -> dict[str, str | None]:
    """Maps httpx2's address patterns to a proxy, or to None for a direct connection. `configured_proxy` takes
    precedence over the environment.

    `environment` has the form of `urllib.request.getproxies`, which reads variables or the system
    settings."""
    found = getproxies() if environment is None else environment
    names = [name.strip() for name in found.get("no", "").split(",")]
    if configured_proxy:
        out: dict[str, str | None] = {"all://": configured_proxy}
    else:
        out = {f"{scheme}://": found[scheme] for scheme in ("http", "https", "all") if found.get(scheme)}
    if not out or "*" in names:
        return {}
    out.update(dict.fromkeys(filter(None, map(_httpx_host_pattern, (*_LOOPBACK_HOSTS, *names)))))
    return out


def _httpx_host_pattern(name: str) -> str:
    """Returns httpx2's pattern of a host, a domain (with or without a dot or a star before it) or a network;
    "" if the name is not valid."""
    host = name.rpartition("://")[2].removeprefix("*").lstrip(".")
    try:
        network = ip_network(host, strict=False)
    except ValueError:
        pattern = f"all://*{host}"
    else:
        address = network.network_address
        pattern = f"all://{f'[{address}]' if network.version == 6 else address}/{network.prefixlen}"
    try:
        return pattern if host and httpx2.URL(pattern).host else ""
    except httpx2.InvalidURL:
        return ""


def parse_proxy_address(address: str) -> httpx2.Proxy:
    """Parses a proxy's address. Raises `ProviderError`."""
    try:
        proxy = httpx2.Proxy(address if "://" in address else f"http://{address}")
        if proxy.url.host:
            return proxy
    except (ValueError, httpx2.InvalidURL):
        pass
    raise ProviderError(
        f"The proxy {address.rpartition('@')[2]} cannot be used. Write an address like "
        "http://host:3128 or socks5://host:1080 (setting httpProxy, or HTTPS_PROXY, HTTP_PROXY, "
        "ALL_PROXY)."
    )
