"""A client that signs in by itself: no browser, no person, and its secret nowhere but where it was written."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app.mcp.http_transport import sign_in_to_mcp_server_with_browser
from app.mcp.mcp_token_store import McpTokenStore
from app.mcp.server_config import McpConfigValueResolver
from app.mcp.server_config_entries import McpOAuthConfig, McpServerConfig, decode_mcp_server_entry
from app.mcp.server_errors import McpServerUnavailable, McpSignInRequired
from tests.mcp.guarded_server import GuardedServer
from tests.mcp.test_sign_in import Browser, config_of, connected, heard

SECRET = "shh-this-is-secret"


@pytest.fixture
def server() -> Iterator[GuardedServer]:
    guarded = GuardedServer()
    guarded.clients["robot"] = {"basic": "Basic " + base64.b64encode(f"robot:{SECRET}".encode()).decode()}
    yield guarded
    guarded.close()


@pytest.fixture
def sign_ins(tmp_path: Path) -> McpTokenStore:
    return McpTokenStore(tmp_path / "agent" / "mcp-auth.json")


def robot(server: GuardedServer, **more: Any) -> McpServerConfig:
    said = {"client_id": "robot", "client_secret": SECRET, "grant": "client_credentials", **more}
    return config_of(server, oauth=McpOAuthConfig(**said))


async def test_it_is_let_in_without_anybody_and_again_when_its_token_runs_out(
    server: GuardedServer, sign_ins: McpTokenStore
):
    server.scope_of_calls = "read"
    config = robot(server, scope="read")
    assert await heard(config, sign_ins) == "heard"
    assert server.requests.count("POST /token") == 1
    assert await heard(config, sign_ins) == "heard"
    assert server.requests.count("POST /token") == 1, "the token is kept"
    async with connected(config, sign_ins) as session:
        server.valid.clear()
        assert not (await session.call_tool("echo", {})).is_error
    assert server.requests.count("POST /token") == 2
    assert "GET /authorize" not in server.requests
    assert SECRET not in sign_ins.path.read_text()


async def test_a_refusal_is_reported_without_opening_a_browser(
    server: GuardedServer, sign_ins: McpTokenStore
):
    with pytest.raises(
        McpServerUnavailable, match=r"the client id robot was rejected: .*invalid_client"
    ) as told:
        await heard(robot(server, client_secret="wrong"), sign_ins)
    assert not isinstance(told.value, McpSignInRequired)
    server.scope_of_calls = "write"
    with pytest.raises(
        McpServerUnavailable, match=r"the server requires more permissions: add them to `oauth\.scope`"
    ):
        await heard(robot(server), sign_ins)
    sign_ins.remove_sign_in("docs", server.url)
    with pytest.raises(McpServerUnavailable, match="was rejected"):
        await heard(robot(server, private_key="no key at all"), sign_ins)


async def test_a_secret_goes_to_its_own_issuer_only(server: GuardedServer, sign_ins: McpTokenStore):
    with pytest.raises(McpServerUnavailable, match="was rejected"):
        await heard(robot(server, issuer="https://elsewhere.example"), sign_ins)
    assert "POST /token" not in server.requests
    assert await heard(robot(server, issuer=server.base), sign_ins) == "heard"


async def test_a_sign_in_by_command_tries_it_and_opens_nothing(
    server: GuardedServer, sign_ins: McpTokenStore
):
    browser = Browser()
    assert (
        await sign_in_to_mcp_server_with_browser(robot(server), sign_ins, browser)
        == '"docs" accepted the client robot.'
    )
    assert browser.opened == []
    assert await heard(robot(server), sign_ins) == "heard"


async def test_a_persons_token_and_a_clients_are_not_taken_for_each_other(
    server: GuardedServer, sign_ins: McpTokenStore
):
    await sign_in_to_mcp_server_with_browser(config_of(server), sign_ins, Browser())
    before = server.requests.count("POST /token")
    assert await heard(robot(server), sign_ins) == "heard"
    assert server.requests.count("POST /token") == before + 1
    with pytest.raises(McpSignInRequired):
        await heard(config_of(server), sign_ins)


async def test_its_secret_may_come_from_elsewhere(server: GuardedServer, sign_ins: McpTokenStore):
    entry = {
        "url": server.url,
        "oauth": {"grantType": "client_credentials", "clientId": "robot", "clientSecret": "${ROBOT}"},
    }
    config, problems = decode_mcp_server_entry("docs", entry, origin="user")
    assert problems == ()
    assert (
        await heard(await McpConfigValueResolver({"ROBOT": SECRET}).resolve_config_values(config), sign_ins)
        == "heard"
    )


@pytest.mark.parametrize(
    ("oauth", "words"),
    [
        ({"grantType": "client_credentials"}, "needs `clientId`, and `clientSecret` or `privateKey`"),
        ({"grantType": "client_credentials", "clientId": "x"}, "needs `clientId`"),
        ({"grantType": "password"}, '`oauth.grantType` is "authorization_code" or'),
        ({"grantType": 7}, '`oauth.grantType` is "authorization_code" or'),
        ({"grantType": "client_credentials", "clientId": "x", "privateKey": {}}, "must be a text"),
    ],
)
def test_what_makes_no_sense_is_reported(oauth: dict[str, Any], words: str):
    config, problems = decode_mcp_server_entry(
        "docs", {"url": "https://x.example", "oauth": oauth}, origin="user"
    )
    assert any(words in one.text for one in problems), json.dumps([one.text for one in problems])
    assert config.problem
