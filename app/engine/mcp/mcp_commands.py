"""Commands about MCP servers: how they stand, and what is done with one."""

from collections.abc import Sequence

from app.engine.commands.base import command
from app.engine.session import Session
from app.values.servers import ServerView, ToolExposure


@command(
    "MCP servers, with their tools and how they stand",
    "As far as is known: none is contacted.",
    answer="servers",
)
async def get_mcp_servers(session: Session) -> Sequence[ServerView]:
    return session.mcp.servers()


@command("Connect to an MCP server anew and ask for everything that it offers", answer="server")
async def mcp_test(session: Session, name: str) -> ServerView:
    return await session.mcp.test(name)


@command(
    "Switch an MCP server on or off, or choose how the model reaches its tools",
    "For this session.",
    answer="server",
)
async def mcp_set(
    session: Session,
    name: str,
    enabled: bool | None = None,
    exposure: ToolExposure | None = None,
) -> ServerView:
    if enabled is not None:
        session.mcp.set_enabled(name, enabled)
    if exposure is not None:
        session.mcp.set_exposure(name, exposure)
    return session.mcp.server(name)


@command(
    "Disconnect an MCP server and forget its failures; it starts again when it is needed", answer="server"
)
async def mcp_restart(session: Session, name: str) -> ServerView:
    return await session.mcp.restart(name)
