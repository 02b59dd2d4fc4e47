"""A list of todos that a program sets, and plan mode, through a process that is killed."""

import os
import signal
from pathlib import Path

import pytest

from bayou.client import RpcClient, RpcError
from bayou.values import TodoItem, TodoPhase
from tests.hostile.setups import COLD_BAYOU
from tests.modes.test_rpc_process import FAST

WORK = TodoPhase(
    name="Work", tasks=(TodoItem(content="First", status="in_progress"), TodoItem(content="Second"))
)


async def test_a_list_is_set_told_and_there_again_after_a_kill(tmp_path: Path) -> None:
    env = {**os.environ, **FAST}
    async with RpcClient(cwd=tmp_path, env=env, command=COLD_BAYOU) as bayou:
        await bayou.prompt_and_wait("hello")
        phases = await bayou.set_todos([WORK])
        assert [item.id for item in phases[0].tasks] == ["task-1", "task-2"]
        state = await bayou.get_state()
        assert state["todoPhases"] == phases
        with pytest.raises(RpcError, match="“First” would be in the list twice"):
            await bayou.set_todos([WORK, WORK])
        file = state.get("sessionFile")
        assert file is not None
        os.kill(bayou.connection.pid, signal.SIGKILL)
    async with RpcClient(arguments=("--session", file), cwd=tmp_path, env=env) as again:
        assert (await again.get_state())["todoPhases"] == phases


async def test_plan_mode_is_there_again_after_a_kill_until_it_is_left(tmp_path: Path) -> None:
    env = {**os.environ, **FAST}
    async with RpcClient(cwd=tmp_path, env=env, command=COLD_BAYOU) as bayou:
        before = (await bayou.get_permissions())["mode"]
        await bayou.prompt_and_wait("hello")
        await bayou.set_plan_mode(True)
        file = (await bayou.get_state()).get("sessionFile")
        assert file is not None
        os.kill(bayou.connection.pid, signal.SIGKILL)
    again = ("--session", file)
    async with RpcClient(arguments=again, cwd=tmp_path, env=env) as bayou:
        assert (await bayou.get_state())["planMode"]
        assert (await bayou.get_permissions())["mode"] == "read-only"
        await bayou.prompt_and_wait("run touch made")
        assert not (tmp_path / "made").exists()
        await bayou.set_plan_mode(False)
        assert (await bayou.get_permissions())["mode"] == before
    async with RpcClient(arguments=again, cwd=tmp_path, env=env) as bayou:
        assert not (await bayou.get_state())["planMode"]


async def test_plan_mode_follows_the_place_in_the_tree_and_into_forks(tmp_path: Path) -> None:
    env = {**os.environ, **FAST}
    async with RpcClient(cwd=tmp_path, env=env) as bayou:
        before = (await bayou.get_permissions())["mode"]

        async def is_on() -> bool:
            on = (await bayou.get_state())["planMode"]
            assert (await bayou.get_permissions())["mode"] == ("read-only" if on else before)
            return on

        await bayou.prompt_and_wait("hello")
        await bayou.set_plan_mode(True)
        await bayou.prompt_and_wait("run touch made")
        file = (await bayou.get_state()).get("sessionFile")
        first, second = (one["entryId"] for one in await bayou.get_fork_messages())
        await bayou.navigate_tree(first)
        assert not await is_on()
        await bayou.navigate_tree(second)
        assert await is_on()
        await bayou.fork(second)
        assert await is_on()
        assert file is not None
        await bayou.switch_session(file)
        assert await is_on()
        await bayou.fork(first)
        assert not await is_on()
        await bayou.new_session()
        assert not await is_on()
        assert not (tmp_path / "made").exists()


async def test_plan_mode_goes_on_with_continue_and_from_another_folder(tmp_path: Path) -> None:
    env = {**os.environ, **FAST}
    here, elsewhere = tmp_path / "here", tmp_path / "elsewhere"
    here.mkdir()
    elsewhere.mkdir()
    async with RpcClient(cwd=here, env=env, arguments=("--plan",)) as bayou:
        await bayou.prompt_and_wait("hello")
        file = (await bayou.get_state()).get("sessionFile")
    assert file is not None
    for cwd, words in (
        (here, ("--continue",)),
        (elsewhere, ("--session", file)),
        (elsewhere, ("--fork", file)),
    ):
        async with RpcClient(cwd=cwd, env=env, arguments=words) as bayou:
            assert (await bayou.get_state())["planMode"]
            assert (await bayou.get_permissions())["mode"] == "read-only"
            await bayou.prompt_and_wait("run touch made")
    assert not list(tmp_path.rglob("made"))


async def test_added_folders_are_there_again_after_a_kill(tmp_path: Path) -> None:
    env, work, library = {**os.environ, **FAST}, tmp_path / "work", tmp_path / "library"
    for folder in (work, library):
        folder.mkdir()
    async with RpcClient(cwd=work, env=env) as bayou:
        await bayou.prompt_and_wait("hello")
        assert await bayou.add_folder("../library") == [str(library)]
        with pytest.raises(RpcError, match="was added already"):
            await bayou.add_folder(str(library))
        file = (await bayou.get_state()).get("sessionFile")
        assert file is not None
        os.kill(bayou.connection.pid, signal.SIGKILL)
    async with RpcClient(arguments=("--session", file), cwd=work, env=env) as bayou:
        assert (await bayou.get_state())["addedFolders"] == [str(library)]
        assert await bayou.remove_folder(str(library)) == []
