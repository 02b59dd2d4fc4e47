"""Signing in with an account, end to end against an OAuth server on this machine."""

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, urlencode, urlsplit

import msgspec
import pytest

from app.assembly.command_line_options import UsageError
from app.cli.commands.auth_command import check_credential, run_auth_command
from app.providers.credentials import CredentialError, Credentials
from app.providers.model_stream import Credential
from app.providers.signin.device_code import DeviceCodeSignIn
from app.providers.signin.key_check import ApiKeyCheckResult
from app.providers.signin.known_sign_ins import (
    CopilotSignIn,
    MetaSignIn,
    OpenRouterSignIn,
    client_id_variable,
    known_sign_ins,
)
from app.providers.signin.pkce import PkceSignIn, new_verifier_and_challenge, parse_authorization_code
from tests.providers.loopback import Loopback, Received, Reply


class Person:
    """Does what the dialog asks, in the way a test wants."""

    def __init__(self, at_url: Callable[[str], Awaitable[str | None]] | None = None) -> None:
        self.urls: list[str] = []
        self.codes: list[tuple[str, str]] = []
        self._at_url = at_url
        self._pasted: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def open_url(self, url: str, instructions: str) -> None:
        self.urls.append(url)
        if self._at_url is not None and (pasted := await self._at_url(url)) is not None:
            self._pasted.set_result(pasted)

    async def show_code(self, code: str, url: str, seconds: float) -> None:
        self.codes.append((code, url))

    async def prompt(self, question: str) -> str:
        return await self._pasted

    async def select(self, question: str, options: Sequence[tuple[str, str]]) -> str:
        return options[0][0]

    def progress(self, text: str) -> None:
        pass


def json_reply(data: dict[str, Any], status: int = 200) -> Reply:
    return Reply(status=status, body=json.dumps(data).encode(), headers={"Content-Type": "application/json"})


def form(request: Received) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(request.body.decode()).items()}


def query(url: str) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}


def pkce(server: Loopback, **changes: Any) -> PkceSignIn:
    fields: dict[str, Any] = {
        "id": "test",
        "name": "Test",
        "authorize_url": f"{server.url}/authorize",
        "token_url": f"{server.url}/token",
        "client_id": "bayou-test",
        "scope": "read write",
        "redirect_host": "127.0.0.1",
    }
    return PkceSignIn(**{**fields, **changes})


async def visit(url: str) -> bytes:
    parts = urlsplit(url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    writer.write(f"GET {parts.path}?{parts.query} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    answer = await reader.read()
    writer.close()
    return answer


TOKENS = {"access_token": "access-1", "refresh_token": "refresh-1", "expires_in": 3600}


@pytest.mark.parametrize("how", ["redirect", "pasted address", "pasted code"])
async def test_a_browser_sign_in_with_pkce(how: str, server: Loopback, tmp_path: Path):
    server.reply(json_reply(TOKENS))

    async def in_the_browser(url: str) -> str | None:
        asked = query(url)
        assert asked["code_challenge_method"] == "S256" and asked["client_id"] == "bayou-test"
        back = f"{asked['redirect_uri']}?{urlencode({'code': 'c0de', 'state': asked['state']})}"
        if how == "redirect":
            assert b"You are signed in" in await visit(back)
            return None
        return back if how == "pasted address" else f"c0de#{asked['state']}"

    person = Person(in_the_browser)
    credentials = Credentials(tmp_path, {}, sign_ins={"test": pkce(server)})
    await credentials.store_auth_entry("test", await credentials.sign_ins["test"].login(person))
    sent = form(server.requests[0])
    assert (sent["grant_type"], sent["code"]) == ("authorization_code", "c0de")
    assert sent["redirect_uri"] == query(person.urls[0])["redirect_uri"]
    found = await credentials.resolve_credential("test")
    assert found == Credential(key="access-1", is_bearer=True)
    assert credentials.credential_source_of("test") == "sign-in"


async def test_the_challenge_is_made_of_the_verifier(server: Loopback):
    import base64
    import hashlib

    server.reply(json_reply(TOKENS))
    challenges: list[str] = []

    async def in_the_browser(url: str) -> str | None:
        challenges.append(query(url)["code_challenge"])
        return f"http://x/?code=c&state={query(url)['state']}"

    await pkce(server).login(Person(in_the_browser))
    digest = hashlib.sha256(form(server.requests[0])["code_verifier"].encode()).digest()
    assert base64.urlsafe_b64encode(digest).decode().rstrip("=") == challenges[0]
    assert new_verifier_and_challenge() != new_verifier_and_challenge()


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("http://x/?error=access_denied&error_description=No", "was refused: No"),
        ("http://x/?code=c&state=other", "belongs to another sign-in"),
        ("http://x/?state=s", "contains no sign-in code"),
        ("", "contains no sign-in code"),
    ],
)
def test_redirects_that_bring_no_sign_in(answer: str, words: str):
    with pytest.raises(CredentialError, match=words):
        parse_authorization_code(answer, "s")


