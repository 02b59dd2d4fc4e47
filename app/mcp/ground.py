"""What the servers of a session stand on: processes, folder, variables, the box, what is kept of them. No connection is
made here, so that a session whose servers are only known pays for none."""

import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from app.mcp.entries import ServerConfig
from app.mcp.manifest import Manifests
from app.mcp.server_log import ServerLog

if TYPE_CHECKING:
    from app.mcp.streams import Transport
    from tools.box.policy import Box
    from tools.running.process import LocalProcesses

LEAVE_SECONDS = 1.0
"""For one server to be left."""


async def _no_box(config: ServerConfig) -> "Box | None":
    return None


async def _as_written(config: ServerConfig) -> ServerConfig:
    return config


class ServerGround(msgspec.Struct, frozen=True, kw_only=True):
    """What the servers of a session stand on."""

    processes: "Callable[[], LocalProcesses]"
    folder: Callable[[], Path]
    """The one that the session works in."""
    environment: Callable[[], Mapping[str, str]]
    """What a server may see of bayou's own variables."""
    resolved: Callable[[ServerConfig], Awaitable[ServerConfig]] = _as_written
    """With the values that are only named in it. Raises `Unable`."""
    remote: "Callable[[ServerConfig, ServerLog], Callable[[], Transport]] | None" = None
    """The way to a server on the network."""
    box: "Callable[[ServerConfig], Awaitable[Box | None]]" = _no_box
    elicit: Callable[[str, dict[str, Any]], Awaitable[dict[str, Any]]] | None = None
    manifests: Manifests = msgspec.field(default_factory=lambda: Manifests(None))
    logs: Path | None = None
    mask: Callable[[str], str] = str
    now: Callable[[], float] = time.monotonic
