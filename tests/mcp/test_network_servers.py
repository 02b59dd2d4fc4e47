"""Servers on the network, real ones on the SDK: streamable HTTP and the old SSE, and what comes of it when one goes."""

import asyncio
import contextlib
import os
import resource
import socket
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Literal

import pytest

from app.mcp.http_transport import make_mcp_http_transport
from app.mcp.managed_server import ManagedMcpServer
from app.mcp.mcp_server_manifest import McpManifestStore
from app.mcp.mcp_token_store import McpTokenStore
from app.mcp.server_config_entries import McpServerConfig
from app.mcp.server_context import McpServerContext
from app.mcp.server_errors import McpConnectionLost, McpRequestTimedOut, McpServerUnavailable
from app.values.user_errors import UserError
from tests.mcp.guarded_server import GuardedServer
from tools.running.local_processes import LocalProcesses

Kind = Literal["sse", "streamable-http"]
SERVED = str(Path(__file__).with_name("served.py"))
every_kind = pytest.mark.parametrize("kind", ["sse", "streamable-http"])


class Served:
    """A server that can go and come back at the same address."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self._process: asyncio.subprocess.Process | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/{'sse' if self.kind == 'sse' else 'mcp'}"

    async def start(self) -> None:
        self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, SERVED, self.kind, str(self.port)),
            stderr=asyncio.subprocess.PIPE,
            env={"PATH": os.environ["PATH"]},
        )
        assert self._process.stderr is not None
        async with asyncio.timeout(60):
            while line := await self._process.stderr.readline():
                if b"running on" in line:
                    return
        raise AssertionError("it did not start")

    async def kill(self) -> None:
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
        if self._process is not None:
            await self._process.wait()


class Place:
    def __init__(self, served: Served, folder: Path) -> None:
        self.served = served
        self.processes = LocalProcesses()
        self.changed = asyncio.Event()
        sign_ins = McpTokenStore(folder / "mcp-auth.json")
        ground = McpServerContext(
            processes=lambda: self.processes,
            working_folder=lambda: folder,
            environment=dict,
            remote_transport=lambda config, log: make_mcp_http_transport(config, sign_ins),
            manifests=McpManifestStore(folder / "manifests"),
            log_folder=folder / "logs",
        )
        config = McpServerConfig(
            name="far",
            type="sse" if served.kind == "sse" else "http",
            url=served.url,
            start_timeout=20,
            timeout=20,
        )
        self.life = ManagedMcpServer(config, ground, self.changed.set)

    async def echo(self, text: str) -> str:
        answer = await self.life.call_tool("echo", {"text": text})
        return answer["content"][0]["text"]

    async def until_state(self, state: str) -> None:
        async with asyncio.timeout(20):
            while self.life.state != state:
                self.changed.clear()
                if self.life.state != state:
                    await self.changed.wait()


@pytest.fixture
async def place(kind: Kind, tmp_path: Path) -> AsyncIterator[Place]:
    served = Served(kind)
    await served.start()
    made = Place(served, tmp_path)
    yield made
    await made.life.disconnect()
    made.processes.close()
    await served.kill()


@every_kind
async def test_it_is_met_called_and_read(place: Place):
    await place.life.connect_if_needed()
    manifest = place.life.manifest
    assert manifest is not None
    assert [tool.name for tool in manifest.tools] == ["echo", "slow", "die"]
    assert manifest.instructions == "Served over the network."
    assert await place.echo("hi") == "hi"
    told: list[float] = []
    answer = await place.life.call_tool("slow", {"steps": 3}, lambda done, total, message: told.append(done))
    assert answer["content"][0]["text"] == "slowly done"
    assert told == [1, 2, 3]
    read = await place.life.read_resource("note://1")
    assert read["contents"][0]["text"] == "written down"


@every_kind
async def test_one_that_was_started_anew_between_two_calls_is_met_anew(place: Place):
    """No server received the second call before, so its outcome is certain."""
    assert await place.echo("one") == "one"
    await place.served.kill()
    await place.served.start()
    assert await place.echo("two") == "two"
    assert place.life.state == "ready"


@every_kind
async def test_one_that_dies_in_a_call_is_reported_and_the_call_is_not_repeated(place: Place):
    assert await place.echo("one") == "one"
    with pytest.raises(McpConnectionLost, match="The call may have been carried out"):
        await place.life.call_tool("die", {})
    with pytest.raises(McpServerUnavailable, match=rf"127\.0\.0\.1:{place.served.port} cannot be reached"):
        await place.echo("two")
    await place.life.reset_connection()
    await place.served.kill()
    await place.served.start()
    assert await place.echo("three") == "three"


@pytest.mark.parametrize("kind", ["sse"])
async def test_a_stream_that_ends_is_noticed_before_anybody_asks(place: Place):
    await place.life.connect_if_needed()
    await place.served.kill()
    await place.until_state("known")


@every_kind
async def test_a_call_that_says_nothing_ends_at_its_limit(place: Place):
    await place.life.connect_if_needed()
    place.life.config = McpServerConfig(
        name="far", type=place.life.config.type, url=place.served.url, timeout=0.1
    )
    with pytest.raises(McpRequestTimedOut, match=r"far failed: no answer or progress for 0\.1 s"):
        await place.life.call_tool("slow", {"steps": 50})


@pytest.mark.parametrize("kind", ["streamable-http"])
async def test_an_address_that_does_not_speak_sse_is_explained(place: Place):
    place.life.config = McpServerConfig(name="far", type="sse", url=place.served.url, start_timeout=20)
    with pytest.raises(McpServerUnavailable) as told:
        await place.life.connect_if_needed()
    assert str(told.value) == "far is not available: the server answered 400 Bad Request."


@pytest.mark.parametrize("kind", ["sse"])
async def test_an_address_that_speaks_sse_alone_is_explained(place: Place):
    place.life.config = McpServerConfig(name="far", type="http", url=place.served.url, start_timeout=20)
    with pytest.raises(McpServerUnavailable) as told:
        await place.life.connect_if_needed()
    assert 'for an old server set "type": "sse"' in str(told.value)


@contextlib.asynccontextmanager
async def life_with(server: GuardedServer, folder: Path) -> AsyncIterator[ManagedMcpServer]:
    processes = LocalProcesses()
    ground = McpServerContext(
        processes=lambda: processes,
        working_folder=lambda: folder,
        environment=dict,
        remote_transport=lambda config, log: make_mcp_http_transport(
            config, McpTokenStore(folder / "mcp-auth.json")
        ),
    )
    life = ManagedMcpServer(McpServerConfig(name="far", type="http", url=server.url), ground, lambda: None)
    try:
        yield life
    finally:
        await life.disconnect()
        processes.close()
        server.close()


async def test_a_forgotten_session_is_renewed_and_the_call_is_made_once(
    tmp_path: Path,
):
    """It says that it does not know us, so it has done nothing."""
    server = GuardedServer()
    server.needs_sign_in, server.sessions = False, set()
    async with life_with(server, tmp_path) as life:
        await life.call_tool("echo", {})
        server.sessions.clear()
        assert (await life.call_tool("echo", {}))["content"][0]["text"] == "heard"
        assert server.calls == 2
        assert len(server.sessions) == 1


@pytest.mark.parametrize("encoding", ["", "gzip", "deflate"])
@pytest.mark.parametrize("kind_of_answer", ["application/json", "text/event-stream"])
async def test_an_answer_without_an_end_is_not_read_to_it(tmp_path: Path, kind_of_answer: str, encoding: str):
    """Nor what becomes of it: a little that is packed can be a thousand times as long."""
    server = GuardedServer()
    server.needs_sign_in, server.flood, server.encoding = False, kind_of_answer, encoding
    before = most_memory()
    async with life_with(server, tmp_path) as life:
        with pytest.raises(UserError, match="the server sent an answer of more than 64 MB"):
            await life.call_tool("echo", {})
        assert most_memory() - before < 400_000_000
        server.flood = ""
        assert (await life.call_tool("echo", {}))["content"][0]["text"] == "heard"


def most_memory() -> int:
    """Bytes that this process has had at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


async def test_an_answer_in_events_may_be_as_long_as_any_other(tmp_path: Path):
    server = GuardedServer()
    server.needs_sign_in, server.events = False, "long " * 1_000_000
    async with life_with(server, tmp_path) as life:
        assert (await life.call_tool("echo", {}))["content"][0]["text"] == server.events


async def test_a_stream_of_events_that_ends_without_the_answer_is_reported(tmp_path: Path):
    server = GuardedServer()
    server.needs_sign_in, server.events = False, "nothing"
    async with life_with(server, tmp_path) as life:
        with pytest.raises(UserError, match="the event stream ended without an answer"):
            await life.call_tool("echo", {})


async def test_an_answer_that_is_not_packed_as_it_says_is_reported(tmp_path: Path):
    server = GuardedServer()
    server.needs_sign_in, server.mislabelled = False, True
    async with life_with(server, tmp_path) as life:
        with pytest.raises(UserError, match="cannot be decompressed"):
            await life.call_tool("echo", {})
