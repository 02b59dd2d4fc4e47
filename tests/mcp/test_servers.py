"""Servers as processes: what is known of them, how calls go, and that their faults stay their own."""

import asyncio
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from app.mcp.managed_server import ManagedMcpServer
from app.mcp.mcp_server_manifest import McpManifestStore
from app.mcp.server_config_entries import McpServerConfig
from app.mcp.server_context import MAX_MCP_LOG_FILE_BYTES, McpServerContext, McpServerLog
from app.mcp.server_errors import (
    McpConnectionLost,
    McpRequestRefused,
    McpRequestTimedOut,
    McpServerUnavailable,
)
from app.mcp.server_registry import McpServerRegistry
from app.mcp.stdio_process import environment_for_mcp_server
from tests.architecture.sources import ROOT
from tools.running.local_processes import LocalProcesses

FAULTY = str(Path(__file__).with_name("faulty.py"))


class Place:
    """The environment of a test's servers, and the reports about them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.processes = LocalProcesses()
        self.now: float | None = None
        self.asked: list[Any] = []
        self.lives: list[ManagedMcpServer] = []
        self.changed = asyncio.Event()
        self.ground = McpServerContext(
            processes=lambda: self.processes,
            working_folder=lambda: folder,
            environment=lambda: environment_for_mcp_server(os.environ),
            ask_elicitation=self._elicit,
            manifests=McpManifestStore(folder / "manifests"),
            log_folder=folder / "logs",
            now=lambda: time.monotonic() if self.now is None else self.now,
        )

    async def _elicit(self, server: str, params: dict[str, Any]) -> dict[str, Any]:
        self.asked.append((server, params["message"]))
        return {"action": "accept", "content": {"name": "Ada"}}

    def life(self, *words: str, **more: Any) -> ManagedMcpServer:
        config = McpServerConfig(name="docs", command=sys.executable, args=(FAULTY, *words), **more)
        life = ManagedMcpServer(config, self.ground, self.changed.set)
        self.lives.append(life)
        return life

    async def until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(20):
            while not holds():
                self.changed.clear()
                if not holds():
                    await self.changed.wait()


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    made = Place(tmp_path)
    yield made
    for life in made.lives:
        await life.disconnect()
    made.processes.close()


def is_alive(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def children_of(pid: int) -> list[int]:
    found = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(one) for one in found]


@asynccontextmanager
async def ended_within(seconds: float, *pids: int) -> AsyncIterator[None]:
    began = time.monotonic()
    yield
    while any(is_alive(pid) for pid in pids):
        assert time.monotonic() - began < seconds + 2  # The machine may be busy; the order of it counts.
        await asyncio.sleep(0.02)


async def test_what_a_server_offers_is_known_the_next_time_without_asking(place: Place):
    life = place.life()
    assert life.state == "new"
    await life.connect_if_needed()
    assert life.state == "ready"
    again = place.life()
    assert again.state == "known"
    assert again.manifest == life.manifest
    assert again.manifest is not None and again.manifest.tools[0].says_read_only
    assert [one.name for one in again.manifest.prompts] == ["greet"]
    assert [one.uri for one in again.manifest.resources] == ["note://1"]
    assert again.manifest.greeting.era == "2025-11-25"


async def test_one_start_for_all_who_ask_at_the_same_time(place: Place):
    life = place.life()
    links = await asyncio.gather(*(life.connect_if_needed() for _ in range(5)))
    assert len({id(link) for link in links}) == 1


async def test_calls_go_and_come_back(place: Place):
    life = place.life()
    answer = await life.call_tool("echo", {"text": "hello"})
    assert answer["content"] == [{"type": "text", "text": "hello"}]
    assert (await life.call_tool("structured", {}))["structuredContent"] == {"degrees": 21}
    assert (await life.read_resource("note://1"))["contents"][0]["text"] == "written down"
    assert (await life.get_prompt("greet", {"who": "Ada"}))["messages"][0]["content"]["text"] == "Greet Ada"


async def test_a_server_is_told_the_folder_and_may_ask_the_person(place: Place):
    life = place.life()
    assert place.folder.as_uri() in (await life.call_tool("roots", {}))["content"][0]["text"]
    assert "Ada" in (await life.call_tool("ask", {}))["content"][0]["text"]
    assert place.asked == [("docs", "Who?")]


async def test_progress_is_a_sign_of_life(place: Place):
    told: list[Any] = []
    life = place.life(timeout=1.0)
    answer = await life.call_tool("slow", {"count": 6}, lambda *progress: told.append(progress))
    assert answer["content"][0]["text"] == "slowly done"
    assert told[0] == (1, 6, "on it")


async def test_a_call_without_any_ends_at_its_limit(place: Place):
    life = place.life(timeout=0.3)
    with pytest.raises(McpRequestTimedOut, match=r"no answer or progress for 0\.3 s"):
        await life.call_tool("slow", {"count": 3})


async def test_a_call_that_is_cancelled_is_told_to_the_server(place: Place):
    life = place.life()
    await life.connect_if_needed()
    begun = asyncio.Event()
    task = asyncio.ensure_future(life.call_tool("slow", {"count": 50}, lambda *_: begun.set()))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await life.call_tool("echo", {"text": "what was said before it has been heard"})
    assert "was cancelled" in life.log.last_lines()
    assert life.state == "ready"


async def test_lists_that_change_in_a_burst_are_read_once_more(place: Place):
    life = place.life()
    await life.call_tool("rename", {})
    await place.until(lambda: life.manifest is not None and life.manifest.tools[0].name == "repeat")


async def test_a_flood_on_standard_error_is_cut_and_no_log_grows_for_ever(place: Place):
    life = place.life("flood")
    assert (await life.call_tool("echo", {"text": "fine"}))["content"][0]["text"] == "fine"
    await life.disconnect()
    assert life.log.path is not None
    written = [*life.log.path.parent.iterdir()]
    assert sum(path.stat().st_size for path in written) < 3_500_000
    assert all(path.stat().st_mode & 0o077 == 0 for path in written)
    assert sum(map(len, life.log.last_lines(10_000))) < 30_000


async def test_a_log_is_named_once_something_stands_in_it(place: Place):
    life = place.life("flood")
    assert life.log.existing_file is None
    await life.call_tool("echo", {"text": "fine"})
    await life.disconnect()
    assert life.log.existing_file is not None and life.log.existing_file.read_bytes()


def test_a_log_that_is_full_makes_room_before_it_goes_on(tmp_path: Path) -> None:
    log = McpServerLog(tmp_path / "docs.log")
    (tmp_path / "docs.log").write_bytes(b"x" * (MAX_MCP_LOG_FILE_BYTES + 1))
    log.write_note("late")
    assert log.existing_file is not None and log.existing_file.read_text() == "late\n"
    assert (tmp_path / "docs.log.1").stat().st_size == MAX_MCP_LOG_FILE_BYTES + 1


async def test_noise_is_kept_apart(place: Place):
    life = place.life("noise")
    assert (await life.call_tool("echo", {"text": "fine"}))["content"][0]["text"] == "fine"
    lines = "\n".join(life.log.last_lines())
    assert "Hello from a chatty  library" in lines and "\x1b" not in lines


async def test_a_server_that_exits_says_why(place: Place):
    life = place.life("exit-in-start")
    with pytest.raises(
        McpServerUnavailable, match=r'docs is not available: the program exited with code 3 \("no config"\)\.'
    ):
        await life.connect_if_needed()
    assert life.state == "failed"


async def test_a_program_that_is_not_there(place: Place):
    config = McpServerConfig(name="docs", command="no-such-program")
    life = ManagedMcpServer(config, place.ground, place.changed.set)
    with pytest.raises(McpServerUnavailable, match="no-such-program: No such file or directory"):
        await life.connect_if_needed()


async def test_a_server_that_hangs_in_its_start_is_given_up_with_its_process(place: Place):
    life = place.life("hang-in-start", start_timeout=0.8)
    with pytest.raises(McpServerUnavailable, match=r"did not answer within 0\.8 s"):
        await life.connect_if_needed()
    assert life.pid is None


async def test_a_server_that_dies_in_a_call_is_started_anew_and_the_call_is_not_repeated(place: Place):
    life = place.life()
    with pytest.raises(
        McpConnectionLost,
        match=r'the program exited with code 7 \("out of memory"\).*check before you call again',
    ):
        await life.call_tool("die", {})
    assert life.state == "known"
    assert (await life.call_tool("echo", {"text": "again"}))["content"][0]["text"] == "again"


async def test_a_server_that_is_killed_in_a_call_is_reported(place: Place):
    life = place.life()
    await life.connect_if_needed()
    heard = asyncio.Event()
    calling = asyncio.ensure_future(
        life.call_tool("slow", {"count": 50}, lambda done, total, message: heard.set())
    )
    await heard.wait()
    assert life.pid is not None
    os.kill(life.pid, signal.SIGKILL)
    with pytest.raises(
        McpConnectionLost, match=r"the program was killed by signal 9.*The call may have been carried out"
    ):
        await calling
    assert (await life.call_tool("echo", {"text": "on"}))["content"][0]["text"] == "on"


async def test_three_failures_in_a_minute_and_it_is_left_alone_for_a_while(place: Place):
    place.now = 100.0
    life = place.life("exit-in-start")
    for _ in range(3):
        with pytest.raises(McpServerUnavailable):
            await life.connect_if_needed()
    with pytest.raises(McpServerUnavailable, match=r"Next attempt in 30 s\.$"):
        await life.connect_if_needed()
    place.now = 131.0
    with pytest.raises(McpServerUnavailable, match=r"Next attempt in 60 s\.$"):
        await life.connect_if_needed()
    await life.reset_connection()
    assert life.seconds_until_retry == 0


async def test_nothing_is_left_of_a_server_that_does_not_want_to_end(place: Place):
    life = place.life("hang-at-end")
    await life.connect_if_needed()
    pid = life.pid
    assert pid is not None
    async with ended_within(1.2, pid, *children_of(pid)):
        await life.disconnect()


HOLDS = """
import asyncio, os, sys, time
from pathlib import Path
sys.path.insert(0, {root!r})
from app.mcp.server_context import McpServerContext
from app.mcp.server_config_entries import McpServerConfig
from app.mcp.stdio_process import environment_for_mcp_server
from app.mcp.managed_server import ManagedMcpServer
from app.mcp.server_context import MAX_MCP_LOG_FILE_BYTES, McpServerLog
from tools.running.local_processes import LocalProcesses

