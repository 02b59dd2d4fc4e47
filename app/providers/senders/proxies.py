"""Which proxy stands between us and a server: the one from the settings, else the environment's."""

import os
import sys
from collections.abc import Mapping
from urllib.parse import urlsplit

from app.providers.errors import ProviderError

_SCHEMES = ("http", "https", "socks5", "socks5h")


def proxy_for(url: str, configured: str | None, env: Mapping[str, str] = os.environ) -> str | None:
    """The address of the proxy for `url`; None for this machine and for hosts that `NO_PROXY` names.

    Raises `ProviderError` for one that cannot be used.
    """
    parts = urlsplit(url)
    proxy = configured or _from_environment(parts.scheme, env)
    if not proxy:
        return None
    host = (parts.hostname or "").lower()
    port = parts.port or (443 if parts.scheme == "https" else 80)
    if host in ("localhost", "::1") or host.startswith("127."):
        return None
    excepted = env.get("no_proxy") or env.get("NO_PROXY") or ""
    if any(_matches(name.strip().lower(), host, port) for name in excepted.split(",")):
        return None
    return _checked(proxy if "://" in proxy else f"http://{proxy}")


def _from_environment(scheme: str, env: Mapping[str, str]) -> str | None:
    for name in (f"{scheme}_proxy", "all_proxy"):
        if found := env.get(name) or env.get(name.upper()):
            return found
    if sys.platform in ("darwin", "win32"):
        from urllib.request import getproxies  # noqa: PLC0415  (only there the system has settings of its own)

        return getproxies().get(scheme)
    return None


def _matches(name: str, host: str, port: int) -> bool:
    """`name` of the list of exceptions: a host, a domain (with or without a dot before it), a network, `*`."""
    if not name:
        return False
    if name == "*":
        return True
    if "/" in name and "://" not in name:
        return _is_in_network(host, name)
    name, wanted = _host_and_port(name.rpartition("://")[2])
    name = name.removeprefix("*").lstrip(".")
    return wanted in ("", str(port)) and (host == name or host.endswith(f".{name}"))


def _host_and_port(name: str) -> tuple[str, str]:
    if name.startswith("["):
        inside, _, rest = name[1:].partition("]")
        return inside, rest.lstrip(":")
    if name.count(":") == 1:
        host, _, port = name.partition(":")
        return host, port
    return name, ""


def _is_in_network(host: str, network: str) -> bool:
    from ipaddress import ip_address, ip_network  # noqa: PLC0415  (few lists of exceptions name networks)

    try:
        return ip_address(host) in ip_network(network, strict=False)
    except ValueError:
        return False


def _checked(proxy: str) -> str:
    try:
        parts = urlsplit(proxy)
        is_usable = parts.scheme in _SCHEMES and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        is_usable = False
    if not is_usable:
        shown = proxy.rpartition("@")[2]  # never its password
        raise ProviderError(
            f"The proxy {shown} cannot be used: an address like http://host:3128 or socks5://host:1080 is needed "
            "(setting network.httpProxy, or HTTPS_PROXY, HTTP_PROXY, ALL_PROXY)."
        )
    return proxy
