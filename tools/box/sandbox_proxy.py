"""The HTTP proxy by which commands in the session's own network reach allowed hosts by name.

Supports `CONNECT` and plain requests with an absolute URL. A name is resolved once, and exactly the checked
address is connected to. Nothing is decrypted. `allow` decides on hosts; resolved addresses are checked here.
Each tool call has its own user name at the proxy, so that a connection can be traced to its command."""

import asyncio
import base64
import binascii
import contextlib
import ipaddress
import socket
from collections.abc import Awaitable, Callable
from typing import Final

import msgspec

_MAX_PROXY_HEADER_BYTES: Final = 64 * 1024
_PROXY_READ_CHUNK_BYTES: Final = 64 * 1024
_PROXY_CONNECT_TIMEOUT: Final = 20.0
_PROXY_HEADER_TIMEOUT: Final = 30.0
_CLOUD_METADATA_ADDRESSES: Final = frozenset(
    (
        *("169.254.169.254", "fd00:ec2::254"),  # AWS, and the first also most others
        "100.100.100.200",  # Alibaba Cloud
        "168.63.129.16",  # Azure's wire server, a public address
        "192.0.0.192",  # Oracle Cloud
        "fd20:ce::254",  # Google Cloud
    )
)
_NAT64_NETWORK: Final = ipaddress.ip_network("64:ff9b::/96")
_ISATAP_ADDRESS_PATTERN: Final = 0x5EFE
"""A pattern of bits 32 to 63 of an ISATAP address, which ends in an IPv4 address (RFC 5214); the universal bit
(0x02000000) may be set."""

_PROXY_USER_NAME: Final = "bayou"

DecideHostAccess = Callable[[str, int, str], Awaitable[bool]]
"""A function that decides whether a command may connect to a host and port; the caller is empty if the program did
not send it."""
ResolveHost = Callable[[str, int], Awaitable[list[str]]]
ConnectHost = Callable[[str, int], Awaitable[tuple[asyncio.StreamReader, asyncio.StreamWriter]]]


def is_address_of_this_machine(address: str) -> bool:
    """Returns whether the address belongs to this machine: a socket can be bound to such an address only."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as asking:
            asking.bind((address, 0))
    except OSError:
        return False
    return True


class ProxyRequest(msgspec.Struct, frozen=True):
    """A request to the proxy: its target host, and the bytes to send there first."""

    host: str
    port: int
    first: bytes
    is_tunnel: bool
    caller: str = ""
    """The user name that the program sent, which identifies the tool call (see `proxy_environment_variables`); empty
    if it sent none."""


class HostRefusedBySandbox(Exception):
    """Raised for a host that the sandbox blocks; the program reads this message in the proxy's response."""


