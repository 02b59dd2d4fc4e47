"""Which key is used, where it comes from, and that it stays secret."""

import asyncio
import json
import os
import stat
import sys
from pathlib import Path
from typing import Any

import pytest

from app.providers import auth_file
from app.providers.auth_file import AuthFile
from app.providers.credentials import CredentialError, Credentials, mask_secret
from app.values.user_errors import FileError


def write_auth(folder: Path, entries: Any) -> Path:
    path = folder / "auth.json"
    path.write_text(entries if isinstance(entries, str) else json.dumps(entries))
    return path


def write_models(folder: Path, **providers: dict[str, Any]) -> None:
    (folder / "models.json").write_text(json.dumps({"providers": providers}))


async def key_of(credentials: Credentials, provider: str) -> str | None:
    found = await credentials.resolve_credential(provider)
    return found.key if found else None


async def test_the_order_of_places(tmp_path: Path):
    env = {"OPENAI_API_KEY": "from-env"}
    credentials = Credentials(tmp_path, env)
    assert (credentials.credential_source_of("openai"), await key_of(credentials, "openai")) == (
        "environment",
        "from-env",
    )
    write_models(tmp_path, openai={"apiKey": "from-models"})
    credentials = Credentials(tmp_path, env)
    assert (credentials.credential_source_of("openai"), await key_of(credentials, "openai")) == (
        "models.json",
        "from-models",
    )
    credentials.set_extension_key("openai", "from-extension", owner="e")
    assert (credentials.credential_source_of("openai"), await key_of(credentials, "openai")) == (
        "extension",
        "from-extension",
    )
    await credentials.store_key("openai", "stored")
    assert (credentials.credential_source_of("openai"), await key_of(credentials, "openai")) == (
        "stored",
        "stored",
    )
    credentials.set_command_line_key("openai", "given")
    assert (credentials.credential_source_of("openai"), await key_of(credentials, "openai")) == (
        "run",
        "given",
    )
    credentials.remove_extension_keys("e")
    assert await credentials.remove_stored_credential(
        "openai"
    ) and not await credentials.remove_stored_credential("openai")
    assert await key_of(Credentials(tmp_path, env), "openai") == "from-models"


async def test_what_another_process_stores_or_takes_away_counts_with_the_next_request(tmp_path: Path):
    here, elsewhere = Credentials(tmp_path, {}), Credentials(tmp_path, {})
    here.preload_files_of_provider("openai")
    assert await key_of(here, "openai") is None
    await elsewhere.store_key("openai", "stored")
    assert (here.credential_source_of("openai"), await key_of(here, "openai")) == ("stored", "stored")
    await elsewhere.store_key("openai", "another")
    assert await key_of(here, "openai") == "another"
    (tmp_path / "auth.json").unlink()
    assert (here.credential_source_of("openai"), await key_of(here, "openai")) == (None, None)


async def test_no_key_no_credential(tmp_path: Path):
    credentials = Credentials(tmp_path, {})
    assert not credentials.has_credential("openai") and await credentials.resolve_credential("openai") is None
    assert (
        not credentials.has_credential("unknown-provider")
        and await credentials.resolve_credential("unknown-provider") is None
    )


async def test_two_providers_of_one_api_never_share_a_key(tmp_path: Path):
    env = {"OPENAI_API_KEY": "sk-openai"}
    write_models(tmp_path, mine={"api": "openai-responses", "baseUrl": "http://x"})
    credentials = Credentials(tmp_path, env)
    assert await key_of(credentials, "mine") == ""
    assert await credentials.resolve_credential("groq") is None