async def hold():
    processes = LocalProcesses()
    ground = McpServerContext(
        processes=lambda: processes, working_folder=Path.cwd, environment=lambda: environment_for_mcp_server(os.environ)
    )
    config = McpServerConfig(name="docs", command=sys.executable, args=({faulty!r}, "hang-at-end"))
    life = ManagedMcpServer(config, ground, lambda: None)
    await life.connect_if_needed()
    print(life.pid, flush=True)
    await asyncio.sleep(1000)

asyncio.run(hold())
"""


async def test_no_server_outlives_a_bayou_that_was_killed(tmp_path: Path):
    program = HOLDS.format(root=str(ROOT), faulty=FAULTY)
    holder = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, stdout=asyncio.subprocess.PIPE, cwd=tmp_path
    )
    assert holder.stdout is not None
    server = int(await holder.stdout.readline())
    its_own = children_of(server)
    assert is_alive(server) and its_own
    async with ended_within(1.2, server, *its_own):
        holder.kill()
        await holder.wait()


async def test_a_line_of_twenty_megabytes_is_an_answer_and_one_of_65_is_none(place: Place):
    life = place.life()
    assert len((await life.call_tool("big", {"count": 20_000_000}))["content"][0]["text"]) == 20_000_000
    with pytest.raises(McpConnectionLost, match="a line of more than 64 MB"):
        await life.call_tool("big", {"count": 68_000_000})
    assert (await life.call_tool("echo", {"text": "still here"}))["content"][0]["text"] == "still here"


async def test_an_answer_that_is_nested_too_deeply_fails_the_call_at_once(place: Place):
    life = place.life()
    with pytest.raises(McpRequestRefused, match="its answer cannot be read: Invalid JSON: recursion limit"):
        await life.call_tool("deep", {"count": 50_000})
    assert (await life.call_tool("echo", {"text": "still here"}))["content"][0]["text"] == "still here"


async def test_a_refusal_is_in_the_servers_words(place: Place):
    life = place.life()
    with pytest.raises(McpRequestRefused, match="docs: no such method"):
        await life.complete_argument({"type": "ref/prompt", "name": "greet"}, "who", "", {})


async def test_a_list_that_no_client_can_read_says_what_is_wrong_in_it(place: Place):
    life = place.life("broken-list")
    with pytest.raises(
        McpServerUnavailable, match=r"does not follow the protocol: tools\.0\.inputSchema\.properties"
    ):
        await life.connect_if_needed()
    assert life.pid is None


@pytest.mark.parametrize("words", [("liar",), ("hostile",), ("many",)])
async def test_lists_that_lie_are_made_sound(place: Place, words: tuple[str, ...]):
    life = place.life(*words)
    hub = McpServerRegistry(place.ground)
    hub.set_servers([life.config])
    view = await hub.test_server("docs")
    for tool in view.tools:
        assert tool.full_name.replace("_", "a").replace("-", "a").isalnum() and len(tool.full_name) <= 64
        assert "\x1b" not in tool.description and "\u202e" not in tool.description
    for tool in view.tools[:3]:
        assert hub.find_tool("docs", tool.name) is not None
        assert not set("\x1b\u202e") & set(tool.name)
    assert len({tool.full_name for tool in view.tools}) == len(view.tools) == len(hub.all_tools())
    for entry in hub.all_tools().values():
        assert entry.tool.schema["type"] == "object" and isinstance(entry.tool.schema["properties"], dict)
    await hub.end_servers()


async def test_servers_that_did_not_change_keep_their_connection(place: Place):
    config = McpServerConfig(name="docs", command=sys.executable, args=(FAULTY,))
    hub = McpServerRegistry(place.ground)
    hub.set_servers([config])
    await hub.require_server("docs").connect_if_needed()
    pid = hub.require_server("docs").pid
    hub.set_servers([msgspec.structs.replace(config, exposure="direct")])
    assert hub.require_server("docs").pid == pid
    hub.set_servers([msgspec.structs.replace(config, args=(FAULTY, "noise"))])
    assert hub.require_server("docs").pid is None
    await hub.end_servers()
    assert pid is not None and not is_alive(pid)


async def test_servers_of_a_folder_without_trust_are_neither_started_nor_named(place: Place):
    config = McpServerConfig(name="theirs", command=sys.executable, args=(FAULTY,), origin="project")
    hub = McpServerRegistry(place.ground)
    hub.set_servers([], [config])
    hub.connect_new_servers()
    assert [life.state for life in hub.servers] == ["untrusted"]
    assert hub.usable_servers == () and hub.all_tools() == {} and hub.require_server("theirs").pid is None
    with pytest.raises(McpServerUnavailable, match="not trusted"):
        await hub.require_server("theirs").connect_if_needed()
