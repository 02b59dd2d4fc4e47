"""`/mcp` in the running application, with real servers behind it: one that answers, one that breaks, one that wants to
know who asks, one that is switched off."""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.mcp.guarded_server import GuardedServer
from tests.mcp.test_servers import FAULTY
from tests.support.photographs import Photographs
from tests.support.screens import Screen

STANDING = {"docs": "ready", "broken": "failed", "far": "sign-in", "notes": "off"}


@pytest.fixture
def far(monkeypatch: pytest.MonkeyPatch) -> Iterator[GuardedServer]:
    server = GuardedServer()
    monkeypatch.setenv("FAR_PORT", str(server.port))
    yield server
    server.close()


@pytest.fixture
def servers(screen: Screen, far: GuardedServer) -> None:
    """By words that are the same on every machine."""
    (screen.project / "serve.sh").write_text(f'exec {sys.executable} {FAULTY} "$@"\n')
    program = {"command": "sh", "args": ["serve.sh"]}
    written = {
        "docs": {**program, "env": {"API_TOKEN": "tok-5up3r-s3cr3t"}},
        "broken": {**program, "args": ["serve.sh", "exit-in-start"]},
        "far": {"url": "http://127.0.0.1:${FAR_PORT}/mcp", "description": "What the harbour knows"},
        "notes": {**program, "enabled": False},
    }
    agent = Path(os.environ["BAYOU_AGENT_DIR"])
    agent.mkdir(parents=True, exist_ok=True)
    (agent / "mcp.json").write_text(json.dumps({"mcpServers": written}))


async def test_servers(screen: Screen, photographs: Photographs, servers: None) -> None:
    async with photographs.of(screen.app(theme=photographs.theme)) as tour:
        verbs = tour.app.session.mcp
        await tour.until(lambda: {view.name: view.state for view in verbs.servers()} == STANDING)
        await tour.say("/mcp")
        await tour.until("MCP servers")
        await tour.photograph("failed")
        await tour.photograph_small("failed")
        await tour.press("down")
        await tour.until("What the harbour knows")
        await tour.photograph("sign-in")
        await tour.press("down")
        await tour.until("Breaks in every way.")
        await tour.photograph("ready")
        await tour.photograph_small("ready")
        await tour.press("enter")
        await tour.until("Tools of docs")
        await tour.photograph("tools")
        await tour.photograph_small("tools")
        await tour.press("escape", "down")
        await tour.photograph("off")
        await tour.press("escape")
        await tour.say("/mcp test broken")
        await tour.until("Failed to connect")
        await tour.photograph("tested")
