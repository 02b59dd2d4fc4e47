"""A key is asked about by one request: what servers say, and what bayou makes of it, down to the command."""

import asyncio
import json
import os
from pathlib import Path

import pytest

from app.providers.adapter_registry import AdapterRegistry
from app.providers.model_stream import Credential, StreamOptions
from app.providers.models.catalogue import ModelCatalogue
from app.providers.signin.key_check import ApiKeyChecker
from tests.providers.loopback import Loopback, Reply, loopback, sse
from tests.support.warm_bayou import BAYOU

SAYS = {"id": "c", "choices": [{"index": 0, "delta": {"content": "ready"}, "finish_reason": "stop"}]}
TAKEN = Reply(body=sse(SAYS, done=True))


def fails(status: int, text: str) -> Reply:
    return Reply(status=status, body=json.dumps({"error": {"message": text}}).encode())


def catalogue_of(folder: Path, url: str) -> ModelCatalogue:
    entry = {"baseUrl": url, "api": "openai-completions", "models": [{"id": "m"}]}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "models.json").write_text(json.dumps({"providers": {"mine": entry}}))
    return ModelCatalogue.load_catalogue(folder, env={})


@pytest.mark.parametrize(
    ("reply", "state"),
    [
        (TAKEN, "accepted"),
        (fails(401, "Incorrect API key provided"), "refused"),
        (fails(403, "forbidden"), "refused"),
        (fails(400, "API key not valid. Please pass a valid API key."), "refused"),
        (fails(429, "Rate limit reached"), "accepted"),
        (fails(402, "Insufficient balance"), "accepted"),
        (fails(404, "The model m does not exist"), "unknown"),
        (fails(503, "Service unavailable"), "unknown"),
    ],
)
async def test_what_servers_say(tmp_path: Path, reply: Reply, state: str) -> None:
    async with loopback() as server:
        server.reply(reply)
        registry = AdapterRegistry()
        check = ApiKeyChecker(catalogue_of(tmp_path, server.url), registry, StreamOptions)
        checked = await check("mine", Credential(key="sk-secret"))
        await registry.close_connections()
        assert checked.state == state
        assert len(server.requests) == 1
        request = server.requests[0]
        assert request.headers["authorization"] == "Bearer sk-secret"
        assert len(json.dumps(request.json)) < 500
        assert "sk-secret" not in checked.text


async def test_without_a_network_nothing_is_asked(tmp_path: Path) -> None:
    check = ApiKeyChecker(catalogue_of(tmp_path, "http://127.0.0.1:9"), AdapterRegistry(), lambda: None)
    assert (await check("mine", Credential(key="x"))).state == "unknown"
    alone = ApiKeyChecker(catalogue_of(tmp_path, "http://127.0.0.1:9"), AdapterRegistry(), StreamOptions)
    assert (await alone("mine", Credential(key="x"))).state == "unknown"
    assert (
        await alone("nobody", Credential(key="x"))
    ).text == "No model of this provider is known, so the key was not tested."


async def auth(server: Loopback, *words: str) -> tuple[int, str, str]:
    catalogue_of(Path(os.environ["BAYOU_AGENT_DIR"]), server.url)
    process = await asyncio.create_subprocess_exec(
        *BAYOU, "auth", *words,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    out, err = await asyncio.wait_for(process.communicate(b"sk-secret\n"), 60)
    return process.returncode or 0, out.decode(), err.decode()


async def test_the_command_stores_what_is_taken_and_nothing_that_is_refused() -> None:
    kept = Path(os.environ["BAYOU_AGENT_DIR"]) / "auth.json"
    async with loopback() as server:
        server.reply(fails(401, "Incorrect API key provided"))
        code, out, err = await auth(server, "login", "mine")
        assert code == 1 and "mine rejected this key, so it was not stored." in err
        assert not kept.exists()
        server.reply(TAKEN)
        code, out, err = await auth(server, "login", "mine")
        assert (code, err) == (0, ""), err
        assert "mine accepts the key." in out and "Stored the key for mine" in out
        assert json.loads(kept.read_text())["mine"]["key"] == "sk-secret"
        assert "sk-secret" not in out