async def test_a_refused_code_is_reported(server: Loopback):
    server.reply(json_reply({"error": "invalid_grant", "error_description": "Code expired"}, 400))

    async def in_the_browser(url: str) -> str | None:
        return f"http://x/?code=c&state={query(url)['state']}"

    with pytest.raises(CredentialError, match="Test refused the sign-in: invalid_grant: Code expired"):
        await pkce(server).login(Person(in_the_browser))


async def test_an_unregistered_application_says_what_to_do():
    definitions = known_sign_ins({})
    assert {name for name, found in definitions.items() if not found.missing} == {"openrouter", "openai"}
    for provider in ("anthropic", "openai-codex", "github-copilot", "xai", "kimi-coding", "meta"):
        assert definitions[provider].missing == client_id_variable(provider)
        with pytest.raises(CredentialError, match=r"Use an API key, or set BAYOU_\w+_CLIENT_ID"):
            await definitions[provider].login(Person())
    own = known_sign_ins({"BAYOU_ANTHROPIC_CLIENT_ID": "mine"})["anthropic"]
    assert isinstance(own, PkceSignIn) and own.client_id == "mine" and not own.missing


async def test_chatgpt_gives_each_sign_in_a_separate_client(server: Loopback, tmp_path: Path):
    server.reply(json_reply({**TOKENS, "expires_in": 1}), json_reply({"access_token": "access-2"}))

    async def in_the_browser(url: str) -> str | None:
        asked = query(url)
        assert (asked["client_id"], asked["agent_name_hint"]) == ("dynamic_agent_client", "bayou")
        assert asked["ext_agent_host_id"].startswith("urn:uuid:")
        return f"{asked['redirect_uri']}?{urlencode({'code': 'c', 'state': asked['state'], 'client_id': 'mine'})}"

    definition = known_sign_ins({})["openai"]
    assert isinstance(definition, PkceSignIn)
    own = msgspec.structs.replace(definition, token_url=f"{server.url}/token", redirect_port=0)
    credentials = Credentials(tmp_path, {}, sign_ins={"openai": own})
    await credentials.store_auth_entry("openai", await own.login(Person(in_the_browser)))
    found = await credentials.resolve_credential("openai")
    assert found == Credential(key="access-2", is_bearer=True), "it was about to end"
    began, went_on = (form(request) for request in server.requests)
    assert began["client_id"] == went_on["client_id"] == "mine"
    assert began["resource"] == went_on["resource"] == "https://api.openai.com/v1"


async def test_a_sign_in_without_its_client_is_reported(server: Loopback):
    async def in_the_browser(url: str) -> str | None:
        return f"http://x/?code=c&state={query(url)['state']}"

    with pytest.raises(CredentialError, match="Test did not register this sign-in"):
        await pkce(server, registers_client=True).login(Person(in_the_browser))


async def test_meta_exchanges_the_identity_for_a_key_of_one_day(server: Loopback):
    server.reply(
        json_reply({"device_code": "d", "user_code": "u", "verification_uri": "http://v", "interval": 0.01}),
        json_reply({"access_token": "identity"}),
        json_reply({"api_key": "key-1"}),
        json_reply({"api_key": "key-2"}),
        json_reply({"error": {"message": "session over"}}, 401),
    )
    device = DeviceCodeSignIn(id="m", name="M", device_url=server.url, token_url=server.url, client_id="c")
    meta = MetaSignIn(device=device, key_url=f"{server.url}/key")
    entry = await meta.login(Person())
    assert (entry["access"], entry["refresh"]) == ("key-1", "identity")
    assert entry["expires"] > (time.time() + 80_000) * 1000
    assert server.requests[-1].headers["authorization"] == "Bearer identity"
    again = await asyncio.to_thread(meta.refresh, entry)
    assert (again["access"], again["refresh"]) == ("key-2", "identity")
    with pytest.raises(CredentialError, match="Meta returned no key: session over"):
        await asyncio.to_thread(meta.refresh, entry)


