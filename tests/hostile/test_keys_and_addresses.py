"""A key goes to the address that it was given for, in whichever way a provider is defined, and nowhere else.

Every request of the real program goes through a proxy of this machine, which sees where it goes and what it carries.
"""

import asyncio
import json
import os
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.hostile.setups import answer_body, run, write_user_settings
from tests.support.warm_bayou import BAYOU

VENDOR = {"OPENAI_API_KEY": "key-of-the-environment"}
STORED = {"openai": {"type": "api_key", "key": "key-that-is-stored"}}
EXTENSION = """
from bayou import Model, ProviderSpec

def extension(api):
    api.register_provider(ProviderSpec(**{spec}))
"""
MODEL = (
    'Model(id="m", name="M", api="openai-completions", provider="mine", context_window=9000, max_tokens=900)'
)


class Went(msgspec.Struct, frozen=True):
    """One request as the proxy sees it."""

    target: str
    headers: Mapping[str, str]


@pytest.fixture
async def went() -> AsyncIterator[list[Went]]:
    """The requests so far; each is answered in the place of its server, and encrypted ones are refused."""
    seen: list[Went] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().splitlines()
        headers = {
            name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:] if line)
        }
        method, target, _ = head[0].split(" ")
        seen.append(Went(f"{method} {target}", headers))
        if method != "CONNECT":
            await reader.readexactly(int(headers.get("content-length", 0)))
            body = answer_body("Hello")
            writer.write(
                b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: %d\r\n\r\n"
                % len(body)
            )
            writer.write(body)
        else:
            writer.write(b"HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()
        writer.close()

    proxy = await asyncio.start_server(answer, "127.0.0.1", 0)
    write_user_settings(
        httpProxy=f"http://127.0.0.1:{proxy.sockets[0].getsockname()[1]}", retry={"enabled": False}
    )
    yield seen
    proxy.close()


def write(name: str, content: Any) -> None:
    path = Path(os.environ["BAYOU_AGENT_DIR"]) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))


def extension(**spec: str) -> None:
    given = "dict(" + ", ".join(f"{name}={value}" for name, value in spec.items()) + ")"
    write("extensions/mine.py", EXTENSION.format(spec=given))


async def asked(folder: Path, *words: str, env: Mapping[str, str] = VENDOR) -> tuple[int, str, str]:
    return await run(*BAYOU, "--no-session", *words, "-p", "hi", cwd=folder, env={**os.environ, **env})


def keys(went: list[Went]) -> set[tuple[str, str]]:
    """Host and key of each request."""
    out: set[tuple[str, str]] = set()
    for each in went:
        found = [
            each.headers[name] for name in ("authorization", "api-key", "x-api-key") if name in each.headers
        ]
        host = each.target.split(" ")[1].removeprefix("http://").partition("/")[0]
        out.add((host, " ".join(found).removeprefix("Bearer ")))
    return out


CHAT = "openai-completions"
WAYS: dict[str, dict[str, Any]] = {
    "a provider of models.json": {
        "mine": {"baseUrl": "http://mine.test/v1", "api": CHAT, "apiKey": "mine-key", "models": [{"id": "m"}]}
    },
    "a model's own address in models.json": {
        "mine": {"api": CHAT, "apiKey": "mine-key", "models": [{"id": "m", "baseUrl": "http://mine.test/v1"}]}
    },
    "an empty address of a model in models.json": {
        "mine": {
            "baseUrl": "http://mine.test/v1",
            "api": CHAT,
            "apiKey": "mine-key",
            "models": [{"id": "m", "baseUrl": ""}],
        }
    },
}


@pytest.mark.parametrize("way", WAYS)
async def test_models_json(way: str, went: list[Went], tmp_path: Path):
    write("models.json", {"providers": WAYS[way]})
    write("auth.json", STORED)
    code, out, err = await asked(tmp_path, "--model", "mine/m")
    assert (code, out.strip()) == (0, "Hello"), err
    assert keys(went) == {("mine.test", "mine-key")}


