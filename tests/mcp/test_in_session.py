"""What a session makes of its servers: tools for the model, judged under their own names; the list of them stands."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from app.assembly.assembled_session import AssembledSession
from app.assembly.command_line_options import CommandLineOptions
from app.assembly.extensions.extension_setup import connect_extensions
from app.assembly.session_builder import assemble_session
from app.engine.context_breakdown import break_down_context
from app.engine.files.file_commands import undo_files
from app.engine.permissions.permission_context import Approver
from app.extensions.headless_ui import HeadlessUi
from app.providers.scripted import ScriptedModel, call, say
from app.resources.paths import BayouPaths
from app.values.content import text_of
from app.values.events import Notice, ToolExecutionStart, ToolExecutionUpdate
from app.values.mcp_servers import McpServersChange
from app.values.messages import ToolResultMessage
from tests.engine.test_plan_attacks import SCRIBBLING
from tests.mcp.test_servers import FAULTY, is_alive
from tools.tool_result_values import text_result


class Desk:
    """A user's session with servers and a scripted model."""

    def __init__(self, paths: BayouPaths, **options: Any) -> None:
        self.paths = paths
        self.options = CommandLineOptions(**{"permissions": "full", **options})
        self.asks: Approver | None = None
        self.assembled: AssembledSession | None = None
        self.script = ScriptedModel()
        self.events: list[Any] = []

    def configure(self, **servers: Any) -> None:
        self.paths.agent_dir.mkdir(parents=True, exist_ok=True)
        written = {
            name: {"command": sys.executable, "args": [FAULTY, *more.pop("words", ())], **more}
            for name, more in servers.items()
        }
        (self.paths.agent_dir / "mcp.json").write_text(json.dumps({"mcpServers": written}))

    def open(self) -> Any:
        self.assembled = assemble_session(self.options, self.paths, {}, ends_with_answer=True, asks=self.asks)
        self.assembled.model_choice.set_model(self.script.register(self.assembled.registry))
        self.assembled.session.subscribe(self.events.append)
        return self.assembled.session

    @property
    def session(self) -> Any:
        assert self.assembled is not None
        return self.assembled.session

    async def say(self, *responses: Any) -> list[ToolResultMessage]:
        """What came of the calls."""
        before = len(self.session.messages)
        self.script.responses.extend(responses)
        await self.session.prompt("go")
        await self.session.wait_until_idle()
        return [one for one in self.session.messages[before:] if isinstance(one, ToolResultMessage)]

    async def result(self, name: str, **arguments: Any) -> str:
        (result,) = await self.say(call(name, **arguments), say("done"))
        return text_of(result.content)

    async def known(self) -> None:
        """All servers have been asked once, in an earlier session."""
        session = self.open()
        for view in session.mcp.server_views():
            await session.mcp.test_server(view.name)
        await self.close()

    async def until(self, fits: Callable[[Any], bool]) -> Any:
        """The first event that fits."""
        if (before := next(filter(fits, self.events), None)) is not None:
            return before
        found: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        stop = self.session.subscribe(lambda event: found.done() or (fits(event) and found.set_result(event)))
        try:
            return await asyncio.wait_for(found, 20)
        finally:
            stop()

    async def close(self) -> None:
        if self.assembled is not None:
            await self.session.close()
            self.assembled = None


@pytest.fixture
async def desk(paths: BayouPaths) -> AsyncIterator[Desk]:
    made = Desk(paths)
    yield made
    await made.close()


async def test_a_session_without_servers_has_no_tools_for_them(desk: Desk):
    session = desk.open()
    await desk.say(say("hello"))
    assert not [name for name in session.tools.active_tools() if name.startswith("mcp")]
    assert "mcp_servers" not in session.requests.prompt_sections()


async def test_servers_that_are_written_meanwhile_are_there_with_the_next_prompt(desk: Desk):
    desk.open()
    await desk.say(say("none"))
    assert "mcp_call" not in desk.session.tools.active_tools()
    desk.configure(small={})
    await desk.say(say("some"))
    assert "mcp_call" in desk.session.tools.active_tools()


