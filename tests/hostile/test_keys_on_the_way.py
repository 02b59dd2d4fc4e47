"""Keys on their way and at rest: redirects, sign-ins, files that others can read, echoes of a server."""

import asyncio
import base64
import html
import json
import os
import stat
from pathlib import Path
from urllib.parse import quote

import pytest

from app.assembly.crash_report import report_crash
from app.providers.secret_references import CredentialError
from app.providers.signin.pkce import OAuthRedirectServer, parse_authorization_code
from tests.hostile.setups import (
    MODEL,
    answer_body,
    run,
    tool_call_body,
    use_model_at,
    write_user_settings,
)
from tests.masking.examples import SHAPED, random_text
from tests.providers.loopback import Reply, loopback
from tests.support.warm_bayou import BAYOU

KEY = "planted-key-of-the-model"
APIS = [
    "openai-completions",
    "anthropic-messages",
    "openai-responses",
    "google-generative-ai",
    "mistral-conversations",
]


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("status", [301, 302, 307, 308])
@pytest.mark.parametrize("api", APIS)
async def test_a_redirect_to_another_server_takes_no_key_along(api: str, status: int, tmp_path: Path):
    async with loopback() as elsewhere, loopback() as server:
        write_user_settings(retry={"enabled": False})
        use_model_at(server, api)
        elsewhere.reply(Reply(status=400, body=b"no"))
        server.reply(Reply(status=status, headers={"Location": f"{elsewhere.url}/taken"}))
        await run(*BAYOU, *MODEL, "-p", "Say it", cwd=tmp_path)
        assert server.requests and KEY in str(server.requests[0].headers) + server.requests[0].target
        for request in elsewhere.requests:
            assert KEY not in f"{request.target} {request.headers} {request.body!r}"


def refusal(content: str, body: str) -> Reply:
    return Reply(status=400, headers={"Content-Type": content}, body=body.encode())


ECHOED = "planted+key/of=the-model&9"
HEADER = "planted-value-of-a-header"
ECHOES = {
    "plain": refusal(
        "application/json", json.dumps({"error": {"message": f"Wrong: {ECHOED}. Or {HEADER}."}})
    ),
    "quoted": refusal(
        "text/plain", f"Wrong: {json.dumps(ECHOED)} {quote(ECHOED, safe='')} {html.escape(ECHOED)}"
    ),
    "in base64": refusal("text/plain", f"Wrong: {base64.b64encode(ECHOED.encode()).decode()}"),
    "as its kind": refusal("application/json", json.dumps({"error": {"message": "Wrong:", "type": ECHOED}})),
    "in place of a stream": Reply(headers={"Content-Type": "text/plain"}, body=f"Wrong: {ECHOED}".encode()),
}


@pytest.mark.parametrize("echo", ECHOES)
async def test_an_echo_of_the_key_in_an_error_stays_masked(echo: str, tmp_path: Path):
    async with loopback() as server:
        write_user_settings(retry={"enabled": False})
        use_model_at(server, apiKey=ECHOED, headers={"X-Api-Key": HEADER})
        server.reply(ECHOES[echo])
        code, out, err = await run(*BAYOU, *MODEL, "--mode", "json", "-p", "Say it", cwd=tmp_path)
    assert code == 6 and "Wrong:" in out + err
    written = "".join(
        file.read_text() for file in Path(os.environ["BAYOU_AGENT_DIR"]).glob("sessions/**/*.jsonl")
    )
    assert "Wrong:" in written
    encoded = base64.b64encode(ECHOED.encode()).decode()[:24]
    for text in (ECHOED, quote(ECHOED, safe=""), html.escape(ECHOED), encoded, HEADER):
        assert text not in out + err + written