async def test_a_device_code_waits_until_the_person_has_agreed(server: Loopback):
    begun = {"device_code": "d", "user_code": "AB-12", "verification_uri": "http://v", "interval": 0.01}
    server.reply(
        json_reply(begun),
        json_reply({"error": "authorization_pending"}, 400),
        json_reply({"error": "slow_down", "interval": 0.02}, 400),
        json_reply(TOKENS),
    )
    person = Person()
    device = DeviceCodeSignIn(
        id="t", name="T", device_url=f"{server.url}/d", token_url=f"{server.url}/t", client_id="c"
    )
    entry = await device.login(person)
    assert person.codes == [("AB-12", "http://v")]
    assert (entry["access"], entry["refresh"]) == ("access-1", "refresh-1")
    assert entry["expires"] > time.time() * 1000
    assert form(server.requests[-1])["device_code"] == "d"


@pytest.mark.parametrize("error", ["access_denied", "expired_token"])
async def test_a_device_code_that_is_refused(error: str, server: Loopback):
    server.reply(
        json_reply({"device_code": "d", "user_code": "u", "interval": 0.01}), json_reply({"error": error})
    )
    device = DeviceCodeSignIn(id="t", name="T", device_url=server.url, token_url=server.url, client_id="c")
    with pytest.raises(CredentialError, match=error):
        await device.login(Person())


async def test_copilot_fetches_its_own_short_token(server: Loopback):
    github = {"access_token": "gh-token"}
    copilot = {"token": "cp-token", "expires_at": time.time() + 1000}
    server.reply(
        json_reply({"device_code": "d", "user_code": "u", "verification_uri": "http://v", "interval": 0.01}),
        json_reply(github),
        json_reply(copilot),
    )
    device = DeviceCodeSignIn(id="g", name="G", device_url=server.url, token_url=server.url, client_id="c")
    entry = await CopilotSignIn(device=device, token_url=f"{server.url}/copilot").login(Person())
    assert (entry["access"], entry["refresh"]) == ("cp-token", "gh-token")
    assert server.requests[-1].headers["authorization"] == "Bearer gh-token"


async def test_openrouter_hands_out_a_key(server: Loopback, tmp_path: Path):
    server.reply(json_reply({"key": "or-key"}))

    async def in_the_browser(url: str) -> str | None:
        await visit(query(url)["callback_url"].replace("localhost", "127.0.0.1") + "?code=c")
        return None

    entry = await OpenRouterSignIn(base_url=server.url).login(Person(in_the_browser))
    assert entry == {"type": "api_key", "key": "or-key"}
    assert server.requests[0].json["code"] == "c"


def write_expired(folder: Path, **fields: Any) -> None:
    entry = {"type": "oauth", "access": "old", "refresh": "r-1", "expires": 1, "account": "kept", **fields}
    (folder / "auth.json").write_text(json.dumps({"test": entry}))


async def test_a_token_about_to_end_is_refreshed_and_the_rest_is_kept(server: Loopback, tmp_path: Path):
    write_expired(tmp_path)
    server.reply(json_reply({"access_token": "new", "expires_in": 3600}))
    credentials = Credentials(tmp_path, {}, sign_ins={"test": pkce(server)})
    found = await credentials.resolve_credential("test")
    assert found is not None and found.key == "new"
    assert form(server.requests[0])["refresh_token"] == "r-1"
    stored = json.loads((tmp_path / "auth.json").read_text())["test"]
    assert (stored["access"], stored["refresh"], stored["account"]) == ("new", "r-1", "kept")
    await credentials.resolve_credential("test")
    assert len(server.requests) == 1


async def test_a_refresh_that_fails_says_how_to_sign_in_again(server: Loopback, tmp_path: Path):
    write_expired(tmp_path)
    server.reply(json_reply({"error": "invalid_grant"}, 400))
    credentials = Credentials(tmp_path, {}, sign_ins={"test": pkce(server)})
    with pytest.raises(CredentialError, match="/login test"):
        await credentials.resolve_credential("test")
    assert json.loads((tmp_path / "auth.json").read_text())["test"]["refresh"] == "r-1"
    assert (await check_credential("test", credentials)).state == "invalid"


@pytest.mark.parametrize("status", [400, 500])
async def test_a_refusal_that_repeats_the_refresh_token_is_reported_without_it(
    status: int, server: Loopback, tmp_path: Path
):
    token = "refresh+token/of=an-account"
    write_expired(tmp_path, refresh=token)
    words = f"Unknown token {token}, {quote(token, safe='')}"
    answer = {"error": "invalid_grant", "error_description": words} if status == 400 else {"detail": words}
    server.reply(json_reply(answer, status))
    state = await check_credential("test", Credentials(tmp_path, {}, sign_ins={"test": pkce(server)}))
    assert state.state == "invalid" and "Unknown token" in state.detail
    assert token not in state.detail and quote(token, safe="") not in state.detail


