"""Connections that are kept for the next request: one pool for each proxy and certificate file, for as long as its
event loop lives.
"""

import asyncio
import ssl
import weakref
from urllib.parse import unquote, urlsplit

from app.providers.contract import StreamOptions
from app.providers.senders.certificates import bundle_of, must_be_readable, trusted
from app.providers.senders.http_library import AsyncConnectionPool, Proxy
from app.providers.senders.line import ServerLines
from app.providers.senders.proxies import proxy_for
from app.providers.senders.sockets import Sockets

_KEPT = 20
_KEPT_SECONDS = 30.0
"""Servers and the routers between keep an idle connection for a minute or more."""

Pools = dict[tuple[str, ...], AsyncConnectionPool]
# Connections belong to their event loop: kept beside it, gone with it.
_pools: "weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Pools]" = weakref.WeakKeyDictionary()


async def pool_for(url: str, options: StreamOptions) -> AsyncConnectionPool:
    proxy = proxy_for(url, options.proxy)
    is_tls = url.startswith("https:") or (proxy or "").startswith("https:")
    bundle = bundle_of(options.ca_bundle)
    pools = _pools.setdefault(asyncio.get_running_loop(), {})
    key = (str(is_tls), proxy or "", bundle)
    if key not in pools:
        # Certificates take time: not on the loop that draws the screen, and only where they are needed.
        context = await asyncio.to_thread(trusted, bundle) if is_tls else None
        if not is_tls:
            must_be_readable(bundle)
        pools.setdefault(key, _pool(proxy, context))
    return pools[key]


def _pool(proxy: str | None, context: ssl.SSLContext | None) -> AsyncConnectionPool:
    return AsyncConnectionPool(
        ssl_context=context,
        proxy=_proxy(proxy, context) if proxy else None,
        max_connections=None,
        max_keepalive_connections=_KEPT,
        keepalive_expiry=_KEPT_SECONDS,
        network_backend=ServerLines(Sockets()),
    )


def _proxy(address: str, context: ssl.SSLContext | None) -> Proxy:
    parts = urlsplit(address)
    port = parts.port or (
        1080 if parts.scheme.startswith("socks") else 443 if parts.scheme == "https" else 80
    )
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    auth = (unquote(parts.username), unquote(parts.password or "")) if parts.username else None
    return Proxy(
        f"{parts.scheme}://{host}:{port}",
        auth=auth,
        ssl_context=context if parts.scheme == "https" else None,
    )


async def close_connections() -> None:
    """Closes what this event loop keeps open."""
    for pool in _pools.pop(asyncio.get_running_loop(), {}).values():
        await pool.aclose()