async def test_keys_in_files_for_the_model_are_masked_in_every_request(tmp_path: Path):
    agent, project = Path(os.environ["BAYOU_AGENT_DIR"]), tmp_path / "project"
    named, plain, shaped = random_text(40, 11), random_text(24, 12), SHAPED["github-token"]
    (project / "inner").mkdir(parents=True)
    (project / ".git").mkdir()
    (project / "inner" / ".env").write_text(f"API_TOKEN={named}\nGREETING_WORD={plain}\nLEVEL=information\n")
    (project / "AGENTS.md").write_text(f"Outer. Deploy with {shaped} at the level information.\n")
    (project / "inner" / "AGENTS.md").write_text(
        f"Inner. The service takes {named}, it greets with {plain}.\n"
    )
    async with loopback() as server:
        write_user_settings(retry={"enabled": False})
        use_model_at(server)
        for folder, name, text in (
            ("rules", "style.md", f"---\nalwaysApply: true\n---\nA rule with {shaped}.\n"),
            (
                "skills/greet",
                "SKILL.md",
                f"---\nname: greet\ndescription: Greets with {named}\n---\nA skill.\n",
            ),
            ("prompts", "hello.md", f"A template with {named}.\n"),
            (".", "APPEND_SYSTEM.md", f"An addendum with {named}.\n"),
        ):
            (agent / folder).mkdir(parents=True, exist_ok=True)
            (agent / folder / name).write_text(text)
        server.reply(
            Reply(body=tool_call_body("read", path="AGENTS.md")), Reply(body=answer_body("an answer"))
        )
        code, _, err = await run(*BAYOU, *MODEL, "-p", "/hello", cwd=project / "inner")
    assert code == 0, err
    bodies = [request.body.decode() for request in server.requests]
    assert len(bodies) == 2
    for key in (named, plain, shaped):
        assert not any(key in body for body in bodies)
    for words in ("Outer.", "Inner.", "A rule with", "Greets with", "A template with", "An addendum with"):
        assert words in bodies[0]
    assert "level information" in bodies[0]
    prompts = [json.loads(body)["messages"][0] for body in bodies]
    assert prompts[0] == prompts[1] and "[secret:API_TOKEN:" in str(prompts[0])
    written = "".join(file.read_text() for file in agent.glob("sessions/**/*.jsonl"))
    assert "Outer." in written and not any(key in written for key in (named, plain, shaped))


async def test_what_is_called_no_secret_goes_through_from_files_for_the_model(tmp_path: Path):
    shaped = SHAPED["github-token"]
    (tmp_path / "AGENTS.md").write_text(f"Deploy with {shaped}.\n")
    async with loopback() as server:
        write_user_settings(retry={"enabled": False})
        use_model_at(server)
        server.reply(Reply(body=answer_body("an answer")))
        await run(*BAYOU, *MODEL, "-p", "one", cwd=tmp_path)
        digest = server.requests[0].body.decode().partition("[secret:github-token:")[2].partition("]")[0]
        write_user_settings(retry={"enabled": False}, secrets={"ignore": [digest]})
        await run(*BAYOU, *MODEL, "-p", "two", cwd=tmp_path)
    assert shaped not in server.requests[0].body.decode()
    assert shaped in server.requests[1].body.decode()


async def visit(port: int, target: str) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    answer = await reader.read()
    writer.close()
    return answer


async def test_a_sign_in_waits_on_when_another_page_sends_the_browser_to_it():
    async with OAuthRedirectServer(0, "/callback", "our-state") as callback:
        for target in (
            "/callback?code=theirs",
            "/callback?code=theirs&state=guess",
            "/callback?error=x&state=guess",
        ):
            assert b" 400 " in (await visit(callback.port, target)).split(b"\r\n")[0]
        assert (
            b" 200 " in (await visit(callback.port, "/callback?code=ours&state=our-state")).split(b"\r\n")[0]
        )
        async with asyncio.timeout(5):
            assert parse_authorization_code(await callback.redirect_address(), "our-state") == "ours"


def test_a_redirect_without_a_state_signs_in_no_account():
    with pytest.raises(CredentialError, match="has no state"):
        parse_authorization_code("http://localhost:1455/auth/callback?code=theirs", "our-state")
    assert parse_authorization_code("bare-code", "our-state") == "bare-code"


async def test_stored_keys_that_others_can_read_are_tightened_and_told(tmp_path: Path):
    async with loopback() as server:
        use_model_at(server)
        server.reply(Reply(body=answer_body("an answer")))
        file = Path(os.environ["BAYOU_AGENT_DIR"]) / "auth.json"
        file.write_text('{"mine": {"type": "api_key", "key": "k"}}')
        file.chmod(0o644)
        code, _, err = await run(*BAYOU, *MODEL, "-p", "Say it", cwd=tmp_path)
        assert code == 0 and mode(file) == 0o600
        assert f"{file} could be read by others (mode 644); now only you can." in err
        code, _, err = await run(*BAYOU, *MODEL, "-p", "Say it", cwd=tmp_path)
        assert (code, err) == (0, "")


async def test_sessions_exports_and_crash_reports_are_for_their_person_alone(tmp_path: Path):
    async with loopback() as server:
        use_model_at(server)
        server.reply(Reply(body=answer_body("an answer")))
        await run(*BAYOU, *MODEL, "--session-dir", str(tmp_path / "s"), "-p", "Say it", cwd=tmp_path)
    (session,) = (tmp_path / "s").glob("*.jsonl")
    assert mode(session) == 0o600
    for name in ("page.html", "page.md", "page.jsonl"):
        await run(*BAYOU, "--export", str(session), name, cwd=tmp_path)
        assert mode(tmp_path / name) == 0o600
    report = report_crash(tmp_path / "crashes", RuntimeError("x")).report
    assert report is not None and mode(report) == 0o600
