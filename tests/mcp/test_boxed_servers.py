"""Servers that are programs run in the sandbox."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from app.assembly.command_line_options import CommandLineOptions
from app.engine.permissions.permission_gate import ApprovalReply
from app.providers.scripted import say
from app.values.events import Notice, QuestionAsked
from tests.box.conftest import skip_below
from tests.mcp.test_in_session import Desk, desk

__all__ = ["desk"]


@pytest.mark.parametrize("mode", ["full", "auto-edit"])
async def test_a_server_runs_in_the_sandbox_in_every_mode(desk: Desk, mode: str):
    skip_below("namespaces")
    tasks = desk.paths.cwd / ".vscode" / "tasks.json"
    tasks.parent.mkdir()
    tasks.write_text("{}")
    desk.options = CommandLineOptions(permissions=mode)
    configure(desk, tasks)
    await desk.known()
    desk.open()
    desk.session.permissions.rules.add_allow_rule("tool: mcp__scribbling__*")
    await desk.result("mcp__scribbling__scribble")
    assert tasks.read_text() == "{}"


@pytest.mark.parametrize("name", [".envrc", "sub/.envrc"])
async def test_a_file_that_runs_later_which_a_server_makes_is_moved_away(desk: Desk, name: str):
    skip_below("namespaces")
    made = desk.paths.cwd / name
    made.parent.mkdir(parents=True, exist_ok=True)
    desk.options = CommandLineOptions(permissions="auto-edit")
    configure(desk, made)
    await desk.known()
    desk.open()
    desk.session.permissions.rules.add_allow_rule("tool: mcp__scribbling__*")
    text = await desk.result("mcp__scribbling__scribble")
    assert "looked" in text and "runs later outside of the sandbox, so it was moved to" in text
    assert not made.exists()


async def test_what_a_server_changes_that_came_after_it_began_is_named(desk: Desk):
    skip_below("namespaces")
    made = desk.paths.cwd / ".envrc"
    desk.options = CommandLineOptions(permissions="auto-edit")
    configure(desk, made)
    await desk.known()
    desk.open()
    desk.session.permissions.rules.add_allow_rule("tool: mcp__scribbling__*")
    await desk.result("mcp__scribbling__scribble")
    made.write_text("by the person")
    text = await desk.result("mcp__scribbling__scribble")
    assert "this server made or changed" in text and ".envrc" in text


async def test_a_server_is_named_that_can_read_keys_which_came_after_it_began(desk: Desk):
    skip_below("namespaces")
    desk.options = CommandLineOptions(permissions="auto-edit")
    configure(desk, desk.paths.cwd / "note")
    await desk.known()
    desk.open()
    desk.session.permissions.rules.add_allow_rule("tool: mcp__scribbling__*")
    assert "began before" not in await desk.result("mcp__scribbling__scribble")
    (desk.paths.home / ".netrc").write_text("machine a password hunter2hunter2")
    text = await desk.result("mcp__scribbling__scribble")
    assert "the MCP server `scribbling` began before" in text and "/mcp restart scribbling" in text
    assert "began before" not in await desk.result("mcp__scribbling__scribble")


async def test_what_a_server_writes_by_a_hard_link_that_came_after_it_began_is_named(desk: Desk):
    skip_below("namespaces")
    made, outside = desk.paths.cwd / "note", desk.paths.home / "outside"
    desk.options = CommandLineOptions(permissions="auto-edit")
    configure(desk, made)
    await desk.known()
    desk.open()
    desk.session.permissions.rules.add_allow_rule("tool: mcp__scribbling__*")
    assert "hard links" not in await desk.result("mcp__scribbling__scribble")
    made.unlink(missing_ok=True)
    outside.write_text("old")
    made.hardlink_to(outside)
    text = await desk.result("mcp__scribbling__scribble")
    assert "this server wrote" in text and "hard links" in text, text


async def test_what_a_server_plants_beside_its_calls_is_moved_away_at_its_next_call(desk: Desk):
    plant = await armed(desk)
    await asyncio.to_thread(plant)
    text = await desk.result("mcp__planting__look")
    assert "appeared while the MCP server planting was running beside the calls" in text
    assert all(name in text for name in (".envrc", ".vscode", ".mcp.json", "sub/.envrc"))
    assert left(desk) == []


async def test_it_is_moved_away_at_the_end_of_a_prompt_without_a_call(desk: Desk):
    plant = await armed(desk)
    await asyncio.to_thread(plant)
    await desk.say(say("nothing to do"))
    told = [event.text for event in desk.events if isinstance(event, Notice)]
    assert any(".envrc, which runs later" in text and "move it back" in text for text in told)
    assert left(desk) == []


async def test_it_is_moved_away_when_the_session_ends(desk: Desk):
    plant = await armed(desk)
    await asyncio.to_thread(plant)
    await desk.close()
    assert any(isinstance(event, Notice) and ".envrc" in event.text for event in desk.events)
    assert left(desk) == []


async def test_what_a_person_makes_while_a_server_waits_stays(desk: Desk):
    await armed(desk)
    (desk.paths.cwd / ".envrc").write_text("by the person")
    await desk.say(say("nothing to do"))
    assert "moved to" not in await desk.result("mcp__planting__look")
    assert (desk.paths.cwd / ".envrc").read_text() == "by the person"


async def test_it_stays_also_while_a_worker_outside_of_the_sandbox_is_busy(desk: Desk):
    await armed(desk)
    busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])  # noqa: ASYNC220  (quick)
    try:
        (desk.paths.cwd / ".envrc").write_text("by the person")
        assert "moved to" not in await desk.result("mcp__planting__look")
    finally:
        busy.kill()
        busy.wait()
    assert (desk.paths.cwd / ".envrc").read_text() == "by the person"


async def test_what_bayou_itself_was_allowed_to_write_stays(desk: Desk):
    desk.asks = "person"
    plant = await armed(desk)
    desk.session.subscribe(
        lambda event: (
            isinstance(event, QuestionAsked) and event.answer.set_result(ApprovalReply(is_allowed=True))
        )
    )
    await desk.result("write", path=".envrc", content="allowed")
    await desk.result("bash", command="mkdir .zed; echo allowed > .zed/tasks.json")
    await asyncio.to_thread(plant)
    text = await desk.result("mcp__planting__look")
    assert f"{desk.paths.cwd / '.envrc'}, which may run later or decide what runs, changed while" in text
    assert "project/.envrc, which runs later outside" not in text and "agent/blobs" not in text
    assert left(desk) == [".envrc"] and (desk.paths.cwd / ".zed/tasks.json").exists()


PLANTED = (
    ".envrc",
    ".mcp.json",
    ".vscode/tasks.json",
    ".git/commondir",
    ".git/config.worktree",
    "sub/.envrc",
)


async def armed(desk: Desk) -> Callable[[], None]:
    """A session with a server that has been called once. Returns what makes it plant its files."""
    skip_below("namespaces")
    folder, gate = desk.paths.cwd, desk.paths.cwd / "gate"
    os.mkfifo(gate)
    subprocess.run(["git", "init", "-q", folder], check=True)  # noqa: ASYNC221  (quick)
    configure(desk, gate, *(folder / name for name in PLANTED), name="planting")
    await desk.known()
    desk.open()
    await desk.result("mcp__planting__look")

    def plant() -> None:
        gate.write_text("now")
        gate.read_text()

    return plant


def left(desk: Desk) -> list[str]:
    """The planted files that git or an editor would find."""
    return [
        name for name in PLANTED if (place := desk.paths.cwd / name).exists() and place.stat().st_size > 2
    ]


def configure(desk: Desk, *words: Path, name: str = "scribbling") -> None:
    desk.paths.agent_dir.mkdir(parents=True, exist_ok=True)
    script = str(Path(__file__).with_name(f"{name}.py"))
    server = {"command": sys.executable, "args": [script, *map(str, words)]}
    (desk.paths.agent_dir / "mcp.json").write_text(json.dumps({"mcpServers": {name: server}}))