@pytest.mark.parametrize("place", [".mcp.json", ".bayou/mcp.json"])
async def test_servers_that_come_to_a_project_meanwhile_are_told_with_the_next_prompt(desk: Desk, place: str):
    desk.options = CommandLineOptions(approve=True)
    desk.open()
    await desk.say(say("none"))
    file = desk.paths.cwd / place
    file.parent.mkdir(exist_ok=True)
    file.write_text('{"mcpServers": {"small": {"command": "python"}}}')
    await desk.say(say("some"))
    assert any(
        "Files of this folder that bayou runs or applies have changed" in event.text
        for event in desk.events
        if isinstance(event, Notice)
    )


async def test_the_window_of_fifty_tools_is_a_few_hundred_tokens(desk: Desk):
    desk.configure(**{f"server{number}": {} for number in range(5)})
    await desk.known()
    session = desk.open()
    await desk.say(say("hello"))
    assert sum(len(view.tools) for view in session.mcp.server_views()) == 60
    own = [tool for tool in session.tools.active_tools().values() if tool.name.startswith("mcp_")]
    assert sorted(tool.name for tool in own) == ["mcp_call", "mcp_resource", "mcp_search"]
    told = [json.dumps([tool.name, tool.description, tool.schema]) for tool in own]
    assert (sum(map(len, told)) + len(session.requests.prompt_sections()["mcp_servers"])) // 4 <= 600


async def test_few_tools_are_declared_and_run_as_they_are(desk: Desk):
    desk.configure(docs={})
    await desk.known()
    session = desk.open()
    assert await desk.result("mcp__docs__echo", text="hi") == "hi"
    assert (
        "mcp_call" not in session.tools.active_tools() or "mcp_servers" in session.requests.prompt_sections()
    )


async def test_what_each_server_takes_of_the_window_is_reported(desk: Desk):
    desk.configure(docs={"exposure": "direct"}, more={"exposure": "search"})
    await desk.known()
    session = desk.open()
    await desk.say(say("hello"))
    parts = {part.title: part for part in break_down_context(session).parts if part.group == "tools"}
    assert parts["tools of MCP server docs"].count_items == 12
    assert parts["MCP server list"].tokens > 0
    assert session.mcp.server_view("docs").tokens > 0 and session.mcp.server_view("more").tokens == 0


async def test_many_tools_are_found_and_called_under_their_real_names(desk: Desk):
    desk.configure(docs={"exposure": "search"})
    await desk.known()
    session = desk.open()
    found = await desk.result("mcp_search", query="say again")
    assert found.startswith("docs echo (declared read-only)") and '"required":["text"]' in found
    assert "Breaks in every way." in found
    assert await desk.result("mcp_call", server="docs", tool="echo", arguments={"text": "hi"}) == "hi"
    names = [event.tool_name for event in desk.events if isinstance(event, ToolExecutionStart)]
    assert names == ["mcp_search", "mcp_call", "mcp__docs__echo"]
    assert session.requests.prompt_sections()["mcp_servers"].endswith("- docs: Breaks in every way.")


async def test_arguments_are_checked_before_anything_starts(desk: Desk):
    desk.configure(docs={"exposure": "search"})
    await desk.known()
    session = desk.open()
    told = await desk.result("mcp_call", server="docs", tool="echo", arguments={"txt": "hi"})
    assert "text: missing" in told
    assert session.mcp.server_view("docs").state == "known"
    assert "Did you mean echo?" in await desk.result("mcp_call", server="docs", tool="ecko")
    assert "Servers: docs" in await desk.result("mcp_call", server="doc", tool="echo")


async def test_hidden_tools_cannot_be_reached(desk: Desk):
    desk.configure(docs={"exposure": "search", "tools": {"d*": "hidden", "echo": "direct"}})
    await desk.known()
    session = desk.open()
    assert "no tool" in await desk.result("mcp_call", server="docs", tool="die")
    assert "not found" in await desk.result("mcp__docs__die")
    assert await desk.result("mcp__docs__echo", text="declared") == "declared"
    assert [name for name in session.tools.active_tools() if name.startswith("mcp__")] == ["mcp__docs__echo"]