async def test_values_may_name_a_variable_or_a_command(tmp_path: Path):
    counter = tmp_path / "count"
    command = f"!echo run >> {counter}; echo secret-$((1+1))"
    write_auth(
        tmp_path,
        {
            "openai": {"type": "api_key", "key": "$MY_KEY"},
            "groq": {"type": "api_key", "key": "${MY_KEY}"},
            "xai": {"type": "api_key", "key": command},
        },
    )
    credentials = Credentials(tmp_path, {"MY_KEY": "v", "PATH": os.environ["PATH"]})
    assert await key_of(credentials, "openai") == await key_of(credentials, "groq") == "v"
    assert await asyncio.gather(*(key_of(credentials, "xai") for _ in range(3))) == ["secret-2"] * 3
    assert counter.read_text() == "run\n", "once in the life of the process"


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("$NOT_SET", "the environment variable NOT_SET, but it is not set"),
        ("!echo why >&2; exit 3", "`echo why >&2; exit 3`, but it failed with exit code 3: why"),
        ("!true", "`true`, but it printed nothing"),
    ],
)
async def test_a_value_that_cannot_be_had_says_why(tmp_path: Path, value: str, words: str):
    write_auth(tmp_path, {"openai": {"type": "api_key", "key": value}})
    with pytest.raises(CredentialError) as caught:
        await Credentials(tmp_path, {"PATH": os.environ["PATH"]}).resolve_credential("openai")
    assert words in str(caught.value) and "openai" in str(caught.value)


async def test_headers_settings_and_bearer_tokens_come_with_the_key(tmp_path: Path):
    write_models(
        tmp_path,
        mine={
            "api": "openai-completions",
            "baseUrl": "http://x",
            "apiKey": "k",
            "authHeader": True,
            "headers": {"X-Team": "$TEAM", "X-Plain": "p"},
        },
    )
    write_auth(
        tmp_path, {"azure": {"type": "api_key", "key": "k", "env": {"AZURE_OPENAI_API_VERSION": "v2"}}}
    )
    env = {"TEAM": "blue", "AZURE_OPENAI_RESOURCE_NAME": "res", "AZURE_OPENAI_API_VERSION": "v1"}
    credentials = Credentials(tmp_path, {**env, "ANTHROPIC_OAUTH_TOKEN": "t", "ANTHROPIC_API_KEY": "k"})
    mine, azure = await credentials.resolve_credential("mine"), await credentials.resolve_credential("azure")
    anthropic = await credentials.resolve_credential("anthropic")
    assert mine and mine.is_bearer and dict(mine.headers) == {"X-Team": "blue", "X-Plain": "p"}
    assert azure and dict(azure.env) == {
        "AZURE_OPENAI_RESOURCE_NAME": "res",
        "AZURE_OPENAI_API_VERSION": "v2",
    }
    assert anthropic and (anthropic.key, anthropic.is_bearer) == ("t", True)


async def test_clouds_are_noticed_without_reading_their_secrets(tmp_path: Path):
    assert not Credentials(tmp_path, {"HOME": str(tmp_path)}).has_credential("google-vertex")
    adc = tmp_path / ".config" / "gcloud" / "application_default_credentials.json"
    adc.parent.mkdir(parents=True)
    adc.write_text("not even JSON")
    env = {"HOME": str(tmp_path), "GOOGLE_CLOUD_PROJECT": "p"}
    assert not Credentials(tmp_path, env).has_credential("google-vertex")
    vertex = Credentials(tmp_path, {**env, "GOOGLE_CLOUD_LOCATION": "eu"})
    assert vertex.credential_source_of("google-vertex") == "surroundings"
    found = await vertex.resolve_credential("google-vertex")
    assert found and found.key == "" and found.env["GOOGLE_CLOUD_PROJECT"] == "p"
    for aws in (
        {"AWS_PROFILE": "p"},
        {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "s"},
        {"AWS_BEARER_TOKEN_BEDROCK": "t"},
        {"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "/x"},
        {"AWS_WEB_IDENTITY_TOKEN_FILE": "/f", "AWS_ROLE_ARN": "r"},
    ):
        assert Credentials(tmp_path, aws).has_credential("amazon-bedrock"), aws
    assert not Credentials(tmp_path, {"AWS_ACCESS_KEY_ID": "a"}).has_credential("amazon-bedrock")
    found = await Credentials(
        tmp_path, {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "s"}
    ).resolve_credential("amazon-bedrock")
    assert found and "s" not in (found.key, *found.env.values())


async def test_settings_that_are_missing_make_a_key_useless(tmp_path: Path):
    env = {"CLOUDFLARE_API_KEY": "k"}
    assert not Credentials(tmp_path, env).has_credential("cloudflare-workers-ai")
    assert Credentials(tmp_path, {**env, "CLOUDFLARE_ACCOUNT_ID": "a"}).has_credential(
        "cloudflare-workers-ai"
    )


async def test_the_file_is_private_and_written_whole(tmp_path: Path):
    await Credentials(tmp_path / "agent", {}).store_key("openai", "k", {"REGION": "eu"})
    path = tmp_path / "agent" / "auth.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert json.loads(path.read_text()) == {
        "openai": {"type": "api_key", "key": "k", "env": {"REGION": "eu"}}
    }
    assert [item.name for item in path.parent.iterdir() if item.name.startswith(".auth-")] == []


