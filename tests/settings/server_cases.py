"""Settings of MCP servers: whether there are any, how the model reaches them, where they run."""

import json
import sys
from typing import Any

from app.mcp.server_config_entries import McpServerConfig
from tests.compaction.project_session import ProjectSession
from tests.mcp.test_servers import FAULTY
from tests.settings.in_sessions import LIVE
from tests.settings.sandbox_cases import EVERYTHING
from tests.support.sessions import parts_of


def with_server(scene: ProjectSession) -> str:
    """A server that is known, in a session that has had its first prompt."""
    folder = scene.assembled.prompt.paths.agent_dir
    if not (folder / "mcp.json").exists():
        entry = {"command": sys.executable, "args": [FAULTY]}
        (folder / "mcp.json").write_text(json.dumps({"mcpServers": {"docs": entry}}))
    return "docs"


async def reach_of(scene: ProjectSession) -> str:
    name = with_server(scene)
    await scene.session.mcp.test_server(name)
    return scene.session.mcp.server_view(name).reach


@LIVE.add("mcp.enabled", True, False)
async def servers_at_all(scene: ProjectSession) -> Any:
    with_server(scene)
    return len(scene.session.mcp.server_views())


@LIVE.add("mcp.exposure", "auto", "hidden")
async def reach_of_servers(scene: ProjectSession) -> Any:
    return await reach_of(scene)


@LIVE.add("mcp.directTokens", 3000, 0)
async def how_many_are_declared(scene: ProjectSession) -> Any:
    return await reach_of(scene)


@LIVE.add("mcp.sandbox", "auto", "off", {"permissions.mode": "full"})
async def box_of_servers(scene: ProjectSession) -> Any:
    scene.assembled.workspace.abilities = lambda: EVERYTHING
    box = parts_of(scene.session).servers.sandbox_for_server
    return await box(McpServerConfig(name="docs", command="true")) is None