class SandboxProxy:
    """An HTTP proxy for sandboxed commands, which serves one listening socket."""

    def __init__(
        self,
        allow: DecideHostAccess,
        *,
        is_listed: Callable[[str, int], bool] = lambda host, port: False,
        resolve: ResolveHost | None = None,
        connect: ConnectHost | None = None,
        is_own: Callable[[str], bool] = is_address_of_this_machine,
    ) -> None:
        """Creates the proxy. `allow` may wait for the user. `is_listed` returns whether a rule names exactly this
        host, which is then allowed to resolve to a local address."""
        self._allow = allow
        self._is_listed = is_listed
        self._resolve = resolve or resolve_host_addresses
        self._connect = connect or asyncio.open_connection
        self._is_own = is_own
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()

    async def serve(self, listening: socket.socket) -> None:
        listening.setblocking(False)
        self._server = await asyncio.start_server(
            self._handle_client, sock=listening, limit=_MAX_PROXY_HEADER_BYTES
        )

    def close(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None
        for connection in tuple(self._connections):
            connection.cancel()

    async def _handle_client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            await self._handle_request(reader, writer)
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError):
            pass  # The client or the server closed the connection, or sent an invalid request.
        except asyncio.CancelledError:
            pass  # The session is over.
        finally:
            self._connections.discard(task)
            writer.close()

    async def _handle_request(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), _PROXY_HEADER_TIMEOUT)
        wanted = parse_proxy_request(head)
        if wanted is None:
            await _refuse(
                writer, "400 Bad Request", "This is bayou's proxy; it needs requests with a full address."
            )
            return
        try:
            there, back = await self._open_connection(wanted)
        except HostRefusedBySandbox as refusal:
            await _refuse(writer, "403 Forbidden", str(refusal))
            return
        except (OSError, TimeoutError) as problem:
            await _refuse(
                writer, "502 Bad Gateway", f"{wanted.host}:{wanted.port} could not be reached: {problem}"
            )
            return
        try:
            if wanted.is_tunnel:
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            else:
                back.write(wanted.first)
            await asyncio.gather(_copy_stream(reader, back), _copy_stream(there, writer))
        finally:
            back.close()

    async def _open_connection(
        self, wanted: ProxyRequest
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if not await self._allow(wanted.host, wanted.port, wanted.caller):
            place = f"{wanted.host}:{wanted.port}"
            raise HostRefusedBySandbox(
                f"The sandbox blocked {place}: no rule allows it, and the user did not allow it."
            )
        try:
            addresses = await self._resolve(wanted.host, wanted.port)
        except OSError as problem:
            raise OSError(f"its name cannot be resolved ({problem.strerror or problem})") from None
        if not self._is_listed(wanted.host, wanted.port):
            for address in addresses:
                why = find_address_refusal_reason(address, self._is_own)
                if why:
                    leads = f"it resolves to {address}, {why}"
                    raise HostRefusedBySandbox(f"The sandbox blocked {wanted.host}: {leads}.")
        problem: OSError = OSError("it has no address")
        for address in addresses[:4]:
            try:
                return await asyncio.wait_for(self._connect(address, wanted.port), _PROXY_CONNECT_TIMEOUT)
            except OSError as failure:
                problem = failure
        raise problem


def parse_proxy_request(head: bytes) -> ProxyRequest | None:
    """Parses the head of a request to the proxy; None if it is not a proxy request."""
    line, _, rest = head.partition(b"\r\n")
    words = line.decode("latin-1").split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1."):
        return None
    method, target, version = words
    caller = _caller_name(rest)
    if method == "CONNECT":
        place = _host_and_port(target, None)
        return ProxyRequest(*place, b"", is_tunnel=True, caller=caller) if place else None
    scheme, _, behind = target.partition("://")
    if scheme.casefold() != "http" or not behind:
        return None
    authority, slash, path = behind.partition("/")
    place = _host_and_port(authority.rpartition("@")[2], 80)
    if place is None:
        return None
    kept = [line for line in rest.split(b"\r\n") if not _is_proxy_header(line)]
    first = f"{method} {slash or '/'}{path} {version}".encode("latin-1")
    first = b"\r\n".join([first, b"Connection: close", *kept])
    return ProxyRequest(*place, first, is_tunnel=False, caller=caller)


def _caller_name(headers: bytes) -> str:
    for line in headers.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"proxy-authorization":
            kind, _, packed = value.strip().partition(b" ")
            if kind.lower() != b"basic":
                return ""
            try:
                plain = base64.b64decode(packed.strip(), validate=True).decode("ascii")
            except (binascii.Error, UnicodeDecodeError):
                return ""
            user, _, word = plain.partition(":")
            return word if user == _PROXY_USER_NAME else ""
    return ""


def _is_proxy_header(line: bytes) -> bool:
    return line.split(b":")[0].strip().lower() in (b"proxy-connection", b"proxy-authorization", b"connection")


def _host_and_port(text: str, usual: int | None) -> tuple[str, int] | None:
    if text.startswith("["):
        host, bracket, port = text[1:].partition("]")
        port = port.removeprefix(":")
        if not bracket:
            return None
    else:
        host, _, port = text.partition(":")
    host = host.rstrip(".").casefold()
    is_name = (
        host and len(host) < 254 and all(one.isalnum() or one in "-_.:" for one in host) and host.isascii()
    )
    if not is_name or not ((port.isascii() and port.isdigit()) or (not port and usual)):
        return None
    number = int(port) if port else usual or 0
    return (host, number) if 0 < number < 65_536 else None


def addresses_reachable_through(
    found: ipaddress.IPv4Address | ipaddress.IPv6Address,
) -> list[ipaddress.IPv4Address | ipaddress.IPv6Address]:
    """Returns the addresses that a connection to an address may reach: the IPv4 address that it maps, translates or
    tunnels to, and the address itself unless it is only another notation of that."""
    if isinstance(found, ipaddress.IPv4Address):
        return [found]
    last = ipaddress.IPv4Address(int(found) & 0xFFFF_FFFF)
    if found.ipv4_mapped or found in _NAT64_NETWORK:
        return [last]
    reached: list[ipaddress.IPv4Address | ipaddress.IPv6Address] = [*(found.teredo or ())]
    if found.sixtofour:
        reached.append(found.sixtofour)
    if int(found) >> 32 & 0xFDFF_FFFF == _ISATAP_ADDRESS_PATTERN:
        reached.append(last)
    return [*reached, found]


def find_address_refusal_reason(address: str, is_own: Callable[[str], bool]) -> str:
    """Returns why the proxy refuses a host name that resolves to this address; empty if it does not."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return "which is not an address"
    return next(
        filter(None, (_reason_against(one, is_own) for one in addresses_reachable_through(found))), ""
    )


def _reason_against(
    found: ipaddress.IPv4Address | ipaddress.IPv6Address, is_own: Callable[[str], bool]
) -> str:
    if str(found) in _CLOUD_METADATA_ADDRESSES:
        return "a metadata address that can expose the machine's credentials"
    if found.is_loopback or found.is_unspecified:
        return "which is this machine"
    if found.is_link_local:
        return "which is link-local"
    if found.is_multicast or found.is_reserved:
        return "which is not a host"
    return "which is this machine" if is_own(str(found)) else ""


async def resolve_host_addresses(host: str, port: int) -> list[str]:
    """Returns the addresses of a host, each once."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(one[4][0]) for one in found))


async def _copy_stream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while piece := await reader.read(_PROXY_READ_CHUNK_BYTES):
            writer.write(piece)
            await writer.drain()
    finally:
        with contextlib.suppress(OSError, RuntimeError):
            if writer.can_write_eof():
                writer.write_eof()


async def _refuse(writer: asyncio.StreamWriter, status: str, words: str) -> None:
    body = f"bayou: {words}\n".encode()
    head = f"HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    writer.write(head.encode() + body)
    await writer.drain()


def proxy_environment_variables(port: int, caller: str) -> tuple[tuple[str, str], ...]:
    """Returns the environment variables by which programs find the proxy and identify their call."""
    place, local = f"http://{_PROXY_USER_NAME}:{caller}@127.0.0.1:{port}", "localhost,127.0.0.1,::1"
    names = ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")
    return (
        *((name, place) for name in names),
        ("NO_PROXY", local),
        ("no_proxy", local),
        ("NODE_USE_ENV_PROXY", "1"),
        ("GIT_HTTP_PROXY_AUTHMETHOD", "basic"),  # otherwise git waits for a user name
    )
