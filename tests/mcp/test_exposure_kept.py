"""What `auto` was decided to mean stays so in a session: resumed, forked, left for another one and come back to."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from app.engine.mcp.mcp_exposure import MCP_EXPOSURE_ENTRY_TYPE
from app.providers.scripted import say
from app.resources.paths import BayouPaths
from app.sessions.session_log import SessionLog
from app.values.entries import CustomEntry
from app.values.mcp_servers import McpServersChange
from tests.mcp.test_in_session import Desk


@pytest.fixture
async def desk(paths: BayouPaths) -> AsyncIterator[Desk]:
    made = Desk(paths)
    yield made
    await made.close()


def head_of(session: Any) -> bytes:
    head = session.requests.prompt_and_tools_of_next_request()
    return bytes(head.encoded_tools) + bytes(head.encoded_prompt)


def declared(session: Any) -> list[str]:
    return [name for name in session.tools.active_tools() if name.startswith("mcp__")]


def kept_in(path: Path) -> list[Any]:
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return [line["data"] for line in lines if line.get("customType") == MCP_EXPOSURE_ENTRY_TYPE]


async def begun(desk: Desk, **servers: Any) -> tuple[Path, bytes]:
    """A session in which one was decided, and its head."""
    desk.configure(**servers)
    await desk.known()
    session = desk.open()
    await desk.say(say("hello"))
    found = session.log.path, head_of(session)
    assert found[0] is not None
    await desk.close()
    return found


async def known_too(desk: Desk, **servers: Any) -> None:
    """More servers than were there then."""
    desk.configure(**servers)
    await desk.known()


def resumed(desk: Desk, path: Path) -> Any:
    desk.options = type(desk.options)(permissions="full", session=str(path))
    return desk.open()


async def test_a_session_that_is_resumed_has_the_same_list_of_tools(desk: Desk):
    """However the settings and the servers would decide it now."""
    path, head = await begun(desk, docs={})
    assert kept_in(path) == [{"auto": "direct", "servers": ["docs"]}]
    session = resumed(desk, path)
    assert desk.assembled is not None
    desk.assembled.effective_settings.set("mcp.directTokens", 1)
    await desk.say(say("again"))
    assert len(declared(session)) == 12
    assert head_of(session) == head
    assert kept_in(path) == [{"auto": "direct", "servers": ["docs"]}], "said once"
    await desk.close()
    desk.options = type(desk.options)(permissions="full")
    session = desk.open()
    assert desk.assembled is not None
    desk.assembled.effective_settings.set("mcp.directTokens", 1)
    await desk.say(say("a new one decides by itself"))
    assert declared(session) == []


async def test_a_server_that_came_between_is_found_by_a_search(desk: Desk):
    path, _ = await begun(desk, docs={})
    await known_too(desk, docs={}, late={})
    session = resumed(desk, path)
    await desk.say(say("again"))
    assert {name.split("__")[1] for name in declared(session)} == {"docs"}
    assert session.mcp.server_view("late").reach == "search"


async def test_a_fork_and_the_way_back_have_it_too(desk: Desk):
    path, head = await begun(desk, docs={})
    session = resumed(desk, path)
    assert desk.assembled is not None
    await desk.say(say("again"))
    desk.assembled.effective_settings.set("mcp.directTokens", 1)
    await session.branches.fork(session.log.leaf_id, "at")
    desk.assembled.model_choice.set_model(desk.script.model)
    await desk.say(say("in the fork"))
    assert session.log.path != path
    assert head_of(session) == head
    await session.branches.open_session(SessionLog.create(session.log.path.parent, desk.paths.cwd), "new")
    desk.assembled.model_choice.set_model(desk.script.model)
    await desk.say(say("in a new one"))
    assert declared(session) == []
    await session.branches.open_session(SessionLog.open(path), "resume")
    desk.assembled.model_choice.set_model(desk.script.model)
    await desk.say(say("back"))
    assert head_of(session) == head


async def test_a_persons_wish_counts_and_is_kept(desk: Desk):
    path, _ = await begun(desk, docs={})
    session = resumed(desk, path)
    await desk.say(say("again"))
    assert desk.assembled is not None
    desk.assembled.effective_settings.set("mcp.directTokens", 1)
    session.mcp.set_exposure("docs", "search")
    await desk.say(say("as they wish"))
    assert declared(session) == []
    session.mcp.set_exposure("docs", "auto")
    await desk.say(say("and again"))
    assert [one["auto"] for one in kept_in(path)][-1] == "search"
    await desk.close()
    session = resumed(desk, path)
    await desk.say(say("later"))
    assert declared(session) == []


@pytest.mark.parametrize(
    "data",
    [
        None,
        7,
        [],
        {},
        {"auto": "hidden", "servers": []},
        {"auto": "direct", "servers": 3},
        {"auto": "direct", "servers": ["../../x", "\x1b[2J"]},
        {"auto": {"a": [1] * 100}, "servers": [None]},
    ],
)
async def test_an_entry_that_says_nonsense_is_no_fault(desk: Desk, data: Any):
    path, _ = await begun(desk, docs={"exposure": "direct"}, more={})
    lines = path.read_text().splitlines()
    at, written = next(
        (n, json.loads(line)) for n, line in enumerate(lines) if MCP_EXPOSURE_ENTRY_TYPE in line
    )
    lines[at] = json.dumps({**written, "data": data})
    path.write_text("\n".join(lines) + "\n")
    session = resumed(desk, path)
    await desk.say(say("again"))
    assert "mcp__docs__echo" in declared(session)
    assert not [event for event in desk.events if isinstance(event, McpServersChange) and not event.servers]


async def test_what_has_grown_beyond_all_measure_is_declared_no_more(desk: Desk):
    path, _ = await begun(desk, docs={})
    await known_too(desk, docs={"words": ["many"]})
    session = resumed(desk, path)
    await desk.say(say("again"))
    assert declared(session) == []
    assert kept_in(path)[-1] == {"auto": "search", "servers": ["docs"]}


async def test_a_session_without_servers_keeps_nothing_of_them(desk: Desk):
    session = desk.open()
    await desk.say(say("hello"))
    assert not [entry for entry in session.log.entries if isinstance(entry, CustomEntry)]
