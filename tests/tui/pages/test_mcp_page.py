"""`/mcp`: servers as they stand, with real ones behind them."""

import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.resources.paths import BayouPaths
from app.tui.features.mcp.page import McpServersPage
from tests.mcp.test_in_session import Desk
from tests.mcp.test_servers import FAULTY
from tests.tui.pages.person import Person, at_the_keyboard


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    folder = tmp_path / "home" / "project"
    folder.mkdir(parents=True)
    made = Desk(BayouPaths.from_env({"HOME": str(tmp_path / "home")}, folder))
    yield made
    await made.close()


def page_of(desk: Desk, person: Person, opened: list[Path] | None = None) -> McpServersPage:
    def edit(path: Path) -> str:
        if opened is not None:
            opened.append(path)
        return ""

    return McpServersPage(
        desk.session.mcp,
        person.ask,
        person.say,
        person.await_answer,
        edit=edit,
        spawn=person.spawn,
        clock=person.clock,
    )


def entry(desk: Desk, name: str) -> dict:
    return json.loads((desk.paths.agent_dir / "mcp.json").read_text())["mcpServers"][name]


async def test_without_servers_it_says_how_one_is_added(desk: Desk):
    desk.open()
    async with at_the_keyboard() as person:
        await page_of(desk, person).open()
    assert "bayou mcp add NAME" in person.heard[0]


async def test_servers_are_tested_switched_exposed_and_opened_by_keys(desk: Desk):
    desk.configure(docs={"env": {"API_TOKEN": "hunter2hunter2"}}, broken={"words": ["exit-in-start"]})
    desk.open()
    opened: list[Path] = []
    async with at_the_keyboard(size=(120, 40)) as person, person.asked(page_of(desk, person, opened).open()):
        await person.sees_soon("MCP servers", "docs", "broken", "new")
        await person.press("t")
        await person.sees_soon("failed", "no config", "the program exited with code 3")
        await person.press("down", "t")
        await person.sees_soon("docs works", "ready", "12 tools")
        assert "hunter2" not in person.sees
        await person.press("x")
        await person.sees_soon("applies from the next prompt")
        assert entry(desk, "docs")["exposure"] == "direct"
        await person.press("e")
        await person.sees_soon("off")
        assert entry(desk, "docs")["enabled"] is False
        await person.press("e", "r")
        await person.sees_soon("docs restarts on next use")
        await person.press("o")
        await person.until(lambda: opened == [desk.paths.agent_dir / "mcp.json"])
        await person.press("enter")
        await person.sees_soon("Tools of docs", "declared read-only", "mcp__docs__echo")
        await person.press("escape")
        await person.sees_soon("MCP servers")
        await person.press("d", "n")
        await person.sees_soon("MCP servers")
        await person.press("d", "y")
        await person.until(lambda: "Removed" in " ".join(person.heard))
        await person.press("escape")
    assert "docs" not in json.loads((desk.paths.agent_dir / "mcp.json").read_text())["mcpServers"]


async def test_mcp_subcommands_run_and_report(desk: Desk):
    desk.configure(docs={}, broken={"words": ["exit-in-start"]})
    desk.open()
    async with at_the_keyboard() as person:
        page = page_of(desk, person)
        for words in (
            "test docs",
            "test broken",
            "test",
            "test nobody",
            "frob",
            "disable docs",
            "test docs",
            "login docs",
        ):
            await page.open(words)
        await page.open("list")
        await page.open("logs broken")
    told = "\n".join(person.heard)
    for words in (
        'Testing connection to "docs"…',
        '✓ Successfully connected to "docs"',
        'Failed to connect to "broken": the program exited with code 3 ("no config")',
        "Server name required. Usage: /mcp test <name>",
        'Server "nobody" not found.',
        "Tip: Run /mcp list to see available servers.",
        "Unknown command: /mcp frob. Commands: list, test,",
        'Server "docs" is disabled (',
        'Server "docs" is disabled. Run /mcp enable docs first.',
        "is a program on this machine, so it needs no sign-in",
        "docs    off",
        "no config",
    ):
        assert words in told, words


async def test_a_projects_servers_are_not_started_before_trust_and_say_so(desk: Desk):
    written = {"mcpServers": {"theirs": {"command": sys.executable, "args": [FAULTY]}}}
    (desk.paths.cwd / ".mcp.json").write_text(json.dumps(written))
    desk.open()
    async with at_the_keyboard() as person, person.asked(page_of(desk, person).open()):
        await person.sees_soon("theirs", "untrusted")
        await person.press("t")
        await person.sees_soon("not trusted")
        await person.press("escape")
    assert desk.session.mcp.server_view("theirs").process is None
    assert "mcp_servers" not in desk.session.requests.prompt_sections()
