"""The address of a server that a person types: completed, checked, and made into a provider's name."""

import ipaddress
from collections.abc import Collection
from urllib.parse import SplitResult, urlsplit

from app.values.user_errors import UserError
from tools.patterns import late

_ENDINGS = ("/chat/completions", "/completions", "/models")
_KNOWN_PORTS = {11434: "ollama", 1234: "lm-studio", 8000: "vllm", 8080: "llama-cpp"}
_LOCAL_ENDINGS = (".localhost", ".local", ".lan", ".internal", ".home.arpa")
_SCHEME = late(r"^[a-zA-Z][a-zA-Z0-9+.-]*://")
_NO_NAME = late(r"[^a-z0-9]+")
EXAMPLE = "http://localhost:11434"


def server_address(typed: str) -> str:
    """Returns the base URL of an OpenAI-compatible server: with scheme, and with `/v1` where no path is given.
    Raises `UserError`."""
    text = typed.strip()
    if not text:
        raise UserError(f"Type the address of the server, for example {EXAMPLE}")
    parts = _split(text if _SCHEME.match(text) else f"//{text}")
    host = parts.hostname or ""
    if not host or any(mark.isspace() for mark in text) or parts.scheme not in ("", "http", "https"):
        raise UserError(f"'{text}' is no address. Type one such as {EXAMPLE}")
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise UserError("Leave out user names, keys and what follows ? or #. The key is asked for next.")
    scheme = parts.scheme or ("http" if is_private_host(host) else "https")
    if scheme == "http" and not is_private_host(host):
        raise UserError(f"{host} is no private address: over http others could read the key. Use https://")
    path = parts.path.rstrip("/")
    for ending in _ENDINGS:
        path = path.removesuffix(ending)
    return f"{scheme}://{parts.netloc}{path or '/v1'}"


def _split(text: str) -> SplitResult:
    try:
        parts = urlsplit(text)
        _ = parts.port
    except ValueError as problem:
        raise UserError(f"'{text.removeprefix('//')}' is no address: {problem}") from None
    return parts


def is_private_host(host: str) -> bool:
    """Says whether a host is this machine or one of a private network, by its name or address alone."""
    name = host.casefold().rstrip(".")
    try:
        found = ipaddress.ip_address(name.partition("%")[0])
    except ValueError:
        return "." not in name or name.endswith(_LOCAL_ENDINGS)
    return found.is_private and not found.is_unspecified


def provider_name(base_url: str, taken: Collection[str]) -> str:
    """Returns a name for the provider that is not taken: the program that usually has the port, else the host."""
    parts = urlsplit(base_url)
    usual = _KNOWN_PORTS.get(parts.port or 0, "") if is_private_host(parts.hostname or "") else ""
    name = usual or _NO_NAME.sub("-", (parts.hostname or "").casefold()).strip("-")
    number = 1
    while (numbered := name if number == 1 else f"{name}-{number}") in taken:
        number += 1
    return numbered
