"""How each tool of each server is reached: declared as it is, found by a search, or not at all. Pure.

It is decided once, from what is known when a session begins, and kept as long as the session lives: the list of tools
stands in front of the prompt, and a change of it makes the next request pay for all of that anew.
"""

from collections.abc import Iterable

import msgspec

from app.mcp.entries import Exposure, ServerConfig
from app.mcp.manifest import KnownTool, Manifest
from app.values.servers import AutoReach, ToolReach

MOST_DIRECT = 40
"""Tools that `auto` declares at most: some providers take no more than 128 in all."""


MOST_BORNE = 100
"""Tools that stay declared because they once were, however many there are by now."""


class Wishes(msgspec.Struct, frozen=True, kw_only=True):
    """What the settings say."""

    exposure: Exposure = "auto"
    direct_tokens: int = 3_000


def wish(config: ServerConfig, wishes: Wishes) -> Exposure:
    return config.exposure or wishes.exposure


def automatic(servers: Iterable[tuple[ServerConfig, Manifest | None]], wishes: Wishes) -> AutoReach:
    """What `auto` means now. A server that nobody has asked yet may have any number of tools."""
    found: list[KnownTool] = []
    for config, manifest in servers:
        if wish(config, wishes) != "auto":
            continue
        if manifest is None:
            return "search"
        found += _of_auto(config, manifest)
    is_little = sum(tool.tokens for tool in found) <= wishes.direct_tokens and len(found) <= MOST_DIRECT
    return "direct" if is_little else "search"


def is_borne(servers: Iterable[tuple[ServerConfig, Manifest | None]], wishes: Wishes) -> bool:
    """Whether what was once decided to be declared still can be."""
    counts = [
        len(_of_auto(config, manifest))
        for config, manifest in servers
        if manifest is not None and wish(config, wishes) == "auto"
    ]
    return sum(counts) <= MOST_BORNE


def _of_auto(config: ServerConfig, manifest: Manifest) -> list[KnownTool]:
    return [tool for tool in manifest.tools if config.exposure_of(tool.name) in (None, "auto")]


def reach_of(tool: KnownTool, config: ServerConfig, server: ToolReach, auto: ToolReach) -> ToolReach:
    """`server`: what was decided for it; its own entry for the tool comes first."""
    said = config.exposure_of(tool.name)
    if said is None or said == config.exposure:
        return server
    return auto if said == "auto" else said
