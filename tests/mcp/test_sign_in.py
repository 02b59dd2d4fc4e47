"""Signing in to servers on the network: once by a person, then by what is stored, for every process at once."""

import asyncio
import base64
import json
import os
import threading
import urllib.request
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import httpx2
import pytest
from mcp.client.session import ClientSession

from app.mcp.http_transport import (
    make_mcp_http_client_factory,
    make_mcp_http_transport,
    sign_in_to_mcp_server_with_browser,
)
from app.mcp.mcp_oauth import StoredMcpTokenAuth, forbidden_sign_in_address_reason, is_private_network_url
from app.mcp.mcp_token_store import McpTokenStore
from app.mcp.server_config_entries import McpOAuthConfig, McpServerConfig
from app.mcp.server_errors import McpServerUnavailable, McpSignInRequired
from app.values.user_errors import FileError
from tests.architecture.sources import ROOT
from tests.mcp.guarded_server import GuardedServer, last_page
from tests.support.warm_bayou import BAYOU


class Browser:
    """A person who agrees, on this machine or on another."""

    def __init__(self, *, is_elsewhere: bool = False) -> None:
        self.opened: list[str] = []
        self._is_elsewhere = is_elsewhere
        self._pasted: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def open_url(self, url: str, instructions: str) -> None:
        self.opened.append(url)
        if self._is_elsewhere:
            self._pasted.set_result(await asyncio.to_thread(last_page, url))
        else:
            self._page = asyncio.ensure_future(asyncio.to_thread(_fetch, url))

    async def prompt(self, question: str) -> str:
        return await self._pasted

    async def show_code(self, code: str, url: str, seconds: float) -> None: ...

    async def select(self, question: str, options: Sequence[tuple[str, str]]) -> str:
        return ""

    def progress(self, text: str) -> None: ...


def _fetch(url: str) -> None:
    urllib.request.urlopen(url, timeout=10).read()


@pytest.fixture
def server() -> Iterator[GuardedServer]:
    guarded = GuardedServer()
    yield guarded
    guarded.close()


@pytest.fixture
def sign_ins(tmp_path: Path) -> McpTokenStore:
    return McpTokenStore(tmp_path / "agent" / "mcp-auth.json")


def config_of(server: GuardedServer, **more) -> McpServerConfig:
    return McpServerConfig(name="docs", type="http", url=server.url, **more)


@asynccontextmanager
async def connected(config: McpServerConfig, sign_ins: McpTokenStore) -> AsyncIterator[ClientSession]:
    try:
        async with (
            make_mcp_http_transport(config, sign_ins)() as (reading, writing, *_),
            ClientSession(reading, writing) as session,
        ):
            await session.initialize()
            yield session
    except BaseExceptionGroup as problems:
        raise _first(problems) from None


def _first(problem: BaseException) -> BaseException:
    while isinstance(problem, BaseExceptionGroup):
        problem = problem.exceptions[0]
    return problem


async def heard(config: McpServerConfig, sign_ins: McpTokenStore) -> str:
    async with connected(config, sign_ins) as session:
        return (await session.call_tool("echo", {})).content[0].text  # type: ignore[union-attr]


async def test_a_person_signs_in_once_and_it_counts_from_then_on(
    server: GuardedServer, sign_ins: McpTokenStore
):
    config = config_of(server)
    with pytest.raises(McpSignInRequired, match="sign-in required: /mcp login docs"):
        await heard(config, sign_ins)
    browser = Browser()
    assert await sign_in_to_mcp_server_with_browser(config, sign_ins, browser) == 'Signed in to "docs".'
    assert "code_challenge_method=S256" in browser.opened[0]
    assert sign_ins.path.stat().st_mode & 0o777 == 0o600
    assert await heard(config, sign_ins) == "heard"
    (client,) = server.clients.values()
    assert client["client_name"] == "bayou"
    assert sign_ins.remove_sign_in("docs", server.url)
    with pytest.raises(McpSignInRequired):
        await heard(config, sign_ins)