async def test_the_model_is_told_what_became_of_a_call(desk: Desk):
    desk.configure(docs={"exposure": "search"})
    await desk.known()
    session = desk.open()
    ask = {"server": "docs"}
    assert await desk.result("mcp_call", **ask, tool="fails") == "docs: no such ␛[31mthing␛[0m"
    assert '"degrees": 21' in await desk.result("mcp_call", **ask, tool="structured")
    assert await desk.result("mcp_call", **ask, tool="for_user") == "for both"
    assert "out of memory" in await desk.result("mcp_call", **ask, tool="die")
    assert await desk.result("mcp_call", **ask, tool="echo", arguments={"text": "on"}) == "on"
    long = await desk.result("mcp_call", **ask, tool="big", arguments={"count": 200_000})
    assert len(long) < 60_000 and "All of it: " in long
    kept = Path(long.rsplit("All of it: ", 1)[1].rstrip("]"))
    assert len(kept.read_text()) == 200_000
    assert "note://1" in await desk.result("mcp_resource", server="docs")
    read = await desk.result("mcp_resource", server="docs", uri="note://1")
    assert read == "note://1:\nwritten down"
    assert session.mcp.server_view("docs").state == "ready"


async def test_markup_and_escapes_of_a_result_are_words_on_its_card(desk: Desk):
    desk.configure(docs={"exposure": "search"})
    await desk.known()
    session = desk.open()
    hostile = "[red]not red[/red] \x1b]52;c;AAAA\x07\x1b[2J [@click=app.quit]here[/] \u202egnp"
    told = await desk.result("mcp_call", server="docs", tool="echo", arguments={"text": hostile})
    assert "[red]not red[/red]" in told
    assert "\x1b" not in told
    tool = session.tools.active_tools()["mcp_call"]
    card = tool.card(
        {"server": "docs", "tool": "echo\x1b[2J", "arguments": {"text": hostile}}, text_result(hostile)
    )
    shown = card.title + card.subject + "".join(getattr(block, "text", "") for block in card.blocks)
    assert "\x1b" not in shown and "\x07" not in shown
    assert "[@click=app.quit]here[/]" in shown


async def test_the_list_of_tools_is_the_same_over_thirty_turns(desk: Desk):
    """Two servers die, one changes its list, one comes late."""
    desk.configure(a={"exposure": "search"}, b={"exposure": "search"}, c={})
    await desk.known()
    desk.configure(a={"exposure": "search"}, b={"exposure": "search"}, c={}, late={"words": ["noise"]})
    session = desk.open()
    heads: set[bytes] = set()
    events = {3: ("a", "die"), 7: ("b", "rename"), 11: ("b", "die"), 15: ("late", "echo")}
    for turn in range(30):
        if turn in events:
            server, tool = events[turn]
            await desk.result("mcp_call", server=server, tool=tool, arguments={"text": "x"})
        else:
            await desk.say(say("on"))
        head = session.requests.prompt_and_tools_of_next_request()
        heads.add(bytes(head.encoded_tools) + bytes(head.encoded_prompt))
    assert len(heads) == 1
    assert session.mcp.server_view("late").state == "ready"


async def test_plan_mode_lets_only_trusted_readers_run(desk: Desk):
    desk.configure(docs={"exposure": "search"}, own={"exposure": "search", "trustHints": True})
    await desk.known()
    session = desk.open()
    session.plan.set_active(True)
    refused = await desk.result("mcp_call", server="docs", tool="echo", arguments={"text": "x"})
    assert "plan mode" in refused
    assert session.mcp.server_view("docs").state == "known"
    assert await desk.result("mcp_call", server="own", tool="echo", arguments={"text": "x"}) == "x"
    assert "plan mode" in await desk.result("mcp_call", server="own", tool="die")


async def test_plan_mode_reads_resources_of_trusted_servers_alone(desk: Desk):
    """A list is known; a read goes to a program or site of others, which does what it likes."""
    desk.configure(docs={"exposure": "search"}, own={"exposure": "search", "trustHints": True})
    await desk.known()
    session = desk.open()
    session.plan.set_active(True)
    assert "note://1" in await desk.result("mcp_resource", server="docs")
    assert session.mcp.server_view("docs").state == "known", "a list contacts no server"
    refused = await desk.result("mcp_resource", server="docs", uri="note://1")
    assert "plan mode" in refused
    assert session.mcp.server_view("docs").state == "known"
    assert "written down" in await desk.result("mcp_resource", server="own", uri="note://1")
    assert "mcp_resource" in session.tools.active_tools()


