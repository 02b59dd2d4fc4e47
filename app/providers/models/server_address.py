"""The address of a server that a person types: completed, checked, and made into a provider's name."""

import ipaddress
from collections.abc import Collection
from urllib.parse import SplitResult, urlsplit

from app.values.user_errors import UserError
from tools.lazy_patterns import lazy_regex

_OPENAI_ENDPOINT_PATHS = ("/chat/completions", "/completions", "/models")
_LOCAL_MODEL_SERVER_BY_PORT = {11434: "ollama", 1234: "lm-studio", 8000: "vllm", 8080: "llama-cpp"}
_LOCAL_HOST_SUFFIXES = (".localhost", ".local", ".lan", ".internal", ".home.arpa")
_URL_SCHEME_PATTERN = lazy_regex(r"^[a-zA-Z][a-zA-Z0-9+.-]*://")
_INVALID_PROVIDER_NAME_CHARACTERS = lazy_regex(r"[^a-z0-9]+")
EXAMPLE_MODEL_SERVER_ADDRESS = "http://localhost:11434"


def complete_model_server_address(typed: str) -> str:
    """Returns the base URL of an OpenAI-compatible server: with scheme, and with `/v1` where no path is given.
    Raises `UserError`."""
    text = typed.strip()
    if not text:
        raise UserError(f"Type the address of the server, for example {EXAMPLE_MODEL_SERVER_ADDRESS}")
    parts = _split_server_address(text if _URL_SCHEME_PATTERN.match(text) else f"//{text}")
    host = parts.hostname or ""
    if not host or any(mark.isspace() for mark in text) or parts.scheme not in ("", "http", "https"):
        raise UserError(f"'{text}' is not an address. Type one such as {EXAMPLE_MODEL_SERVER_ADDRESS}")
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise UserError(
            "Remove user names, keys and everything after ? or #. You enter the key in the next step."
        )
    scheme = parts.scheme or ("http" if is_private_host(host) else "https")
    if scheme == "http" and not is_private_host(host):
        raise UserError(
            f"{host} is not a private address, and http would send the key unencrypted. Use https://"
        )
    path = parts.path.rstrip("/")
    for ending in _OPENAI_ENDPOINT_PATHS:
        path = path.removesuffix(ending)
    return f"{scheme}://{parts.netloc}{path or '/v1'}"


def _split_server_address(text: str) -> SplitResult:
    try:
        parts = urlsplit(text)
        _ = parts.port
    except ValueError as problem:
        raise UserError(f"'{text.removeprefix('//')}' is not an address: {problem}") from None
    return parts


def is_private_host(host: str) -> bool:
    """Says whether a host is this machine or one of a private network, by its name or address alone."""
    name = host.casefold().rstrip(".")
    try:
        found = ipaddress.ip_address(name.partition("%")[0])
    except ValueError:
        return "." not in name or name.endswith(_LOCAL_HOST_SUFFIXES)
    return found.is_private and not found.is_unspecified


def provider_name_for_address(base_url: str, taken: Collection[str]) -> str:
    """Returns an unused name for the provider: the program that usually uses the server's port, or else the host."""
    parts = urlsplit(base_url)
    usual = (
        _LOCAL_MODEL_SERVER_BY_PORT.get(parts.port or 0, "") if is_private_host(parts.hostname or "") else ""
    )
    name = usual or _INVALID_PROVIDER_NAME_CHARACTERS.sub("-", (parts.hostname or "").casefold()).strip("-")
    number = 1
    while (numbered := name if number == 1 else f"{name}-{number}") in taken:
        number += 1
    return numbered
