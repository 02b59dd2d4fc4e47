"""A server's configuration as people may see it: what values may be secret is named and not shown."""

import re
from collections.abc import Iterator
from urllib.parse import urlsplit, urlunsplit

from app.mcp.entries import ServerConfig
from tools.running.withheld import looks_secret
from tools.text import visible

_SECRET_FLAG = re.compile(
    r"(?i)^--?[\w-]*(?:key|token|secret|password|passwd|auth|credential|header|bearer)[\w-]*$"
)
_SECRET_VALUE = re.compile(
    r"(?i)^((?:--?)?[\w-]*(?:key|token|secret|password|passwd|auth|credential|bearer)[\w-]*=).+"
)
HIDDEN = "•••"


def shown_address(server: ServerConfig) -> str:
    """Its command line or address in one line."""
    if server.url is not None:
        return visible(shown_url(server.url))
    return visible(" ".join(_shown_words((server.command or "", *server.args))))


def shown_url(url: str) -> str:
    """Without names and passwords in front, and without what stands behind a question mark."""
    if url.startswith("!"):
        return url
    try:
        parts = urlsplit(url)
    except ValueError:
        return HIDDEN
    host = parts.netloc.rpartition("@")
    return urlunsplit(
        (
            parts.scheme,
            f"{HIDDEN}@{host[2]}" if host[1] else host[2],
            parts.path,
            HIDDEN if parts.query else "",
            "",
        )
    )


def shown_lines(server: ServerConfig) -> Iterator[tuple[str, str]]:
    """All that is configured, by what it is."""
    yield ("command" if server.url is None else "address", shown_address(server))
    if server.cwd:
        yield "folder", visible(server.cwd)
    for what, values in (("variables", server.env), ("headers", server.headers)):
        if values:
            yield what, ", ".join(f"{visible(name)}={shown_value(value)}" for name, value in values.items())
    if server.oauth is not None and server.oauth.client_id:
        alone = ", which signs in by itself" if server.oauth.is_by_itself else ""
        yield "client", visible(server.oauth.client_id) + alone
    yield "exposure", server.exposure or "auto"
    if server.tools:
        yield "tools", ", ".join(f"{visible(name)}: {each}" for name, each in server.tools.items())
    yield "time limits", f"{server.start_timeout:g} s to start, {server.timeout:g} s without a sign of life"
    if server.trust_hints:
        yield "hints", "what it says of its tools is believed"
    yield "stands in", str(server.file) if server.file else server.origin


def shown_value(value: str) -> str:
    """Names of variables and commands say where a value comes from; a value itself is not shown."""
    is_named = value.startswith("!") or re.fullmatch(r"(?:[A-Za-z]+ )?\$\{[^}:]*\}", value)
    return visible(value) if is_named else HIDDEN


def _shown_words(words: tuple[str, ...]) -> Iterator[str]:
    is_secret = False
    for word in words:
        if (is_secret and not word.startswith("-")) or looks_secret("", word):
            yield shown_value(word)
        elif "://" in word:
            yield shown_url(word)
        else:
            yield _SECRET_VALUE.sub(rf"\1{HIDDEN}", word)
        is_secret = bool(_SECRET_FLAG.match(word))
