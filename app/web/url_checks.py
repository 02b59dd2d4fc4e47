"""Which addresses `web_fetch` may connect to: https, and hosts whose every address is public.

A name is resolved once, and exactly the checked address is connected to, so that an answer of DNS that
changes in between reaches nothing."""

import ipaddress
import re
from collections.abc import Awaitable, Callable, Sequence

import httpx2
import msgspec

from app.permits.host_names import host_matches_pattern
from tools.box.sandbox_proxy import (
    addresses_reachable_through,
    find_address_refusal_reason,
    is_address_of_this_machine,
)
from tools.tool_definition import ToolError

_DEFAULT_PORT_BY_SCHEME = {"https": 443, "http": 80}
_GITHUB_BLOB_PATH_PATTERN = re.compile(r"/([^/]+)/([^/]+)/blob/(.+)")
_WEB_SCHEME_PATTERN = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:(?!\d)")
_HOST_PATTERN = re.compile(r"[a-z0-9._:-]+")
_NON_PUBLIC_NETWORKS = tuple(
    map(
        ipaddress.ip_network,
        (
            "fec0::/10",  # RFC 3879, site-local
            "3fff::/20",  # RFC 9637, documentation
            "192.88.99.0/24",  # RFC 7526, relays of 6to4
        ),
    )
)
"""Networks that are not globally reachable, and that Python's `is_global` takes for global."""
MAX_URL_CHARS = 8_000

ResolveHost = Callable[[str, int], Awaitable[list[str]]]


class HostNameNotFound(ToolError):
    """DNS knows no address of the host."""


class WebAddress(msgspec.Struct, frozen=True, kw_only=True):
    """An address that the model asked for, in its normal form."""

    url: str
    scheme: str
    host: str
    """In ASCII, without brackets."""
    port: int

    @property
    def host_and_port(self) -> str:
        """The target's `host:port`, as network rules write it."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_web_address(text: str) -> WebAddress:
    """Parses a web address. Raises `ToolError` for a text that is none."""
    given = text.strip()
    if len(given) > MAX_URL_CHARS:
        raise ToolError(f"The URL has {len(given):,} characters; the maximum is {MAX_URL_CHARS:,}.")
    if not _WEB_SCHEME_PATTERN.match(given):
        given = f"https://{given}"
    try:
        url = httpx2.URL(given)
        host = url.raw_host.decode("ascii").strip("[]").rstrip(".").casefold()
        if url.scheme in _DEFAULT_PORT_BY_SCHEME and not url.host:  # which decodes an international name
            raise ValueError("it names no host")
    except (httpx2.InvalidURL, ValueError, UnicodeError) as problem:
        raise ToolError(f"This is not a valid URL: {given[:200]} ({problem}).") from None
    if url.scheme not in _DEFAULT_PORT_BY_SCHEME:
        raise ToolError(f"web_fetch reads https addresses only, and this one begins with {url.scheme}:.")
    if url.userinfo:
        raise ToolError("The URL contains a user name or a password. Leave it out: bayou sends none.")
    if not _HOST_PATTERN.fullmatch(host):
        raise ToolError(f"The URL names no valid host: {given[:200]}.")
    url = _raw_file_url(url).copy_with(fragment=None)
    host = url.raw_host.decode("ascii").strip("[]").rstrip(".").casefold()
    return WebAddress(
        url=str(url), scheme=url.scheme, host=host, port=url.port or _DEFAULT_PORT_BY_SCHEME[url.scheme]
    )


def _raw_file_url(url: httpx2.URL) -> httpx2.URL:
    """The address of a file's text, for the address of GitHub's page about the file."""
    blob = _GITHUB_BLOB_PATH_PATTERN.fullmatch(url.path)
    if url.host != "github.com" or blob is None:
        return url
    return httpx2.URL(f"https://raw.githubusercontent.com/{blob[1]}/{blob[2]}/{blob[3]}")


def is_listed_private_host(target: WebAddress, patterns: Sequence[str]) -> bool:
    """Whether the user listed the host, alone or with its port, as one of their servers."""
    return any(host_matches_pattern(pattern, target.host_and_port) for pattern in patterns)


def ip_address_refusal_reason(address: str) -> str:
    """Returns why an IP address must not be connected to; empty if it is a public one."""
    reason = find_address_refusal_reason(address, is_address_of_this_machine)
    if reason:
        return reason
    reached = addresses_reachable_through(ipaddress.ip_address(address.partition("%")[0]))
    is_public = all(
        one.is_global and not any(one in network for network in _NON_PUBLIC_NETWORKS) for one in reached
    )
    return "" if is_public else "which is a private address"


async def resolve_public_addresses(
    target: WebAddress, *, is_private: bool, resolve: ResolveHost
) -> list[str]:
    """Returns the IP addresses of a host. Raises `ToolError` if one of them is not public, unless the user listed
    the host as private."""
    try:
        addresses = await resolve(target.host, target.port)
    except (OSError, UnicodeError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else str(problem)
        raise HostNameNotFound(
            f"The host {target.host} was not found ({reason}). Check the address."
        ) from None
    for address in addresses:
        reason = "" if is_private else ip_address_refusal_reason(address)
        if reason:
            raise ToolError(
                f"{target.host} is {address}, {reason}: bayou does not connect to it. "
                "If it is a server of the user, they can add it to the setting web.privateHosts."
            )
    if not addresses:
        raise HostNameNotFound(f"The host {target.host} has no address.")
    return addresses
