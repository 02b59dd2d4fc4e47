"""What the system prompt says of servers: a line each, the same for a whole session."""

from app.mcp.hub import Hub, line_of

NAME = "mcp_servers"
_HEAD = "MCP servers with tools that are found by mcp_search and called by mcp_call:"


def section(hub: Hub) -> dict[str, str]:
    lines = [
        f"- {life.config.name}{f': {line}' if (line := line_of(life)) else ''}"
        for life in hub.usable
        if hub.reach(life) != "hidden" and is_searched(hub, life.config.name)
    ]
    return {NAME: "\n".join((_HEAD, *lines))} if lines else {}


def is_searched(hub: Hub, name: str) -> bool:
    """Something of it is only found by a search: tools, resources, or what nobody knows yet."""
    life = hub.server(name)
    if life.manifest is None:
        return True
    if life.manifest.resources or life.manifest.templates:
        return True
    return any(entry.reach == "search" for entry in hub.entries().values() if entry.life is life)
