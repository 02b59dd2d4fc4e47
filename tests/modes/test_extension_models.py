"""Models and flags of an extension at the start of the real program: named, listed, the default, restored, missing."""

import os
import shutil
from pathlib import Path

import pytest

from bayou.client import RpcClient, RpcError
from bayou.values import Model, State
from tests.modes.processes import write_settings
from tests.modes.test_print_and_json import Done, bayou

GUILD = Path(__file__).parent / "extensions" / "guild.py"


@pytest.fixture(autouse=True)
def installed() -> Path:
    folder = Path(os.environ["BAYOU_AGENT_DIR"]) / "extensions"
    folder.mkdir(parents=True)
    shutil.copy(GUILD, folder)
    return folder / "guild.py"


def model_of(state: State) -> Model:
    model = state.get("model")
    assert model is not None
    return model


async def said(cwd: Path, *arguments: str) -> str:
    done = await bayou("-p", *arguments, cwd=cwd)
    assert (done.code, done.err) == (0, ""), done.err
    return done.out


@pytest.mark.parametrize(
    "named",
    [
        ["--model", "guild/smith"],
        ["--model", "smith"],
        ["--provider", "guild", "--model", "smith"],
        ["--models", "guild/smith,guild/mason"],
        ["--model", "guild/smith", "--api-key", "mine"],
    ],
)
async def test_an_extension_model_can_be_named_at_the_start(tmp_path: Path, named: list[str]) -> None:
    assert await said(tmp_path, *named, "hello") == "smith of None: hello\n"


async def test_a_level_behind_its_name_counts_and_stays(tmp_path: Path) -> None:
    async with RpcClient(cwd=tmp_path, arguments=["--model", "guild/mason:high"]) as client:
        state = await client.get_state()
        assert (model_of(state).id, state["thinkingLevel"]) == ("mason", "high")
        await client.prompt_and_wait("hello")
    async with RpcClient(cwd=tmp_path, arguments=["-c"]) as client:
        assert (await client.get_state())["thinkingLevel"] == "high"


async def test_it_can_be_the_default(tmp_path: Path) -> None:
    write_settings({"defaultProvider": "guild", "defaultModel": "mason"})
    assert await said(tmp_path, "hello") == "mason of None: hello\n"


async def test_where_nothing_else_is_connected_it_is_the_default_by_itself(tmp_path: Path) -> None:
    assert await said(tmp_path, "hello") == "smith of None: hello\n"


async def test_a_provider_that_is_connected_stays_the_default(tmp_path: Path) -> None:
    async with RpcClient(cwd=tmp_path, env={**os.environ, "ANTHROPIC_API_KEY": "sk-of-a-test"}) as client:
        assert model_of(await client.get_state()).provider == "anthropic"


async def test_it_is_listed(tmp_path: Path) -> None:
    done = await bayou("--list-models", "guild", cwd=tmp_path)
    assert done.code == 0
    assert [line.split()[0] for line in done.out.splitlines()[1:]] == ["guild", "guild"]
    assert (
        await bayou("--list-models", "guild", "--safe", cwd=tmp_path)
    ).out == "No model matches 'guild'.\n"


async def test_an_extension_model_is_restored_with_its_session(tmp_path: Path) -> None:
    await said(tmp_path, "--model", "guild/mason", "one")
    assert await said(tmp_path, "-c", "two") == "mason of None: two\n"
    assert await said(tmp_path, "-c", "--model", "smith", "three") == "smith of None: three\n"
    assert await said(tmp_path, "-c", "four") == "smith of None: four\n"


MISSING = "This session used guild/mason, which is not available now"


async def test_where_it_is_missing_nothing_is_sent_elsewhere(tmp_path: Path, installed: Path) -> None:
    await said(tmp_path, "--model", "guild/mason", "one")
    installed.unlink()
    for key in ("", "sk-of-a-test"):
        done = await bayou("-p", "-c", "a secret", cwd=tmp_path, ANTHROPIC_API_KEY=key)
        assert (done.code, done.out) == (2, "")
        assert MISSING in done.err and "which is not available now" in done.err
    async with RpcClient(cwd=tmp_path, arguments=["-c"]) as client:
        state = await client.get_state()
        assert "model" not in state
        with pytest.raises(RpcError, match=MISSING):
            await client.prompt("a secret")
        with pytest.raises(RpcError, match=MISSING):
            await client.compact()
        await client.set_model("offline", "guide")
        await client.prompt_and_wait("help")
        assert model_of(await client.get_state()).provider == "offline"


async def test_a_session_that_is_switched_to_says_so_too(tmp_path: Path, installed: Path) -> None:
    await said(tmp_path, "--model", "guild/mason", "one")
    async with RpcClient(cwd=tmp_path, arguments=["-c"]) as client:
        file = (await client.get_state()).get("sessionFile", "")
    installed.unlink()
    async with RpcClient(cwd=tmp_path) as client:
        told: list[str] = []
        client.on_event(lambda event: told.append(event.get("text", "")))
        await client.prompt_and_wait("help")
        await client.switch_session(file)
        with pytest.raises(RpcError, match=MISSING):
            await client.prompt("a secret")
        assert any(MISSING in text for text in told)


async def test_an_unknown_name_is_refused(tmp_path: Path) -> None:
    done = await bayou("-p", "--model", "guild/carpenter", "hello", cwd=tmp_path)
    assert (done.code, done.out) == (2, "")
    assert "No model is called 'guild/carpenter'" in done.err


@pytest.mark.parametrize("spelling", [["--house", "York"], ["--house=York"]])
async def test_a_flag_with_a_value_takes_it_in_both_spellings(tmp_path: Path, spelling: list[str]) -> None:
    wanted = "smith of York: hello\n"
    assert await said(tmp_path, "--model", "smith", *spelling, "hello") == wanted
    assert await said(tmp_path, "--model", "smith", "hello", *spelling) == wanted
    done = await bayou("--model", "smith", *spelling, cwd=tmp_path, stdin=b"hello")
    assert done.out == wanted
    assert await said(tmp_path, "--model", "smith", "--loud", "hello") == "SMITH OF NONE: HELLO\n"


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--house"], "--house needs a value"),
        (["hello", "--house"], "--house needs a value"),
        (["--house", "--loud", "hello"], "--house needs a value"),
        (["--house=", "hello"], "--house needs a value"),
        (["--loud=yes", "hello"], "--loud takes no value"),
        (["--hose", "York", "hello"], "Unknown option: --hose"),
        (["--house", "York"], "No prompt was given"),
    ],
)
async def test_a_flag_without_its_value_runs_nothing(tmp_path: Path, words: list[str], problem: str) -> None:
    done: Done = await bayou("-p", "--model", "smith", *words, cwd=tmp_path)
    assert (done.code, done.out) == (2, "")
    assert problem in done.err


async def test_a_file_behind_a_flag_is_its_value_and_not_read(tmp_path: Path) -> None:
    assert await said(tmp_path, "--model", "smith", "--house", "@none", "hello") == "smith of @none: hello\n"