RACE = """
import asyncio, sys
from pathlib import Path
from app.providers.credentials import Credentials
from app.providers.signin.pkce import PkceSignIn
folder, url = sys.argv[1:]
sign_in = PkceSignIn(id="test", name="Test", authorize_url="", token_url=url, client_id="c")
found = asyncio.run(Credentials(Path(folder), {}, sign_ins={"test": sign_in}).resolve_credential("test"))
print(found.key)
"""


async def test_two_processes_refresh_once(server: Loopback, tmp_path: Path):
    write_expired(tmp_path)
    used: set[str] = set()

    async def rotate(request: Received) -> Reply:
        token = form(request)["refresh_token"]
        await asyncio.sleep(0.2)  # long enough for the other process to want it too
        if token in used:
            return json_reply({"error": "invalid_grant", "error_description": "used twice"}, 400)
        used.add(token)
        return json_reply({"access_token": f"new-{len(used)}", "refresh_token": "r-2", "expires_in": 3600})

    server.reply(rotate)
    runs = [
        await asyncio.create_subprocess_exec(
            sys.executable, "-c", RACE, str(tmp_path), f"{server.url}/token", stdout=asyncio.subprocess.PIPE
        )
        for _ in range(2)
    ]
    outputs = [(await run.communicate())[0].decode().strip() for run in runs]
    assert outputs == ["new-1", "new-1"]
    assert len(server.requests) == 1


def test_the_command_stores_checks_and_removes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    import io

    monkeypatch.setattr("sys.stdin", io.StringIO("sk-secret-from-stdin\n"))
    assert run_auth_command(["check", "--provider", "openai"], tmp_path, {}) == 1
    assert run_auth_command(["login", "openai"], tmp_path, {}) == 0
    assert run_auth_command(["check", "--provider", "openai", "--json"], tmp_path, {}) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["source"] == "stored"
    assert run_auth_command(["check", "--model", "gpt-5.5"], tmp_path, {}) == 0
    assert run_auth_command(["logout", "openai"], tmp_path, {}) == 0
    assert run_auth_command(["logout", "openai"], tmp_path, {}) == 0
    assert run_auth_command(["check", "--provider", "openai"], tmp_path, {"OPENAI_API_KEY": "x"}) == 0
    (tmp_path / "auth.json").write_text('{"openai": {"type": "api_key", "key": "$GONE"}}')
    assert run_auth_command(["check", "--provider", "openai"], tmp_path, {}) == 2
    assert run_auth_command(["check", "openai"], tmp_path, {}) == 2
    for words in (["login", "opnai"], ["check", "opnai"]):
        assert run_auth_command(words, tmp_path, {}) == 1
        assert "There is no provider 'opnai'. Did you mean openai" in capsys.readouterr().err
    with pytest.raises(UsageError, match="invalid choice"):
        run_auth_command(["nonsense"], tmp_path, {})
    assert "sk-secret" not in "".join(capsys.readouterr())


async def _accepts(name: str, credential: Credential) -> ApiKeyCheckResult:
    is_good = credential.key == "good-key"
    return ApiKeyCheckResult(
        state="accepted" if is_good else "refused", text="" if is_good else "refused (401)"
    )


def test_a_search_service_has_a_key_like_a_provider(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    import io

    assert run_auth_command(["list"], tmp_path, {}) == 1
    assert "Store one: bayou auth login PROVIDER." in capsys.readouterr().err
    monkeypatch.setattr("sys.stdin", io.StringIO("bad-key-1\n"))
    assert run_auth_command(["login", "brave"], tmp_path, {}, check_service=_accepts) == 1
    monkeypatch.setattr("sys.stdin", io.StringIO("good-key\n"))
    assert run_auth_command(["login", "brave"], tmp_path, {}, check_service=_accepts) == 0
    assert run_auth_command(["list"], tmp_path, {"TAVILY_API_KEY": "x"}) == 0
    shown = capsys.readouterr().out.splitlines()
    assert "brave accepts the key." in shown
    assert shown[-2:] == ["brave  ready  stored", "tavily  ready  environment"]
    assert run_auth_command(["logout", "brave"], tmp_path, {}) == 0
