"""Servers that are programs run in the sandbox."""

import json
import sys
from pathlib import Path

import pytest

from app.assembly.options import Options
from tests.box.conftest import skip_below
from tests.mcp.test_in_session import Desk, desk

__all__ = ["desk"]
SCRIBBLING = str(Path(__file__).with_name("scribbling.py"))


@pytest.mark.parametrize("mode", ["full", "auto-edit"])
async def test_a_server_runs_in_the_sandbox_in_every_mode(desk: Desk, mode: str):
    skip_below("namespaces")
    tasks = desk.paths.cwd / ".vscode" / "tasks.json"
    tasks.parent.mkdir()
    tasks.write_text("{}")
    desk.options = Options(permissions=mode)
    desk.paths.agent_dir.mkdir(parents=True, exist_ok=True)
    server = {"command": sys.executable, "args": [SCRIBBLING, str(tasks)]}
    (desk.paths.agent_dir / "mcp.json").write_text(json.dumps({"mcpServers": {"scribbling": server}}))
    await desk.known()
    desk.open()
    desk.session.permissions.rules.allow("tool: mcp__scribbling__*")
    await desk.result("mcp__scribbling__scribble")
    assert tasks.read_text() == "{}"
