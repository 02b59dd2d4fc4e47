"""How each tool of each server is reached: declared as it is, found by a search, or not at all. Pure.

It is decided once, from what is known when a session begins, and kept as long as the session lives: the list of tools
stands in front of the prompt, and a change of it makes the next request pay for all of that anew.
"""

from collections.abc import Iterable

import msgspec

from app.mcp.entries import Exposure, ServerConfig
from app.mcp.manifest import KnownTool, Manifest
from app.values.servers import ToolReach

MOST_DIRECT = 40
"""Tools that `auto` declares at most: some providers take no more than 128 in all."""


class Wishes(msgspec.Struct, frozen=True, kw_only=True):
    """What the settings say."""

    exposure: Exposure = "auto"
    direct_tokens: int = 3_000


def wish(config: ServerConfig, wishes: Wishes) -> Exposure:
    return config.exposure or wishes.exposure


def automatic(servers: Iterable[tuple[ServerConfig, Manifest | None]], wishes: Wishes) -> ToolReach:
    """What `auto` means now. A server that nobody has asked yet may have any number of tools."""
    count = tokens = 0
    for config, manifest in servers:
        if wish(config, wishes) != "auto":
            continue
        if manifest is None:
            return "search"
        found = [tool for tool in manifest.tools if config.exposure_of(tool.name) in (None, "auto")]
        count += len(found)
        tokens += sum(tool.tokens for tool in found)
    return "direct" if tokens <= wishes.direct_tokens and count <= MOST_DIRECT else "search"


def reach_of(tool: KnownTool, config: ServerConfig, server: ToolReach, auto: ToolReach) -> ToolReach:
    """`server`: what was decided for it; its own entry for the tool comes first."""
    said = config.exposure_of(tool.name)
    if said is None or said == config.exposure:
        return server
    return auto if said == "auto" else said
