"""Which addresses `web_fetch` may connect to: https, and hosts whose every address is public.

A name is resolved once, and exactly the checked address is connected to, so that an answer of DNS that
changes in between reaches nothing."""

import ipaddress
import re
from collections.abc import Awaitable, Callable, Sequence
from fnmatch import fnmatchcase

import httpx2
import msgspec

from tools.base import ToolError
from tools.box.proxy import embedded_ipv4, forbidden_reason, is_own_address

_PORTS = {"https": 443, "http": 80}
_BLOB = re.compile(r"/([^/]+)/([^/]+)/blob/(.+)")
_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:(?!\d)")
_HOST = re.compile(r"[a-z0-9._:-]+")
MAX_URL_CHARS = 8_000

Resolve = Callable[[str, int], Awaitable[list[str]]]


class HostNotFound(ToolError):
    """DNS knows no address of the host."""


class WebTarget(msgspec.Struct, frozen=True, kw_only=True):
    """An address that the model asked for, in its normal form."""

    url: str
    scheme: str
    host: str
    """In ASCII, without brackets."""
    port: int

    @property
    def name(self) -> str:
        """`host:port`, as rules of the network write it."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_target(text: str) -> WebTarget:
    """Raises `ToolError` for what is no address of the web."""
    given = text.strip()
    if len(given) > MAX_URL_CHARS:
        raise ToolError(f"The URL has {len(given):,} characters; {MAX_URL_CHARS:,} is the most.")
    if not _SCHEME.match(given):
        given = f"https://{given}"
    try:
        url = httpx2.URL(given)
        host = url.raw_host.decode("ascii").strip("[]").rstrip(".").casefold()
    except (httpx2.InvalidURL, ValueError, UnicodeError) as problem:
        raise ToolError(f"This is no URL: {given[:200]} ({problem}).") from None
    if url.scheme not in _PORTS:
        raise ToolError(f"web_fetch reads https addresses only, and this one begins with {url.scheme}:.")
    if url.userinfo:
        raise ToolError("The URL contains a user name or a password. Leave it out: bayou sends none.")
    if not _HOST.fullmatch(host):
        raise ToolError(f"The URL names no valid host: {given[:200]}.")
    url = _raw_file(url).copy_with(fragment=None)
    host = url.raw_host.decode("ascii").strip("[]").rstrip(".").casefold()
    return WebTarget(url=str(url), scheme=url.scheme, host=host, port=url.port or _PORTS[url.scheme])


def _raw_file(url: httpx2.URL) -> httpx2.URL:
    """The address of a file's text, for the address of GitHub's page about the file."""
    blob = _BLOB.fullmatch(url.path)
    if url.host != "github.com" or blob is None:
        return url
    return httpx2.URL(f"https://raw.githubusercontent.com/{blob[1]}/{blob[2]}/{blob[3]}")


def is_private_host(target: WebTarget, patterns: Sequence[str]) -> bool:
    """Whether the person named the host, alone or with its port, as one of their own servers."""
    names = (target.host, target.name)
    return any(fnmatchcase(name, pattern.casefold()) for pattern in patterns for name in names)


def refusal(address: str) -> str:
    """Why an address of a host may not be connected to; empty if it is a public one."""
    reason = forbidden_reason(address, is_own_address)
    if reason:
        return reason
    found = ipaddress.ip_address(address.partition("%")[0])
    found = embedded_ipv4(found) or found
    return "" if found.is_global and not found.is_multicast else "which is a private address"


async def public_addresses(target: WebTarget, *, is_private: bool, resolve: Resolve) -> list[str]:
    """Resolves the host. Raises `ToolError` if one of its addresses is not public, unless the person named it."""
    try:
        addresses = await resolve(target.host, target.port)
    except (OSError, UnicodeError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else str(problem)
        raise HostNotFound(f"The host {target.host} was not found ({reason}). Check the address.") from None
    for address in addresses:
        reason = "" if is_private else refusal(address)
        if reason:
            raise ToolError(
                f"{target.host} is {address}, {reason}: bayou does not connect to it. "
                "If it is a server of the user, they can add it to the setting web.privateHosts."
            )
    if not addresses:
        raise HostNotFound(f"The host {target.host} has no address.")
    return addresses
