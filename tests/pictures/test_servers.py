"""`/mcp` in the running application, with real servers behind it: one that answers, one that breaks, one that wants to
know who asks, one that is switched off."""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app.providers.scripted import ScriptedModel, call, say
from app.tui.features.mcp.form import FORM_KEY_GRACE_SECONDS
from app.tui.features.mcp.form_screen import RequestedFormScreen
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
    program = _program(screen)
    written = {
        "docs": {**program, "env": {"API_TOKEN": "tok-5up3r-s3cr3t"}},
        "broken": {**program, "args": ["serve.sh", "exit-in-start"]},
        "far": {"url": "http://127.0.0.1:${FAR_PORT}/mcp", "description": "What the harbour knows"},
        "notes": {**program, "enabled": False},
    }
    _configure(written)


def _program(screen: Screen) -> dict[str, Any]:
    """By words that are the same on every machine."""
    (screen.project / "serve.sh").write_text(f'exec {sys.executable} {FAULTY} "$@"\n')
    return {"command": "sh", "args": ["serve.sh"]}


def _configure(written: dict[str, Any]) -> None:
    agent = Path(os.environ["BAYOU_AGENT_DIR"])
    agent.mkdir(parents=True, exist_ok=True)
    (agent / "mcp.json").write_text(json.dumps({"mcpServers": written}))


async def test_servers(screen: Screen, photographs: Photographs, servers: None) -> None:
    async with photographs.of(screen.app(theme=photographs.theme)) as tour:
        verbs = tour.app.session.mcp
        await tour.until(lambda: {view.name: view.state for view in verbs.server_views()} == STANDING)
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


async def test_a_form(screen: Screen, photographs: Photographs) -> None:
    """A server asks in the middle of a call; missing fields are reported, and the answers go back to it."""
    _configure({"harbour": {**_program(screen), "args": ["serve.sh", "form"], "exposure": "direct"}})
    script = ScriptedModel([call("mcp__harbour__ask"), say("The boat is booked.")])
    app = screen.app("--permissions", "full", theme=photographs.theme, script=script)
    async with photographs.of(app) as tour:
        await tour.say("book a boat")
        await tour.until(lambda: isinstance(app.screen, RequestedFormScreen))
        await tour.photograph("form")
        await tour.photograph_small("form")
        await tour.answer("s", seconds=FORM_KEY_GRACE_SECONDS)
        await tour.until("invalid")
        await tour.photograph("form-wrong")
        await tour.answer("enter", seconds=FORM_KEY_GRACE_SECONDS)
        await tour.press(*"Merry")
        await tour.photograph("form-field")
        await tour.press("enter", "s")
        await tour.idle()
        await tour.photograph("form-sent")
