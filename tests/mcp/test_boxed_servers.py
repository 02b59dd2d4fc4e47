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
    configure(desk, tasks)
    await desk.known()
    desk.open()
    desk.session.permissions.rules.allow("tool: mcp__scribbling__*")
    await desk.result("mcp__scribbling__scribble")
    assert tasks.read_text() == "{}"


@pytest.mark.parametrize("name", [".envrc", "sub/.envrc"])
async def test_a_file_that_runs_later_which_a_server_makes_is_moved_away(desk: Desk, name: str):
    skip_below("namespaces")
    made = desk.paths.cwd / name
    made.parent.mkdir(parents=True, exist_ok=True)
    desk.options = Options(permissions="auto-edit")
    configure(desk, made)
    await desk.known()
    desk.open()
    desk.session.permissions.rules.allow("tool: mcp__scribbling__*")
    text = await desk.result("mcp__scribbling__scribble")
    assert "looked" in text and "runs later outside of the sandbox, so it was moved to" in text
    assert not made.exists()


async def test_what_a_server_changes_that_came_after_it_began_is_named(desk: Desk):
    skip_below("namespaces")
    made = desk.paths.cwd / ".envrc"
    desk.options = Options(permissions="auto-edit")
    configure(desk, made)
    await desk.known()
    desk.open()
    desk.session.permissions.rules.allow("tool: mcp__scribbling__*")
    await desk.result("mcp__scribbling__scribble")
    made.write_text("by the person")
    text = await desk.result("mcp__scribbling__scribble")
    assert "this server made or changed" in text and ".envrc" in text


async def test_a_server_is_named_that_can_read_keys_which_came_after_it_began(desk: Desk):
    skip_below("namespaces")
    desk.options = Options(permissions="auto-edit")
    configure(desk, desk.paths.cwd / "note")
    await desk.known()
    desk.open()
    desk.session.permissions.rules.allow("tool: mcp__scribbling__*")
    assert "began before" not in await desk.result("mcp__scribbling__scribble")
    (desk.paths.home / ".netrc").write_text("machine a password hunter2hunter2")
    text = await desk.result("mcp__scribbling__scribble")
    assert "the MCP server `scribbling` began before" in text and "/mcp restart scribbling" in text
    assert "began before" not in await desk.result("mcp__scribbling__scribble")


def configure(desk: Desk, place: Path) -> None:
    desk.paths.agent_dir.mkdir(parents=True, exist_ok=True)
    server = {"command": sys.executable, "args": [SCRIBBLING, str(place)]}
    (desk.paths.agent_dir / "mcp.json").write_text(json.dumps({"mcpServers": {"scribbling": server}}))
