"""The way to servers on the network: proxies, hosts without one, private certificates; the rules of the providers."""

import asyncio
import base64
import json
import os
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp.client.session import ClientSession

from app.mcp.http_transport import make_mcp_http_transport
from app.mcp.mcp_token_store import McpTokenStore
from app.mcp.server_config_entries import McpOAuthConfig, McpServerConfig
from app.mcp.server_errors import McpServerUnavailable
from tests.architecture.sources import ROOT
from tests.mcp.guarded_server import GuardedServer
from tests.mcp.test_sign_in import _first
from tests.providers.test_network import certificate, proxy_to
from tests.support.warm_bayou import BAYOU

__all__ = ["certificate"]
SECRET = "shh"
VARIABLES = (
    *(
        "HTTPS_PROXY",
        "https_proxy",
        "HTTP_PROXY",
        "http_proxy",
        "ALL_PROXY",
        "all_proxy",
        "NO_PROXY",
        "no_proxy",
    ),
    *("SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"),
)


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def server(certificate: tuple[Path, Path]) -> Iterator[GuardedServer]:
    """Known by a name that leads nowhere but through a proxy."""
    made = guarded(certificate)
    yield made
    made.close()


def guarded(certificate: tuple[Path, Path]) -> GuardedServer:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    made = GuardedServer(tls=context, host="models.test")
    made.clients["robot"] = {"basic": "Basic " + base64.b64encode(f"robot:{SECRET}".encode()).decode()}
    return made


def robot(server: GuardedServer) -> McpServerConfig:
    """Signs in by itself, so that discovery, token and calls go the same way."""
    said = McpOAuthConfig(
        client_id="robot", client_secret=SECRET, grant="client_credentials", issuer=server.login.base
    )
    return McpServerConfig(name="far", type="http", url=server.url, oauth=said)


@asynccontextmanager
async def connected(config: McpServerConfig, folder: Path, proxy: str | None) -> AsyncIterator[ClientSession]:
    opened = make_mcp_http_transport(config, McpTokenStore(folder / "mcp-auth.json"), lambda: proxy)
    try:
        async with opened() as (heard, said, *_), ClientSession(heard, said) as session:
            await session.initialize()
            yield session
    except BaseExceptionGroup as problems:
        raise _first(problems) from None


async def called(config: McpServerConfig, folder: Path, proxy: str | None = None) -> str:
    async with connected(config, folder, proxy) as session:
        answer: Any = await session.call_tool("echo", {})
        return answer.content[0].text


@pytest.mark.parametrize("how", ["setting", "HTTPS_PROXY", "https_proxy", "ALL_PROXY"])
async def test_everything_goes_through_the_proxy(
    how: str, server: GuardedServer, certificate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
    async with proxy_to(server.port) as proxy:
        if how != "setting":
            monkeypatch.setenv(how, proxy.url)
        assert await called(robot(server), tmp_path, proxy.url if how == "setting" else None) == "heard"
        assert set(proxy.targets) == {f"CONNECT models.test:{server.port}"}, "it sees no more than the host"
    assert "POST /token" in server.requests


async def test_a_host_that_needs_none_is_asked_without(
    server: GuardedServer, certificate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
    monkeypatch.setenv("NO_PROXY", "example.com,.test")
    async with proxy_to(server.port) as proxy:
        with pytest.raises(McpServerUnavailable, match=rf"models\.test:{server.port} cannot be reached"):
            await called(robot(server), tmp_path, proxy.url)
        assert proxy.targets == []


async def test_a_sign_in_elsewhere_goes_its_own_way(
    server: GuardedServer, certificate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The server is on this machine, who lets people in is behind the proxy."""
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
    near = GuardedServer()
    near.login, near.valid, near.scope_of = server, server.valid, server.scope_of
    try:
        async with proxy_to(server.port) as proxy:
            assert await called(robot(near), tmp_path, proxy.url) == "heard"
            assert set(proxy.targets) == {f"CONNECT models.test:{server.port}"}
    finally:
        near.close()
    assert "POST /mcp" not in server.requests


@pytest.mark.parametrize("how", ["SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE"])
async def test_a_private_certificate_is_believed_when_it_is_named(
    how: str, server: GuardedServer, certificate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    async with proxy_to(server.port) as proxy:
        with pytest.raises(McpServerUnavailable, match=r"TLS error with models\.test.*SSL_CERT_FILE"):
            await called(robot(server), tmp_path, proxy.url)
        monkeypatch.setenv(how, str(certificate[0]))
        assert await called(robot(server), tmp_path, proxy.url) == "heard"


async def test_what_cannot_be_used_is_reported(
    server: GuardedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    with pytest.raises(McpServerUnavailable, match="The proxy gopher://x cannot be used"):
        await called(robot(server), tmp_path, "gopher://x")
    monkeypatch.setenv("SSL_CERT_FILE", "/no/such/file.pem")
    with pytest.raises(McpServerUnavailable, match=r"/no/such/file\.pem"):
        await called(robot(server), tmp_path)


async def test_a_proxy_that_refuses_is_reported(server: GuardedServer, tmp_path: Path):
    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
        writer.close()

    listener = await asyncio.start_server(refuse, "127.0.0.1", 0)
    proxy = f"http://user:hunter2@127.0.0.1:{listener.sockets[0].getsockname()[1]}"
    with pytest.raises(McpServerUnavailable, match="the proxy refused the connection: 407") as told:
        await called(robot(server), tmp_path, proxy)
    assert "hunter2" not in str(told.value)
    listener.close()


async def test_the_whole_program_goes_that_way(server: GuardedServer, certificate, tmp_path: Path):
    agent = tmp_path / ".bayou" / "agent"
    agent.mkdir(parents=True)
    oauth = {
        "grantType": "client_credentials",
        "clientId": "robot",
        "clientSecret": SECRET,
        "issuer": server.base,
    }
    (agent / "mcp.json").write_text(json.dumps({"mcpServers": {"far": {"url": server.url, "oauth": oauth}}}))
    async with proxy_to(server.port) as proxy:
        process = await asyncio.create_subprocess_exec(
            *(*BAYOU, "mcp", "test", "far"),
            cwd=tmp_path,
            env={
                "HOME": str(tmp_path),
                "PATH": os.environ["PATH"],
                "PYTHONPATH": str(ROOT),
                "HTTPS_PROXY": proxy.url,
                "SSL_CERT_FILE": str(certificate[0]),
            },
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        told, _ = await process.communicate()
        assert process.returncode == 0, told.decode()
        assert proxy.targets and set(proxy.targets) == {f"CONNECT models.test:{server.port}"}
