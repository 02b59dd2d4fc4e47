"""A session acts in its own folder, wherever it is opened from; what that cannot mean is an error with both names."""

import json
import os
from pathlib import Path

import pytest

from app.resources.paths import BayouPaths
from app.resources.trust.project_trust import store_trust_answer, trust_question_for
from app.sessions.session_library import list_sessions
from bayou.client import RpcClient, RpcError
from bayou.values import ToolResultMessage, text_of
from tests.modes.test_print_and_json import bayou

FAST = {"BAYOU_OFFLINE_PACE": "0"}


@pytest.fixture
def proj(tmp_path: Path) -> Path:
    return folder(tmp_path, "proj")


@pytest.fixture
def other(tmp_path: Path) -> Path:
    return folder(tmp_path, "other")


def folder(tmp_path: Path, name: str) -> Path:
    made = tmp_path / name
    made.mkdir()
    (made / "where.txt").write_text(f"this is {name}\n")
    (made / "AGENTS.md").write_text(f"Rules of {name}.\n")
    return made


def paths_at(cwd: Path) -> BayouPaths:
    return BayouPaths.from_env(os.environ, cwd)


async def session_of(cwd: Path) -> Path:
    """Of a session that was begun there."""
    done = await bayou("-p", "hello", cwd=cwd)
    assert done.code == 0, done.err
    found = list_sessions(paths_at(cwd).sessions_dir, cwd)
    return found[0].path


async def test_print_mode_works_in_the_sessions_folder_and_says_so(proj: Path, other: Path) -> None:
    path = await session_of(proj)
    (other / "more.txt").write_text("more of other\n")
    done = await bayou("-p", "--session", str(path), "read where.txt", "!pwd", cwd=other)
    assert done.code == 0
    assert str(proj) in done.err and str(other) in done.err
    done = await bayou("-p", "--session", str(path), "@more.txt", "help", "run pwd", cwd=other)
    stored = path.read_text()
    assert "this is proj" in stored and "this is other" not in stored
    assert "Rules of proj." in stored and "Rules of other." not in stored
    assert "more of other" in stored, "what the command line names is meant from where it was said"
    assert str(proj) in done.out


async def test_a_folder_that_is_asked_for_besides_is_an_error_with_both_names(
    proj: Path, other: Path
) -> None:
    path = await session_of(proj)
    before = path.read_bytes()
    done = await bayou("-p", "--cwd", str(other), "--session", str(path), "hello", cwd=proj)
    assert done.code == 2
    assert str(proj) in done.err and str(other) in done.err and "--fork" in done.err
    assert path.read_bytes() == before
    assert (await bayou("-p", "--cwd", str(proj), "--session", str(path), "hello", cwd=other)).code == 0


async def test_a_folder_that_is_gone_is_an_error_with_both_names(proj: Path, other: Path) -> None:
    path = await session_of(proj)
    proj.rename(proj.with_name("moved"))
    done = await bayou("-p", "--session", str(path), "hello", cwd=other)
    assert done.code == 2
    assert str(proj) in done.err and str(other) in done.err
    async with RpcClient(cwd=other, env={**os.environ, **FAST}) as client:
        with pytest.raises(RpcError, match=f"{proj}.*{other}"):
            await client.switch_session(str(path))
        assert (await client.bash("pwd"))["output"].strip() == str(other)


async def test_a_fork_from_the_command_line_is_about_the_folder_that_one_stands_in(
    proj: Path, other: Path
) -> None:
    path = await session_of(proj)
    done = await bayou("-p", "--fork", str(path), "read where.txt", cwd=other)
    assert (
        done.code == 0 and done.err.startswith("bayou: No model is connected") and done.err.count("\n") == 1
    )
    forked = list_sessions(paths_at(other).sessions_dir, other)[0].path
    assert "this is other" in forked.read_text()


