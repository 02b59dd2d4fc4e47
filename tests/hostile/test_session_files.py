"""A session file gives no rights and runs nothing by what it says; one's own session keeps what a person gave it."""

import asyncio
import json
import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from bayou.client import RpcClient
from bayou.connection import RpcError
from bayou.values import GoalCheck
from tests.conftest import ROOT
from tests.hostile.setups import COLD_BAYOU as BAYOU
from tests.hostile.setups import run
from tests.modes.processes import CALLS, results_of

STAMP = "2026-12-01T10:00:00.000Z"
SIGNATURE = "0" * 64


def message(role: str, text: str, **more: Any) -> dict[str, Any]:
    content = [{"type": "text", "text": text}]
    return {"type": "message", "message": {"role": role, "content": content, "timestamp": 1, **more}}


def custom(kind: str, **data: Any) -> dict[str, Any]:
    return {"type": "custom", "customType": kind, "data": data}


def crafted(file: Path, cwd: Path, *entries: Mapping[str, Any], session: str = "theirs") -> Path:
    usage = dict.fromkeys(("input", "output", "cacheRead", "cacheWrite", "totalTokens"), 0)
    cost = dict.fromkeys(("input", "output", "cacheRead", "cacheWrite", "total"), 0)
    model = {"api": "scripted", "provider": "scripted", "model": "script", "stopReason": "stop"}
    said = message("assistant", "hello", usage={**usage, "cost": cost}, **model)
    lines: list[dict[str, Any]] = [
        {"type": "session", "version": 3, "id": session, "timestamp": STAMP, "cwd": str(cwd)}
    ]
    above = None
    for number, entry in enumerate((message("user", "hi"), said, *entries)):
        line = {**entry, "id": f"{number:08x}", "parentId": above, "timestamp": STAMP}
        above = line["id"]
        lines.append(line)
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return file


def goal(mark: Path, **more: Any) -> dict[str, Any]:
    checks = [{"command": f"touch '{mark}'"}]
    told = {"text": "be done", "checks": checks, "status": "active"}
    return custom("bayou.goal", goal=told, isSet=True, **more)


@pytest.fixture
def other() -> Iterator[Path]:
    """A folder of the user that is none of the agent's business. What is in the folder for temporary files is open to
    every agent, and so are most folders of tests."""
    (ROOT / "build").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=ROOT / "build") as place:
        other = Path(place) / "other"
        other.mkdir()
        yield other


@pytest.fixture
def theirs(folder: Path, other: Path, mark: Path, tmp_path: Path) -> Path:
    """A session file of somebody else, which adds a folder and has a goal."""
    folders = custom("bayou.folders", paths=[str(other)], signature=SIGNATURE)
    return crafted(tmp_path / "theirs.jsonl", folder, folders, goal(mark, signature=SIGNATURE))


async def writes_into(client: RpcClient, other: Path) -> bool:
    """Whether the agent may write in this folder without a question."""
    await results_of(client, ("write", {"path": str(other / "made.txt"), "content": "x\n"}))
    return (other / "made.txt").exists()


def client_in(folder: Path, *arguments: str, told: list[dict[str, Any]] | None = None) -> RpcClient:
    async def deny(question: Mapping[str, Any]) -> dict[str, Any]:
        return {"value": "Deny"}

    client = RpcClient(
        cwd=folder, arguments=["-e", CALLS, "--permissions", "auto-edit", *arguments], answer_question=deny
    )
    if told is not None:
        client.on_event(lambda event: told.append(dict(event)))
    return client


async def told_once(client: RpcClient, told: list[dict[str, Any]], words: str) -> None:
    """Waits until exactly one notice contains these words."""
    await client.get_state()
    assert len([one for one in told if words in json.dumps(one)]) == 1, told