async def test_where_the_browser_is_elsewhere_the_last_address_is_pasted(
    server: GuardedServer, sign_ins: McpTokenStore
):
    await sign_in_to_mcp_server_with_browser(config_of(server), sign_ins, Browser(is_elsewhere=True))
    assert await heard(config_of(server), sign_ins) == "heard"


async def test_a_refused_sign_in_shows_hidden_characters_by_number(
    server: GuardedServer, sign_ins: McpTokenStore
):
    class Refused(Browser):
        async def open_url(self, url: str, instructions: str) -> None: ...

        async def prompt(self, question: str) -> str:
            return "error=access_denied&error_description=no%E2%80%AEkey"

    with pytest.raises(McpServerUnavailable, match=r"was refused: no.*U\+202E.*key"):
        await sign_in_to_mcp_server_with_browser(config_of(server), sign_ins, Refused())


async def test_a_client_of_ones_own_is_not_registered_and_names_its_scope(
    server: GuardedServer, sign_ins: McpTokenStore
):
    server.clients["mine"] = {}
    config = config_of(server, oauth=McpOAuthConfig(client_id="mine", scope="read"))
    await sign_in_to_mcp_server_with_browser(config, sign_ins, Browser())
    assert "POST /register" not in server.requests
    assert server.scopes_seen == ["read"]
    assert await heard(config, sign_ins) == "heard"


async def test_a_secret_of_ones_own_is_shown_as_the_server_wants_it(
    server: GuardedServer, sign_ins: McpTokenStore
):
    server.clients["mine"] = {"basic": "Basic " + base64.b64encode(b"mine:shh").decode()}
    config = config_of(server, oauth=McpOAuthConfig(client_id="mine", client_secret="shh"))
    await sign_in_to_mcp_server_with_browser(config, sign_ins, Browser())
    server.valid.clear()
    assert await heard(config, sign_ins) == "heard"
    assert server.refreshes == 1


async def test_rights_that_a_call_wants_are_asked_for_at_the_next_sign_in(
    server: GuardedServer, sign_ins: McpTokenStore
):
    server.scope_of_calls = "write"
    config = config_of(server)
    await sign_in_to_mcp_server_with_browser(config, sign_ins, Browser())
    with pytest.raises(
        McpSignInRequired, match="the server requires more permissions than the sign-in has: /mcp login docs"
    ):
        await heard(config, sign_ins)
    await sign_in_to_mcp_server_with_browser(config, sign_ins, Browser())
    assert await heard(config, sign_ins) == "heard"


@pytest.mark.parametrize("is_known", [True, False], ids=["it says when", "it does not"])
async def test_a_token_that_runs_out_is_made_fresh(
    server: GuardedServer, sign_ins: McpTokenStore, is_known: bool
):
    server.seconds = 1 if is_known else 3600
    config = config_of(server)
    await sign_in_to_mcp_server_with_browser(config, sign_ins, Browser())
    server.valid.clear()
    server.seconds = 3600
    assert await heard(config, sign_ins) == "heard"
    assert server.refreshes == 1


async def test_a_token_that_expires_in_the_middle_is_made_fresh_and_the_call_comes_through(
    server: GuardedServer, sign_ins: McpTokenStore
):
    config = config_of(server)
    await sign_in_to_mcp_server_with_browser(config, sign_ins, Browser())
    async with connected(config, sign_ins) as session:
        server.valid.clear()
        assert not (await session.call_tool("echo", {})).is_error
    assert server.refreshes == 1


async def test_many_who_need_a_fresh_token_ask_for_one(server: GuardedServer, sign_ins: McpTokenStore):
    """A refresh token is good once: the second would end the sign-in of both."""
    config = config_of(server)
    await sign_in_to_mcp_server_with_browser(config, sign_ins, Browser())
    server.valid.clear()
    others = [McpTokenStore(sign_ins.path) for _ in range(4)]
    assert await asyncio.gather(*(heard(config, each) for each in others)) == ["heard"] * 4
    assert server.refreshes == 1