async def test_what_others_store_is_seen_and_kept(tmp_path: Path):
    first, second = Credentials(tmp_path, {}), Credentials(tmp_path, {})
    await first.store_key("openai", "1")
    await second.store_key("groq", "2")
    await first.store_key("xai", "3")
    assert dict(second.stored_credential_kinds()) == {
        "openai": "api_key",
        "groq": "api_key",
        "xai": "api_key",
    }


async def test_many_processes_may_store_at_once(tmp_path: Path):
    program = (
        "import asyncio, sys; from pathlib import Path; from app.providers.credentials import Credentials\n"
        "folder, name = sys.argv[1:]\n"
        "async def main():\n"
        "    for n in range(5): await Credentials(Path(folder), {}).store_key(f'{name}{n}', name)\n"
        "asyncio.run(main())"
    )
    runs = [
        await asyncio.create_subprocess_exec(sys.executable, "-c", program, str(tmp_path), name)
        for name in "abc"
    ]
    assert [await run.wait() for run in runs] == [0, 0, 0]
    assert len(Credentials(tmp_path, {}).stored_credential_kinds()) == 15


async def test_a_broken_file_is_not_taken_for_a_sound_one_while_it_is_read_again(tmp_path: Path, monkeypatch):
    """Two threads read it: what one is about to write must not go by what the other has not found out yet."""
    path = write_auth(tmp_path, '{"openai": {"type": "api_key", "key": "kept"},')
    auth, really, inside = AuthFile(tmp_path), auth_file.read_json_object, list[bool]()
    assert auth.entries.current() == {} and auth.read_error is not None

    def reading(file: Path) -> Any:
        inside.append(auth.read_error is not None)
        return really(file)

    monkeypatch.setattr(auth_file, "read_json_object", reading)
    with pytest.raises(FileError), auth.locked_entries() as entries:
        entries["anthropic"] = {"type": "api_key", "key": "new"}
    assert inside == [True] and "kept" in path.read_text()


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ('{\n  "openai": {"type": "api_key" "key": "s3cret"}\n}', "line 2, column 32", "a ',' is missing"),
        ('{\n  "openai": "s3cret"\n}', "line 2, column 13", "an object is needed"),
        ('{\n  "openai": {"type": "api_key", "key": 5}\n}', "line 2, column 13", "a text `key`"),
        ('{"a": {"type": "password", "key": "s3cret"}}', "line 1, column 7", "`type` must be"),
    ],
)
async def test_a_broken_file_is_named_left_alone_and_not_shown(
    tmp_path: Path, text: str, place: str, words: str
):
    path = write_auth(tmp_path, text)
    credentials = Credentials(tmp_path, {"OPENAI_API_KEY": "env"})
    (*_, problem) = credentials.auth_file_problems
    assert f"auth.json, {place}: " in problem and words in problem and "s3cret" not in problem
    assert await key_of(credentials, "openai") == "env", "bayou goes on without it"
    with pytest.raises(CredentialError, match="was not changed"):
        await credentials.store_key("groq", "k")
    assert path.read_text() == text


async def test_secrets_are_masked_wherever_they_are_shown(tmp_path: Path):
    found = await Credentials(tmp_path, {"OPENAI_API_KEY": "sk-very-secret-key"}).resolve_credential("openai")
    assert "secret" not in repr(found) and "secret" not in f"{found}"
    assert mask_secret("sk-very-secret-key") == "sk-v…-key"
    assert "short" not in mask_secret("short")
