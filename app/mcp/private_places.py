"""Whether an address leads to this machine or its own network: a server on the Internet does not get to send us there.

Its sign-in names further addresses (who lets people in, where tokens are had), and they are asked for with what the
person's machine may reach.
"""

import asyncio
import socket
from ipaddress import IPv6Address, ip_address
from urllib.parse import urlsplit


async def is_private(url: str) -> bool:
    """Also where one of several addresses of the name is. What nobody knows an address of is not."""
    host = urlsplit(url).hostname or ""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return _is_own(host)
    except ValueError:
        pass
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return False
    return any(_is_own(str(address[4][0])) for address in found)


async def refusal(url: str, server_url: str) -> str:
    """Why this is not asked for in the name of that server; nothing when it may be."""
    parts, home = urlsplit(url), urlsplit(server_url)
    if (parts.scheme, parts.netloc) == (home.scheme, home.netloc) or await is_private(server_url):
        return ""
    where = parts.hostname or url[:80]
    if parts.scheme != "https":
        return f"its sign-in leads to {where} without encryption, which was not asked for"
    if await is_private(url):
        return f"its sign-in leads to {where}, which is in your own network; that was not asked for"
    return ""


def _is_own(address: str) -> bool:
    found = ip_address(address.partition("%")[0])
    if isinstance(found, IPv6Address) and found.ipv4_mapped is not None:
        found = found.ipv4_mapped
    return not found.is_global
