"""What is secret of a server is in nothing that bayou shows or keeps: results, refusals, its log, its page, exports."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.cli.commands.mcp_command import run
from app.resources.paths import BayouPaths
from app.tui.features.mcp.page import McpServersPage
from app.values.codec import encode
from tests.mcp.test_in_session import Desk
from tests.tui.pages.person import at_the_keyboard

TOKEN = "tok-5up3r-s3cr3t-value"


@pytest.fixture
async def desk(paths: BayouPaths) -> AsyncIterator[Desk]:
    made = Desk(paths)
    yield made
    await made.close()


def servers(desk: Desk, value: str) -> None:
    """A server that prints its token, and one that does so and exits."""
    leaky = {"env": {"API_TOKEN": value}, "exposure": "direct"}
    desk.configure(docs={**leaky, "words": ["leaky"]}, broken={**leaky, "words": ["leaky", "exit-in-start"]})


@pytest.mark.parametrize("value", [TOKEN, "!cat ~/token"], ids=["written", "printed by a command"])
async def test_a_token_that_a_server_tells_is_masked_wherever_it_would_turn_up(
    desk: Desk,
    paths: BayouPaths,
    value: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    (paths.home / "token").write_text(TOKEN)
    servers(desk, value.replace("~", str(paths.home)))
    session = desk.open()
    for name in ("docs", "broken"):
        session.mcp.connect_new_servers()
        try:
            await session.mcp.test_server(name)
        except Exception as problem:
            assert TOKEN not in str(problem) and "secret:" in str(problem)
    assert "secret:" in await desk.result("mcp__docs__echo", text="$API_TOKEN")
    seen = {"events": "\n".join(encode(event).decode() for event in desk.events if hasattr(event, "type"))}
    seen["views"] = repr(session.mcp.server_views())
    seen["file"] = session.log.path.read_text()
    for kind in ("html", "jsonl", "md"):
        seen[kind] = session.export_to_file(paths.cwd / f"out.{kind}").read_text()
    async with at_the_keyboard(size=(120, 40)) as person:

        def edit(path: Path) -> str:
            return ""

        page = McpServersPage(
            session.mcp,
            person.ask,
            person.say,
            person.await_answer,
            edit=edit,
            spawn=person.spawn,
            clock=person.clock,
        )
        async with person.asked(page.open()):
            await person.sees_soon("MCP servers", "broken")
            await person.sees_soon("[secret:")
            seen["page"] = person.sees
            await person.press("down")
            await person.sees_soon("Breaks in every way.")
            seen["page"] += person.sees
            await person.press("escape")
        await page.open("logs broken")
        await page.open("list")
        seen["words"] = "\n".join(person.heard)
    await desk.close()
    seen["logs"] = "".join(path.read_text() for path in (paths.agent_dir / "mcp-logs").iterdir())
    monkeypatch.setenv("HOME", str(paths.home))
    monkeypatch.delenv("BAYOU_AGENT_DIR", raising=False)
    monkeypatch.chdir(paths.cwd)
    for words in (["logs", "docs"], ["get", "docs"], ["list", "--json"], ["logs", "broken"]):
        run(words)
    told = capsys.readouterr()
    seen["command line"] = told.out + told.err
    assert {where for where, text in seen.items() if TOKEN in text} == set()
    assert "using [secret:" in seen["logs"] and "using [secret:" in seen["command line"]


async def test_a_key_in_the_address_is_shown_nowhere(desk: Desk, paths: BayouPaths):
    desk.configure()
    entry = {"url": f"http://me:{TOKEN}@127.0.0.1:9/mcp?key={TOKEN}", "headers": {"X-Api-Key": TOKEN}}
    (paths.agent_dir / "mcp.json").write_text(json.dumps({"mcpServers": {"far": entry}}))
    session = desk.open()
    told = await desk.result("mcp_search", query="anything")
    seen = told + repr(session.mcp.server_views()) + repr(desk.events)
    assert TOKEN not in seen
    assert "far" in told