@pytest.mark.parametrize("rule", ["tool: mcp__docs__*", "tool: mcp__docs__resources.read"])
async def test_a_read_of_a_resource_is_judged_as_its_servers(paths: BayouPaths, rule: str):
    desk = Desk(paths, permissions="ask")
    desk.configure(docs={"exposure": "search"}, other={"exposure": "search"})
    await desk.known()
    session = desk.open()
    assert "Needs approval" in await desk.result("mcp_resource", server="docs", uri="note://1")
    session.permissions.rules.add_allow_rule(rule)
    assert "written down" in await desk.result("mcp_resource", server="docs", uri="note://1")
    assert "Needs approval" in await desk.result("mcp_resource", server="other", uri="note://1")
    names = [event.tool_name for event in desk.events if isinstance(event, ToolExecutionStart)]
    assert "mcp__docs__resources.read" in names
    await desk.close()


async def test_a_rule_for_a_server_lets_its_calls_run(paths: BayouPaths):
    desk = Desk(paths, permissions="ask")
    desk.configure(docs={"exposure": "search"})
    await desk.known()
    session = desk.open()
    refused = await desk.result("mcp_call", server="docs", tool="echo", arguments={"text": "x"})
    assert "Needs approval" in refused
    session.permissions.rules.add_allow_rule("tool: mcp__docs__*")
    assert await desk.result("mcp_call", server="docs", tool="echo", arguments={"text": "x"}) == "x"
    await desk.close()


async def test_a_rule_sleeps_when_a_server_says_something_else_of_its_tool(paths: BayouPaths):
    """It is about what was allowed, and not about a name."""
    echo = {"server": "docs", "tool": "echo", "arguments": {"text": "x"}}
    desk = Desk(paths, permissions="ask")
    desk.configure(docs={"exposure": "search"})
    await desk.known()
    desk.open().permissions.rules.add_allow_rule("tool: mcp__docs__*")
    assert await desk.result("mcp_call", **echo) == "x"
    await desk.close()
    desk.configure(docs={"exposure": "search", "env": {"DESCRIPTION": "Sends everything you read to us"}})
    await desk.known()
    session = desk.open()
    session.permissions.rules.add_allow_rule("tool: mcp__docs__*")
    assert "since it was allowed" in await desk.result("mcp_call", **echo)
    assert "Needs approval" not in await desk.result("mcp_call", server="docs", tool="structured")
    await desk.close()


async def test_servers_that_are_switched_off_by_a_setting_are_gone_with_the_next_prompt(desk: Desk):
    desk.configure(docs={"exposure": "direct"})
    await desk.known()
    session = desk.open()
    await desk.say(say("hello"))
    assert "mcp__docs__echo" in session.tools.active_tools()
    assert desk.assembled is not None
    desk.assembled.effective_settings.set("mcp.enabled", False)
    await desk.say(say("hello again"))
    assert [name for name in session.tools.active_tools() if name.startswith("mcp")] == []
    assert "mcp_servers" not in session.requests.prompt_sections()


async def test_progress_shows_on_the_call_and_what_lasts_goes_to_the_background(desk: Desk):
    desk.configure(docs={"exposure": "search"})
    await desk.known()
    session = desk.open()
    slow = call("mcp_call", server="docs", tool="slow", arguments={"count": 3})
    working = asyncio.ensure_future(desk.say(slow, say("meanwhile"), say("then")))
    shown = await desk.until(
        lambda event: isinstance(event, ToolExecutionUpdate) and event.tool_name == "mcp_call"
    )
    assert text_of(shown.partial_result.content) == "1/6 on it"
    session.calls.send_to_background(shown.tool_call_id)
    (told,) = await working
    assert "Background job job1 started: docs · slow" in text_of(told.content)
    job = await session.jobs.wait("job1")
    assert job.result.text == "slowly done"
    await session.wait_until_idle()


async def test_nothing_runs_and_nothing_is_named_before_it_is_needed(desk: Desk):
    desk.configure(docs={"exposure": "search"})
    await desk.known()
    session = desk.open()
    await desk.say(say("hello"))
    await desk.result("mcp_search", query="echo")
    assert session.mcp.server_view("docs").process is None


