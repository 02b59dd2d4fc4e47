"""What `initialize` promises is used here: content of prompts, plan, usage, servers of the client, steering."""

import asyncio
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.acp.peers import AcpClient, AcpError, bayou
from tests.mcp.test_network_servers import Served

MODEL = str(Path(__file__).with_name("priced_model.py"))
FAULTY = str(Path(__file__).parents[1] / "mcp" / "faulty.py")
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
PHASES = [{"name": "Boat", "tasks": ["Caulk the hull", "Mend the sail"]}]


def calls(*named: tuple[str, dict[str, Any]]) -> str:
    return json.dumps(named)


async def test_a_prompt_takes_images_links_and_embedded_files(tmp_path: Path) -> None:
    (tmp_path / "a b.txt").write_text("in the file\n")
    async with bayou("-e", MODEL) as client:
        capabilities = (await client.initialize())["agentCapabilities"]["promptCapabilities"]
        assert capabilities == {"image": True, "audio": False, "embeddedContext": True}
        image = {"type": "image", "data": PIXEL, "mimeType": "image/png"}
        link = {"type": "resource_link", "name": "a b.txt", "uri": f"{tmp_path.as_uri()}/a%20b.txt"}
        text = {"uri": "file:///x/embedded.md", "mimeType": "text/markdown", "text": "# Embedded"}
        blob = {"uri": "zed:///picture.png", "mimeType": "image/png", "blob": PIXEL}
        data = {"uri": "file:///x/data.csv", "mimeType": "text/csv", "blob": "MSwy"}
        resources = [{"type": "resource", "resource": one} for one in (text, blob, data)]
        assert (
            await client.prompt(await client.new(tmp_path), "Look at ", link, image, *resources) == "end_turn"
        )
        said = client.text()
        assert said.startswith("2 images and: Look at ")
        assert f"{tmp_path}/a b.txt" in said, "a link is named as people write a path"
        assert '<file name="/x/embedded.md">\n# Embedded\n</file>' in said
        assert '<file name="/x/data.csv">\n1,2\n</file>' in said


async def test_todos_are_a_plan_and_tokens_have_their_cost(tmp_path: Path) -> None:
    async with bayou("-e", MODEL) as client:
        await client.initialize()
        session = await client.new(tmp_path)
        await client.prompt(session, calls(("todo", {"op": "set", "phases": PHASES})))
        first, second = client.of("plan")[-1]["entries"]
        assert (first["content"], first["status"]) == ("Caulk the hull", "in_progress")
        assert (second["content"], second["status"]) == ("Mend the sail", "pending")
        assert client.of("tool_call")[0]["kind"] == "think"
        usage = client.of("usage_update")[-1]
        assert usage["cost"]["currency"] == "USD" and 0 < usage["cost"]["amount"] < 1
        assert 0 < usage["used"] < usage["size"]
        cost = usage["cost"]["amount"]
        await client.prompt(session, calls(("todo", {"op": "done"})))
        assert [one["status"] for one in client.of("plan")[-1]["entries"]] == ["completed", "in_progress"]
        assert client.of("usage_update")[-1]["cost"]["amount"] > cost


async def test_a_server_of_the_client_is_called_and_its_form_is_the_clients(tmp_path: Path) -> None:
    async def fill_in(method: str, parameters: Mapping[str, Any]) -> Any:
        assert method == "elicitation/create"
        fields = parameters["requestedSchema"]["properties"]
        assert set(fields) == {"name", "oars", "sail", "insured"} and "boat" in parameters["message"]
        return {"action": "accept", "content": {"name": "Ada", "oars": 2, "sail": "gaff", "insured": True}}

    server = {
        "name": "docks",
        "command": sys.executable,
        "args": [FAULTY, "form"],
        "env": [{"name": "HARBOUR", "value": "north"}],
    }
    async with bayou("-e", MODEL, "--permissions", "full", answer=fill_in) as client:
        await client.initialize(elicitation={"form": {}})
        session = await client.new(tmp_path, mcpServers=[server])
        await client.prompt(session, "/mcp test docks")  # a slow machine decides nothing
        assert "docks" in client.text()
        await called(client, session, "docks", "echo", text="$HARBOUR")
        assert "It says: north" in client.text()
        await called(client, session, "docks", "ask")
        assert '"name": "Ada"' in client.text() and '"sail": "gaff"' in client.text()


