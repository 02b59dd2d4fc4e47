"""Asking a server for its models, and what is said when that comes to nothing."""

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

from app.providers.credentials import Credentials
from app.providers.models.catalogue import ModelCatalogue
from app.providers.models.discovery import (
    ModelDiscoveryResult,
    discover_models,
    model_list_age_text,
    model_list_problem_hint,
    model_list_url,
    parse_model_list,
    stored_model_list_state,
)
from tests.providers.loopback import Loopback, Reply
from tests.support.warm_bayou import BAYOU

ROOT = Path(__file__).parents[2]


def write_models(folder: Path, url: str) -> None:
    entry = {"baseUrl": url, "api": "openai-completions", "compat": {"supportsStore": False}}
    (folder / "models.json").write_text(json.dumps({"providers": {"mine": entry}}))


def answer(data: Any, status: int = 200) -> Reply:
    return Reply(status=status, body=json.dumps(data).encode(), headers={"Content-Type": "application/json"})


async def ask(folder: Path) -> tuple[ModelDiscoveryResult, ModelCatalogue]:
    catalogue = ModelCatalogue.load_catalogue(folder, env={})
    return await discover_models("mine", catalogue, Credentials(folder, {}), folder), catalogue


async def test_a_servers_models_are_taken_and_kept_for_the_next_start(server: Loopback, tmp_path: Path):
    write_models(tmp_path, f"{server.url}/v1")
    server.reply(answer({"data": [{"id": "llama", "max_model_len": 8192}, {"id": "qwen"}]}))
    found, catalogue = await ask(tmp_path)
    assert (found.state, found.count, model_list_problem_hint(found)) == ("ok", 2, None)
    assert server.requests[0].target == "/v1/models"
    later = ModelCatalogue.load_catalogue(tmp_path, env={})
    for known in (catalogue, later):
        model = known.find_model("mine", "llama")
        assert model is not None and (model.api, model.context_window) == ("openai-completions", 8192)
        assert model.max_tokens == 8192, "no more than the window"
        assert model.compat == {"supportsStore": False}
    state = stored_model_list_state("mine", later, Credentials(tmp_path, {}))
    assert state.state == "cached" and "a moment ago" in (model_list_problem_hint(state) or "")


@pytest.mark.parametrize(
    ("reply", "state", "words"),
    [
        (answer({}, 404), "unavailable", "/v1/models answered 404. Point baseUrl"),
        (answer({}, 500), "unavailable", "The models cannot be listed: HTTP 500 from "),
        (answer({"data": []}), "empty", "The server lists no models. Check that /models"),
        (Reply(body=b"<html>no</html>", headers={}), "unavailable", "is not available"),
    ],
)
async def test_a_failed_discovery_says_why(
    reply: Reply, state: str, words: str, server: Loopback, tmp_path: Path
):
    write_models(tmp_path, f"{server.url}/v1")
    server.reply(reply)
    found, _ = await ask(tmp_path)
    assert found.state == state and words in (model_list_problem_hint(found) or "")


async def test_a_server_that_is_gone_leaves_the_kept_list(server: Loopback, tmp_path: Path):
    write_models(tmp_path, f"{server.url}/v1")
    server.reply(answer({"data": [{"id": "llama"}]}))
    await ask(tmp_path)
    write_models(tmp_path, "http://127.0.0.1:9/v1")
    found, catalogue = await ask(tmp_path)
    assert found.state == "unavailable" and "Using the list of models from a moment ago." in (
        model_list_problem_hint(found) or ""
    )
    assert catalogue.find_model("mine", "llama") is not None


async def test_nothing_is_asked_without_a_key(tmp_path: Path):
    catalogue, credentials = ModelCatalogue.load_catalogue(tmp_path, env={}), Credentials(tmp_path, {})
    found = await discover_models("openai", catalogue, credentials, tmp_path)
    assert found.state == "unauthenticated" == stored_model_list_state("openai", catalogue, credentials).state
    with_key = stored_model_list_state("openai", catalogue, Credentials(tmp_path, {"OPENAI_API_KEY": "k"}))
    assert with_key.state == "idle" and "has not been asked" in (model_list_problem_hint(with_key) or "")


@pytest.mark.parametrize("offline", ["", "--offline", "setting"])
async def test_the_list_of_models_asks_ones_own_servers(offline: str, server: Loopback, tmp_path: Path):
    agent_dir = tmp_path / ".bayou" / "agent"
    agent_dir.mkdir(parents=True)
    write_models(agent_dir, f"{server.url}/v1")
    if offline == "setting":
        (agent_dir / "settings.json").write_text('{"offline": true}')
    server.reply(answer({"data": [{"id": "llama", "max_model_len": 8192}]}))
    flags = [flag for flag in ("--list-models", offline) if flag.startswith("--")]
    listing = await asyncio.create_subprocess_exec(
        *(*BAYOU, *flags, "mine"),
        cwd=ROOT,
        env={"HOME": str(tmp_path), "PATH": os.environ["PATH"]},
        stdout=asyncio.subprocess.PIPE,
    )
    told = (await listing.communicate())[0].decode()
    assert ("llama" in told and "8k" in told) is (offline == "")
    assert len(server.requests) == (0 if offline else 1)


def test_a_broken_store_is_as_good_as_none(tmp_path: Path):
    (tmp_path / "models-store.json").write_text("{broken")
    assert ModelCatalogue.load_catalogue(tmp_path, env={}).models_file_problems == ()


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ({"data": [{"id": "a"}]}, [{"id": "a"}]),
        ({"models": [{"name": "llama3:8b", "model": "llama3:8b"}]}, [{"id": "llama3:8b"}]),
        (["a", "b"], [{"id": "a"}, {"id": "b"}]),
        (
            {"data": [{"id": "gguf", "meta": {"n_ctx_train": 4096}}]},
            [{"id": "gguf", "contextWindow": 4096}],
        ),
        (
            {
                "data": [
                    {"id": "lms", "type": "vlm", "max_context_length": 32768, "loaded_context_length": 4096}
                ]
            },
            [{"id": "lms", "contextWindow": 4096, "input": ["text", "image"]}],
        ),
        (
            {
                "models": [
                    {"name": "models/g", "displayName": "G", "inputTokenLimit": 100, "outputTokenLimit": 10}
                ]
            },
            [{"id": "g", "name": "G", "contextWindow": 100, "maxTokens": 10}],
        ),
        (
            {
                "data": [
                    {
                        "id": "x/y",
                        "context_length": 9,
                        "architecture": {"input_modalities": ["text", "image"]},
                        "pricing": {"prompt": "0.000001", "completion": "0.000002"},
                        "supported_parameters": ["tools", "reasoning"],
                    }
                ]
            },
            [
                {
                    "id": "x/y",
                    "contextWindow": 9,
                    "input": ["text", "image"],
                    "reasoning": True,
                    "cost": {"input": 1.0, "output": 2.0},
                }
            ],
        ),
        ({"data": "nonsense"}, []),
        (None, []),
        ({"data": [{"no": "id"}, 5]}, []),
    ],
)
def test_the_answers_of_several_servers(data: Any, expected: list[dict[str, Any]]):
    assert parse_model_list(data) == expected


def test_ages_and_addresses():
    assert [model_list_age_text(s) for s in (3, 60, 7200, 90_000)] == [
        "a moment ago",
        "1 minute ago",
        "2 hours ago",
        "1 day ago",
    ]
    assert model_list_url("anthropic-messages", "https://x/") == "https://x/v1/models"
    assert model_list_url("openai-completions", "https://x/v1") == "https://x/v1/models"