async def test_switching_takes_everything_along_and_back(proj: Path, other: Path) -> None:
    path, first = await session_of(proj), await session_of(other)
    async with RpcClient(cwd=other, env={**os.environ, **FAST}) as client:
        await client.switch_session(str(path))
        assert (await client.bash("pwd"))["output"].strip() == str(proj)
        await client.prompt_and_wait("read where.txt")
        results = [one for one in await client.get_messages() if isinstance(one, ToolResultMessage)]
        assert text_of(results[-1].content) == "this is proj"
        await client.switch_session(str(first))
        assert (await client.bash("pwd"))["output"].strip() == str(other)
        await client.prompt_and_wait("read where.txt")
        results = [one for one in await client.get_messages() if isinstance(one, ToolResultMessage)]
        assert text_of(results[-1].content) == "this is other"
    assert "Rules of proj." in path.read_text() and "Rules of other." not in path.read_text()
    assert "Rules of other." in first.read_text()


EXTENSION = """
def extension(api):
    @api.command("here", description="%s")
    async def here(words, context):
        pass
"""


async def test_extensions_and_settings_are_those_of_the_folder_if_it_is_trusted(
    proj: Path, other: Path
) -> None:
    for place, prompt in ((proj, "from-proj"), (other, "from-other")):
        (place / ".bayou" / "extensions").mkdir(parents=True)
        (place / ".bayou" / "extensions" / "here.py").write_text(EXTENSION % prompt)
        (place / ".bayou" / "settings.json").write_text(
            json.dumps({"shellCommandPrefix": f"echo {prompt} &&"})
        )
    path = await session_of(proj)
    async with RpcClient(cwd=other, arguments=["--approve"], env={**os.environ, **FAST}) as client:
        told: list[str] = []
        client.on_event(lambda event: told.append(str(event.get("text"))))
        names = {one["name"] for one in await client.get_commands()}
        assert "here" in names
        await client.switch_session(str(path))
        names = {one["name"] for one in await client.get_commands()}
        assert "here" not in names, "--approve was said of the other folder"
        assert (await client.bash("pwd"))["output"].strip() == str(proj)
        assert any("not trusted" in text for text in told)
    paths = paths_at(proj)
    store_trust_answer(paths, trust_question_for(paths), is_trusted=True)
    async with RpcClient(cwd=other, env={**os.environ, **FAST}) as client:
        await client.switch_session(str(path))
        assert "here" in {one["name"] for one in await client.get_commands()}
        assert (await client.bash("pwd"))["output"].splitlines() == ["from-proj", str(proj)]


VOUCHING = """
def extension(api):
    api.on("project_trust", lambda event, context: {"trusted": "yes" if event.cwd.name == "proj" else "undecided"})
"""


async def test_an_extension_of_the_persons_may_vouch_for_the_folder(
    proj: Path, other: Path, tmp_path: Path
) -> None:
    (tmp_path / "vouching.py").write_text(VOUCHING)
    (proj / ".bayou" / "extensions").mkdir(parents=True)
    (proj / ".bayou" / "extensions" / "here.py").write_text(EXTENSION % "proj")
    path, first = await session_of(proj), await session_of(other)
    vouched = ["-e", "../vouching.py"]  # meant from where bayou is started, also after that
    async with RpcClient(cwd=other, arguments=vouched, env={**os.environ, **FAST}) as client:
        await client.switch_session(str(path))
        assert "here" in {one["name"] for one in await client.get_commands()}
        await client.switch_session(str(first))
        assert "here" not in {one["name"] for one in await client.get_commands()}


async def test_each_session_has_its_own_outputs_and_a_fork_those_that_it_speaks_of(
    proj: Path, other: Path
) -> None:
    path = await session_of(proj)
    async with RpcClient(cwd=proj, env={**os.environ, **FAST}) as client:
        await client.prompt_and_wait("run seq 100000 103000")
        assert await said_by_artifact(client, 0) == "100000"
        await client.switch_session(str(path))
        assert "There is no artifact://0" in await said_by_artifact(client, 0)
        await client.prompt_and_wait("run seq 200000 203000")
        assert await said_by_artifact(client, 0) == "200000"
        assert path.with_suffix(".artifacts").is_dir()
        await client.clone()
        assert await said_by_artifact(client, 0) == "200000"
        await client.prompt_and_wait("run seq 300000 303000")
        assert await said_by_artifact(client, 1) == "300000"


async def said_by_artifact(client: RpcClient, number: int) -> str:
    await client.prompt_and_wait(f"read artifact://{number}")
    results = [one for one in await client.get_messages() if isinstance(one, ToolResultMessage)]
    return text_of(results[-1].content).split("\n")[0]