async def test_a_call_that_is_given_up_loses_no_refresh_token(server: GuardedServer, sign_ins: McpTokenStore):
    """The server has issued a new token by then and rejects the old one."""
    config = config_of(server)
    await sign_in_to_mcp_server_with_browser(config, sign_ins, Browser())
    server.valid.clear()
    asked, may_answer = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def hold() -> None:
        loop.call_soon_threadsafe(asked.set)
        may_answer.wait(20)

    server.at_token = hold
    auth = StoredMcpTokenAuth(config, sign_ins, make_mcp_http_client_factory(config, None))
    request = httpx2.Request("POST", server.url)
    flow = auth.async_auth_flow(request)
    await flow.asend(None)  # type: ignore[arg-type]
    giving_up = asyncio.ensure_future(flow.asend(httpx2.Response(401, request=request)))
    await asked.wait()
    giving_up.cancel()
    await asyncio.wait({giving_up})
    before = sign_ins.load_sign_in("docs", server.url)
    may_answer.set()
    assert await heard(config, sign_ins) == "heard"
    after = sign_ins.load_sign_in("docs", server.url)
    assert before is not None and after is not None and before.tokens != after.tokens
    assert (server.refreshes, len(server.presented)) == (1, 1)


@pytest.mark.parametrize("how", ["refused", "run out"])
async def test_two_bayous_that_need_a_fresh_token_ask_for_one(
    server: GuardedServer, tmp_path: Path, how: str
):
    """Two whole processes, each of which knows the old token: the second waits, and takes what the first brought."""
    home = tmp_path / "home"
    agent = home / ".bayou" / "agent"
    sign_ins = McpTokenStore(agent / "mcp-auth.json")
    await sign_in_to_mcp_server_with_browser(config_of(server), sign_ins, Browser())
    (agent / "mcp.json").write_text(json.dumps({"mcpServers": {"docs": {"url": server.url}}}))
    server.valid.clear()
    if how == "run out":
        known = sign_ins.load_sign_in("docs", server.url)
        assert known is not None
        known.expires_at = 1.0
        sign_ins.store_sign_in("docs", server.url, known)
    server.refused, first, both = threading.Semaphore(0), threading.Lock(), threading.Barrier(2)

    def hold() -> None:
        """Until the second comes, too, as it must not: or it has had the time to."""
        if how == "refused" and first.acquire(blocking=False):
            server.refused.acquire(timeout=30)
            server.refused.acquire(timeout=30)
        with suppress(threading.BrokenBarrierError):
            both.wait(2)

    server.at_token = hold
    environment = {"HOME": str(home), "PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}

    async def bayou() -> tuple[int | None, str]:
        process = await asyncio.create_subprocess_exec(
            *(*BAYOU, "mcp", "test", "docs"),
            cwd=home,
            env=environment,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        told, _ = await process.communicate()
        return process.returncode, told.decode()

    for code, told in await asyncio.gather(bayou(), bayou()):
        assert code == 0, told
        assert "Successfully connected" in told
    assert server.refreshes == 1
    assert len(server.presented) == len(set(server.presented)) == 1


async def test_a_new_sign_in_counts_in_a_connection_that_is_open(
    server: GuardedServer, sign_ins: McpTokenStore
):
    config = config_of(server)
    await sign_in_to_mcp_server_with_browser(config, sign_ins, Browser())
    async with connected(config, sign_ins) as session:
        old = set(server.valid)
        await sign_in_to_mcp_server_with_browser(config, McpTokenStore(sign_ins.path), Browser())
        server.valid -= old
        assert not (await session.call_tool("echo", {})).is_error
    assert server.refreshes == 0


async def test_who_is_not_taken_back_signs_in_anew(server: GuardedServer, sign_ins: McpTokenStore):
    config = config_of(server)
    await sign_in_to_mcp_server_with_browser(config, sign_ins, Browser())
    server.valid.clear()
    server.refresh.clear()
    with pytest.raises(McpSignInRequired, match="the sign-in expired: /mcp login docs"):
        await heard(config, sign_ins)


async def test_a_sign_in_that_names_another_issuer_or_no_proof_is_refused(
    server: GuardedServer, sign_ins: McpTokenStore
):
    server.overrides = {"issuer": "https://elsewhere.example"}
    with pytest.raises(McpServerUnavailable, match='The sign-in to "docs" failed'):
        await sign_in_to_mcp_server_with_browser(config_of(server), sign_ins, Browser())
    assert sign_ins.load_sign_in("docs", server.url) is None


async def test_a_server_for_everybody_needs_none(server: GuardedServer, sign_ins: McpTokenStore):
    server.needs_sign_in = False
    assert "needs no sign-in" in await sign_in_to_mcp_server_with_browser(
        config_of(server), sign_ins, Browser()
    )


async def test_a_key_of_ones_own_is_sent_and_told_when_it_is_refused(
    server: GuardedServer, sign_ins: McpTokenStore
):
    config = config_of(server, headers={"authorization": "Bearer hunter2"})
    with pytest.raises(
        McpServerUnavailable, match=r"the server rejected the Authorization in `headers` \(401\)"
    ) as told:
        await heard(config, sign_ins)
    assert not isinstance(told.value, McpSignInRequired)
    server.valid.add("hunter2")
    assert await heard(config, sign_ins) == "heard"


async def test_a_greeting_is_tried_again_and_a_call_never(server: GuardedServer, sign_ins: McpTokenStore):
    server.needs_sign_in = False
    server.failures = [503, 429]
    before = 0
    with pytest.raises(McpServerUnavailable, match="the server answered 503"):
        async with connected(config_of(server), sign_ins) as session:
            await session.call_tool("echo", {})
            before = len(server.requests)
            server.failures = [503]
            await session.call_tool("echo", {})
    assert server.requests[before:].count("POST /mcp") == 1


async def test_a_missing_server_is_explained(sign_ins: McpTokenStore):
    with pytest.raises(McpServerUnavailable, match=r"127\.0\.0\.1:9 cannot be reached"):
        await heard(McpServerConfig(name="docs", type="http", url="http://127.0.0.1:9/mcp"), sign_ins)


async def test_a_broken_store_is_left_alone_and_told(server: GuardedServer, sign_ins: McpTokenStore):
    sign_ins.path.parent.mkdir(parents=True)
    sign_ins.path.write_text("{")
    with pytest.raises(FileError, match="is damaged and was not changed"):
        sign_ins.load_sign_in("docs", server.url)
    with pytest.raises(McpServerUnavailable):
        await heard(config_of(server), sign_ins)
    assert sign_ins.path.read_text() == "{"


@pytest.mark.parametrize(
    ("url", "is_ours"),
    [
        ("http://127.0.0.1/x", True),
        ("http://localhost:1/x", True),
        ("https://[::1]/x", True),
        ("https://[::ffff:10.0.0.1]/x", True),
        ("https://169.254.169.254/latest", True),
        ("https://192.168.1.1", True),
        ("https://8.8.8.8", False),
    ],
)
async def test_a_public_servers_sign_in_leads_nowhere_near(url: str, is_ours: bool):
    assert await is_private_network_url(url) == is_ours
    assert bool(await forbidden_sign_in_address_reason(url, "https://9.9.9.9/mcp")) == is_ours
    assert await forbidden_sign_in_address_reason(url, "http://127.0.0.1:8000/mcp") == ""


async def test_a_public_servers_sign_in_is_encrypted():
    assert "without encryption" in await forbidden_sign_in_address_reason(
        "http://8.8.8.8/token", "https://9.9.9.9/mcp"
    )
    assert await forbidden_sign_in_address_reason("https://9.9.9.9/anything", "https://9.9.9.9/mcp") == ""