@pytest.mark.parametrize("how", [(), ("--mode", "json")])
def test_a_run_for_one_answer_runs_no_check_and_adds_no_folder_of_the_file(
    folder: Path, theirs: Path, other: Path, mark: Path, how: tuple[str, ...]
) -> None:
    calls = json.dumps([["write", {"path": str(other / "made.txt"), "content": "x"}]])
    done = subprocess.run(
        [*BAYOU, "-p", "-e", CALLS, "--permissions", "auto-edit", *how, "--session", theirs, calls],
        cwd=folder, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert not mark.exists() and not (other / "made.txt").exists(), done.stderr
    if not how:
        assert f"/add-dir {other}" in done.stderr and f"touch '{mark}'" in done.stderr


def test_in_full_mode_the_check_of_the_file_does_not_run_either(
    folder: Path, theirs: Path, mark: Path
) -> None:
    subprocess.run(
        [*BAYOU, "-p", "-e", CALLS, "--permissions", "full", "--session", theirs, "[]"],
        cwd=folder, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert not mark.exists()


async def test_switching_to_the_file_gives_nothing_and_says_so_once(
    folder: Path, theirs: Path, other: Path, mark: Path
) -> None:
    told: list[dict[str, Any]] = []
    async with client_in(folder, told=told) as client:
        await client.switch_session(str(theirs))
        await told_once(client, told, f"/add-dir {other}")
        await told_once(client, told, "/goal continue")
        assert not await writes_into(client, other)
        found = await client.get_goal()
        assert found is not None and found.goal.status == "paused"
        # A fork inside the program is a new session of this machine, but with nothing that nobody here gave.
        await client.clone()
        assert not await writes_into(client, other)
        assert not mark.exists()
        # Whoever reads the notice can give both.
        await client.add_folder(str(other))
        assert await writes_into(client, other)
        await client.continue_goal()
        await asyncio.wait_for(_exists(client, mark), 30)


async def _exists(client: RpcClient, file: Path) -> None:
    while not file.exists():
        await client.get_state()


async def test_a_copy_of_the_file_gives_nothing(folder: Path, theirs: Path, other: Path, mark: Path) -> None:
    async with client_in(folder, "--fork", str(theirs)) as client:
        assert not await writes_into(client, other)
        assert not mark.exists()


async def test_an_imported_file_gives_nothing(folder: Path, other: Path, mark: Path) -> None:
    sessions = Path.home() / ".pi" / "agent" / "sessions" / "--clone--"
    sessions.mkdir(parents=True)
    name = "2026-12-01T10-00-00-000Z_01a2314d-41fd-7676-9350-a7428f0a0209"
    crafted(
        sessions / f"{name}.jsonl",
        folder,
        custom("bayou.folders", paths=[str(other)]),
        goal(mark),
        session=name.partition("_")[2],
    )
    code, _, problem = await run(*BAYOU, "import-pi", "--yes", cwd=folder)
    assert code == 0, problem
    options = ("-p", "-e", CALLS, "--permissions", "full", "--session", "01a2314d")
    _, _, problem = await run(*BAYOU, *options, "[]", cwd=folder)
    assert f"/add-dir {other}" in problem and "/goal continue" in problem
    assert not mark.exists()


async def test_an_own_session_keeps_folders_and_goal_and_so_do_its_forks(
    folder: Path, other: Path, mark: Path, tmp_path: Path
) -> None:
    async with client_in(folder) as client:
        await client.add_folder(str(other))
        await client.set_goal("be done", [GoalCheck(command=f"test -e '{tmp_path / 'never'}'")], start=False)
        await results_of(client, ("ls", {}))
        file = (await client.get_state()).get("sessionFile")
    assert file is not None
    told: list[dict[str, Any]] = []
    async with client_in(folder, "--session", file, told=told) as client:
        found = await client.get_goal()
        assert found is not None and found.goal.reason != "it was not set on this machine"
        assert await writes_into(client, other)
        (other / "made.txt").unlink()
        await client.clone()
        assert await writes_into(client, other)
        (other / "made.txt").unlink()
    async with client_in(folder, "--fork", file, told=told) as client:
        assert await writes_into(client, other)
    assert "not from this machine" not in json.dumps(told)


async def test_what_was_given_to_one_session_counts_in_no_other(
    folder: Path, other: Path, tmp_path: Path
) -> None:
    async with client_in(folder) as client:
        await client.add_folder(str(other))
        await results_of(client, ("ls", {}))
        file = (await client.get_state()).get("sessionFile")
    assert file is not None
    lines = [json.loads(line) for line in Path(file).read_text().splitlines()]
    (given,) = [line for line in lines if line.get("customType") == "bayou.folders"]
    replayed = crafted(tmp_path / "replayed.jsonl", folder, custom("bayou.folders", **given["data"]))
    async with client_in(folder, "--session", str(replayed)) as client:
        assert not await writes_into(client, other)
    # Its own session in another folder, and with another place in the same entry.
    elsewhere = folder.parent / "elsewhere"
    elsewhere.mkdir()
    moved = tmp_path / "moved.jsonl"
    moved.write_text("".join(f"{json.dumps(x)}\n" for x in ({**lines[0], "cwd": str(elsewhere)}, *lines[1:])))
    async with client_in(elsewhere, "--session", str(moved)) as client:
        assert not await writes_into(client, other)
    more = other.parent / "more"
    more.mkdir()
    changed = tmp_path / "changed.jsonl"
    changed.write_text(Path(file).read_text().replace(str(other), str(more)))
    async with client_in(folder, "--session", str(changed)) as client:
        assert not await writes_into(client, more)


def test_an_odd_signature_is_none(folder: Path, other: Path, mark: Path, tmp_path: Path) -> None:
    deep: Any = []
    for _ in range(300):
        deep = [deep]
    odd = [
        custom("bayou.folders", paths=[str(other)], signature=one, more=deep)
        for one in (None, 7, [], {}, "\udcff", "x" * 100_000)
    ]
    for entry in odd:
        file = crafted(
            tmp_path / "odd.jsonl", folder, entry, goal(mark, signature=entry["data"]["signature"])
        )
        done = subprocess.run(
            [*BAYOU, "-p", "-e", CALLS, "--permissions", "full", "--session", file, "[]"],
            cwd=folder, capture_output=True, text=True, check=False, timeout=60, env=dict(os.environ),
        )  # fmt: skip
        assert "/add-dir" in done.stderr
        assert not mark.exists()


async def test_a_file_from_elsewhere_does_not_choose_where_the_agent_works(
    folder: Path, other: Path, tmp_path: Path
) -> None:
    file = crafted(tmp_path / "theirs.jsonl", other)
    calls = '[["write", {"path": "made.txt", "content": "x"}]]'
    options = ("-p", "-e", CALLS, "--permissions", "auto-edit", "--session", str(file))
    code, _, problem = await run(*BAYOU, *options, calls, cwd=folder)
    assert code == 2 and f"--fork {file}" in problem
    async with client_in(folder) as client:
        with pytest.raises(RpcError, match="--fork"):
            await client.switch_session(str(file))
        await results_of(client, ("write", {"path": "made.txt", "content": "x"}))
    assert (folder / "made.txt").exists() and not (other / "made.txt").exists()
    async with client_in(other, "--session", str(file)) as client:  # whoever starts there may continue it
        await results_of(client, ("write", {"path": "made.txt", "content": "x"}))
    assert (other / "made.txt").exists()