async def called(client: AcpClient, session: str, server: str, tool: str, **arguments: Any) -> None:
    named = {"server": server, "tool": tool, "arguments": arguments}
    assert await client.prompt(session, calls(("mcp_call", named))) == "end_turn"


async def test_servers_of_the_client_on_the_network_are_called(tmp_path: Path) -> None:
    streamable, events = Served("streamable-http"), Served("sse")
    try:
        await asyncio.gather(streamable.start(), events.start())
        async with bayou("-e", MODEL, "--permissions", "full") as client:
            capabilities = (await client.initialize())["agentCapabilities"]["mcpCapabilities"]
            assert capabilities == {"http": True, "sse": True}
            servers = [
                {"type": type, "name": type, "url": served.url, "headers": []}
                for type, served in (("http", streamable), ("sse", events))
            ]
            session = await client.new(tmp_path, mcpServers=servers)
            for name in capabilities:
                await client.prompt(session, f"/mcp test {name}")
                await called(client, session, name, "echo", text=f"over {name}")
                assert f"It says: over {name}" in client.text()
            assert await client.close() == 0
    finally:
        await asyncio.gather(streamable.kill(), events.kill())


async def test_a_steering_prompt_joins_the_run_and_a_plain_one_waits_for_its_end(tmp_path: Path) -> None:
    async with bayou("-e", MODEL, "--permissions", "full") as client:
        await client.initialize()
        session = await client.new(tmp_path)
        running = asyncio.ensure_future(client.prompt(session, "wait"))
        await client.until(lambda: [one for one in client.of("tool_call_update") if "begun" in str(one)])
        later = asyncio.ensure_future(client.prompt(session, "later"))
        steered = asyncio.ensure_future(
            client.prompt(session, "steered", _meta={"bayou": {"delivery": "steer"}})
        )
        await client.call("session/set_config_option", sessionId=session, configId="mode", value="full")
        (tmp_path / "go").touch()
        assert [await running, await steered, await later] == ["end_turn"] * 3
        assert client.text().index("and: steered") < client.text().index("and: later")


async def test_the_setting_for_prompts_during_a_run_decides_where_the_client_says_nothing(
    tmp_path: Path,
) -> None:
    settings = tmp_path / "agent" / "settings.json"
    settings.parent.mkdir()
    settings.write_text('{"acp": {"queue": "refuse"}}')
    env = {"BAYOU_AGENT_DIR": str(settings.parent)}
    async with bayou("-e", MODEL, "--permissions", "full", env=env) as client:
        await client.initialize()
        session = await client.new(tmp_path)
        running = asyncio.ensure_future(client.prompt(session, "wait"))
        await client.until(lambda: [one for one in client.of("tool_call_update") if "begun" in str(one)])
        with pytest.raises(AcpError, match="A prompt is running in this session") as refused:
            await client.prompt(session, "refused")
        assert "acp.queue" in refused.value.data["details"]
        later = asyncio.ensure_future(
            client.prompt(session, "later", _meta={"bayou": {"delivery": "follow_up"}})
        )
        settings.write_text('{"acp": {"queue": "steer"}}')
        joining = asyncio.ensure_future(client.prompt(session, "joining"))
        await client.call("session/set_config_option", sessionId=session, configId="mode", value="full")
        (tmp_path / "go").touch()
        assert [await running, await joining, await later] == ["end_turn"] * 3
        assert client.text().index("and: joining") < client.text().index("and: later")
        assert "refused" not in client.text()


async def test_output_of_commands_goes_to_clients_that_have_terminals(tmp_path: Path) -> None:
    async with bayou("-e", MODEL, "--permissions", "full") as client:
        await client.initialize(_meta={"terminal_output": True})
        await client.prompt(await client.new(tmp_path), calls(("bash", {"command": "echo ahoy; exit 3"})))
        metas = [one["_meta"] for one in client.of("tool_call_update") if one.get("_meta")]
        (info,) = [meta["terminal_info"] for meta in metas if "terminal_info" in meta]
        assert info["cwd"] == str(tmp_path)
        assert "ahoy" in "".join(
            meta["terminal_output"]["data"] for meta in metas if "terminal_output" in meta
        )
        (ended,) = [meta["terminal_exit"] for meta in metas if "terminal_exit" in meta]
        assert (ended["terminal_id"], ended["exit_code"]) == (info["terminal_id"], 3)