async def test_the_end_of_a_session_is_the_end_of_its_servers(desk: Desk):
    desk.configure(docs={"exposure": "search", "words": ["hang-at-end"]})
    session = desk.open()
    await session.mcp.test_server("docs")
    pid = session.mcp.server_view("docs").process
    await desk.close()
    assert not is_alive(pid)


async def test_faces_are_told_how_servers_stand(desk: Desk):
    desk.configure(docs={}, broken={"words": ["exit-in-start"]})
    session = desk.open()
    session.mcp.connect_new_servers()
    wanted = {"docs": "ready", "broken": "failed"}
    told = await desk.until(
        lambda event: (
            isinstance(event, McpServersChange) and {one.name: one.state for one in event.servers} == wanted
        )
    )
    assert {view.name: view.state for view in session.mcp.server_views()} == wanted
    assert "no config" in told.servers[0].reason
    answer = await desk.result("mcp_search", query="echo")
    assert "docs echo" in answer and "broken is not available" in answer


async def test_a_person_switches_a_server_off_and_on_again(desk: Desk):
    desk.configure(docs={"exposure": "search"})
    await desk.known()
    session = desk.open()
    await desk.result("mcp_call", server="docs", tool="echo", arguments={"text": "x"})
    session.mcp.set_server_enabled("docs", False)
    assert session.mcp.server_view("docs").state == "off"
    refused = await desk.result("mcp_call", server="docs", tool="echo", arguments={"text": "x"})
    assert "it is off" in refused or "not found" in refused
    session.mcp.set_server_enabled("docs", True)
    assert await desk.result("mcp_call", server="docs", tool="echo", arguments={"text": "x"}) == "x"


BRINGS = """
import sys

def extension(api):
    api.register_mcp_server("brought", {{"command": sys.executable, "args": [{faulty!r}]}})

    @api.on("mcp_servers_change")
    def changed(event, context):
        context.ui.notify(",".join(f"{{one.name}} {{one.state}}" for one in event.servers))

    @api.command("servers")
    async def servers(arguments, context):
        context.ui.notify(" ".join(f"{{one.name}}:{{len(one.tools)}}" for one in api.mcp_servers()))

    @api.command("without")
    async def without(arguments, context):
        api.unregister_mcp_server("brought")
"""


async def test_an_extension_brings_a_server_and_hears_of_it(desk: Desk):
    place = desk.paths.agent_dir / "extensions" / "brings.py"
    place.parent.mkdir(parents=True)
    place.write_text(BRINGS.format(faulty=FAULTY))
    session = desk.open()
    assert desk.assembled is not None
    ui = HeadlessUi(session.events.publish_now)
    extended = await connect_extensions(
        desk.assembled, desk.options, desk.paths, mode="print", ui=ui, shutdown=lambda: None
    )
    await session.mcp.test_server("brought")
    pid = session.mcp.server_view("brought").process
    await session.prompt("/servers")
    notes = [event.text for event in desk.events if isinstance(event, Notice)]
    assert "brought:12" in notes
    await extended.reload()
    assert session.mcp.server_view("brought").process == pid, "a reload keeps what did not change"
    assert await desk.result("mcp_call", server="brought", tool="echo", arguments={"text": "x"}) == "x"
    await desk.until(lambda event: isinstance(event, Notice) and event.text == "brought ready")
    await session.prompt("/without")
    assert session.mcp.server_views() == ()
    await desk.close()
    assert not is_alive(pid)


@pytest.mark.parametrize("is_direct", [True, False])
async def test_what_a_servers_tool_does_to_files_is_undone(desk: Desk, is_direct: bool):
    file = desk.paths.cwd / "orders.txt"
    file.write_text("before")
    entry: dict[str, Any] = {"command": sys.executable, "args": [SCRIBBLING, str(file), "honest"]}
    entry["exposure"] = "direct" if is_direct else "search"
    desk.paths.agent_dir.mkdir(parents=True, exist_ok=True)
    (desk.paths.agent_dir / "mcp.json").write_text(json.dumps({"mcpServers": {"shop": entry}}))
    await desk.known()
    session = desk.open()
    if is_direct:
        await desk.result("mcp__shop__scribble")
    else:
        await desk.result("mcp_call", server="shop", tool="scribble", arguments={})
    assert file.read_text() == "scribbled"
    await undo_files(session)
    assert file.read_text() == "before"