async def test_settings_that_name_the_model(went: list[Went], tmp_path: Path):
    write("models.json", {"providers": WAYS["a provider of models.json"]})
    kept = json.loads((Path(os.environ["BAYOU_AGENT_DIR"]) / "settings.json").read_text())
    write_user_settings(**kept, defaultProvider="mine", defaultModel="m")
    code, _, err = await asked(tmp_path)
    assert code == 0, err
    assert keys(went) == {("mine.test", "mine-key")}


async def test_models_json_gives_a_known_provider_another_address_and_a_key(went: list[Went], tmp_path: Path):
    gateway = {"openai": {"baseUrl": "http://gateway.test/v1", "api": CHAT, "apiKey": "gateway-key"}}
    write("models.json", {"providers": gateway})
    write("auth.json", STORED)
    code, _, err = await asked(tmp_path, "--model", "openai/gpt-6.1-sol")
    assert code == 0, err
    assert keys(went) == {("gateway.test", "gateway-key")}, "neither the stored key nor the environment's"


@pytest.mark.parametrize(
    ("name", "models", "model"),
    [("mine", f"({MODEL},)", "mine/m"), ("openai", f"({MODEL},)", "openai/m"), ("openai", "()", "openai/gpt-6.1-sol")],
)  # fmt: skip
async def test_an_extension(name: str, models: str, model: str, went: list[Went], tmp_path: Path):
    extension(
        name=repr(name), base_url="'http://extension.test/v1'", api_key="'extension-key'", models=models
    )
    write("models.json", {"providers": {"openai": {"api": CHAT}}})
    write("auth.json", STORED)
    code, _, err = await asked(tmp_path, "--model", model)
    assert code == 0, err
    assert keys(went) == {("extension.test", "extension-key")}


async def test_an_extension_that_names_no_address_gets_none_of_a_vendor(went: list[Went], tmp_path: Path):
    extension(name="'mine'", api_key="'extension-key'", models=f"({MODEL},)")
    code, _, err = await asked(tmp_path, "--model", "mine/m")
    assert code != 0 and "set `baseUrl` of its provider in models.json" in err
    assert went == []


async def test_the_environment(went: list[Went], tmp_path: Path):
    env = {"AZURE_OPENAI_API_KEY": "azure-key", "AZURE_OPENAI_BASE_URL": "http://azure.test/openai/v1"}
    await asked(tmp_path, "--model", "azure/gpt-6.1-sol", env=env)
    assert keys(went) == {("azure.test", "azure-key")}


async def test_the_environments_address_gets_no_key_of_models_json(went: list[Went], tmp_path: Path):
    gateway = {"azure": {"baseUrl": "http://gateway.test/openai/v1", "apiKey": "gateway-key"}}
    write("models.json", {"providers": gateway})
    env = {"AZURE_OPENAI_API_KEY": "azure-key", "AZURE_OPENAI_BASE_URL": "http://azure.test/openai/v1"}
    await asked(tmp_path, "--model", "azure/gpt-6.1-sol", env=env)
    assert keys(went) == {("gateway.test", "gateway-key")}


@pytest.mark.parametrize("how", ["stored", "environment"])
async def test_the_vendors_own_address_for_what_was_given_for_it(how: str, went: list[Went], tmp_path: Path):
    if how == "stored":
        write("auth.json", STORED)
    code, _, _ = await asked(
        tmp_path, "--model", "openai/gpt-6.1-sol", env=VENDOR if how == "environment" else {}
    )
    assert code != 0 and {each.target for each in went} == {"CONNECT api.openai.com:443"}


async def test_a_login_for_a_provider_of_ones_own(went: list[Went], tmp_path: Path):
    provider = {**WAYS["a provider of models.json"]["mine"], "apiKey": "mine-key"}
    write("models.json", {"providers": {"mine": provider}})
    process = await asyncio.create_subprocess_exec(
        *BAYOU, "auth", "login", "mine", "--api-key", cwd=tmp_path, env={**os.environ, **VENDOR},
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    _, err = await process.communicate(b"typed-key\n")
    assert process.returncode == 0, err.decode()
    code, _, told = await asked(tmp_path, "--model", "mine/m")
    assert code == 0, told
    assert keys(went) == {("mine.test", "typed-key")}
