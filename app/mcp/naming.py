"""What the model calls a server's tool: `mcp__server__tool`, in characters and lengths that every provider takes."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping

from tools.patterns import late

PREFIX = "mcp__"
MOST = 64
_OTHER = late(r"[^A-Za-z0-9_-]")
_HASH = 6


def server_prefix(server: str) -> str:
    return f"{PREFIX}{_OTHER.sub('_', server)}__"


def full_names(server: str, tools: Iterable[str]) -> Mapping[str, str]:
    """By the server's own names. Those that are too long, or would be another's, end in a piece of a hash."""
    plain = {tool: server_prefix(server) + (_OTHER.sub("_", tool) or "_") for tool in tools}
    count = Counter(plain.values())
    return {
        tool: name if len(name) <= MOST and count[name] == 1 else _hashed(name, server, tool)
        for tool, name in plain.items()
    }


def _hashed(name: str, server: str, tool: str) -> str:
    digest = hashlib.sha256(f"{server}\0{tool}".encode("utf-8", "replace")).hexdigest()[:_HASH]
    return f"{name[: MOST - _HASH - 1]}_{digest}"
