"""Batches on a cluster: a real scheduler and real workers on loopback."""

import asyncio
import json
import os
import signal
import socket
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path

import pytest

from app.batch.agent_process import DASK_TLS_VARIABLE_PREFIX, AgentProcess
from app.batch.tasks import BatchTask
from app.exit_codes import DONE, FAILED, USAGE_ERROR
from tests.batch.batch_setups import SCRIPTED, batch, git, hanging, make_repository, results, write_tasks
from tests.batch.test_patches import EDITS
from tests.hostile.setups import answer_body, use_model_at, write_user_settings
from tests.providers.loopback import Received, Reply, loopback
from tests.support.warm_bayou import BAYOU

NAPS = str(Path(__file__).parent / "extensions" / "naps.py")


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


@asynccontextmanager
async def program(*words: str, blocks: int = 0, **env: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """One of the engine's own programs, whose files may have so many blocks of 512 bytes."""
    limited = ("sh", "-c", f'ulimit -f {blocks}; exec "$@"', "sh") if blocks else ()
    process = await asyncio.create_subprocess_exec(
        *(*limited, sys.executable, "-P", "-m", *words),
        env={**os.environ, **env},
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):  # a test may have ended it
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()


@asynccontextmanager
async def scheduler() -> AsyncIterator[str]:
    port = free_port()
    words = ("--host", "127.0.0.1", "--port", str(port), "--no-dashboard")
    async with program("distributed.cli.dask_scheduler", *words):
        async with asyncio.timeout(60):
            while True:
                try:
                    _, writer = await asyncio.open_connection("127.0.0.1", port)
                except OSError:
                    await asyncio.sleep(0.05)
                else:
                    writer.close()
                    break
        yield f"tcp://127.0.0.1:{port}"


@asynccontextmanager
async def worker(address: str, blocks: int = 0, **env: str) -> AsyncIterator[asyncio.subprocess.Process]:
    options = ("--nthreads", "1", "--memory-limit", "0", "--no-dashboard", "--no-nanny")
    async with program("distributed.cli.dask_worker", address, *options, blocks=blocks, **env) as process:
        yield process


@contextmanager
def other_bayou(place: Path) -> Iterator[str]:
    """A path on which bayou has another version."""
    package = place / "bayou"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text('__version__ = "0.0.1"\n')
    yield os.pathsep.join((str(place), os.environ["PYTHONPATH"]))


async def test_runs_of_a_cluster_come_back_with_patch_and_session(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "project")
    tasks = write_tasks(
        tmp_path / "t.jsonl",
        *({"id": f"t{number}", "prompt": "edit", "check": "grep -q more a.txt"} for number in range(3)),
        {"id": "copied", "prompt": "edit", "folder": str(repository), "check": "exit 3"},
    )
    async with scheduler() as address, worker(address), worker(address):
        words = (tasks, "--out", "out", "--repo", repository, *SCRIPTED[:2], "--cluster", address)
        code, told, errors = await batch(*words, cwd=tmp_path, options=("-e", EDITS))
        assert (code, errors) == (FAILED, ""), told
        code, told, _ = await batch(*words, cwd=tmp_path, options=("-e", EDITS))
        assert code == FAILED and "0 runs, 4 done before" in told
    found = results(tmp_path / "out")
    assert {id: one["outcome"] for id, one in found.items()} == {
        "t0": "passed",
        "t1": "passed",
        "t2": "passed",
        "copied": "failed",
    }
    assert len((tmp_path / "out" / "results.jsonl").read_text().splitlines()) == 4
    for one in found.values():
        assert one["source"] == str(repository) and one["answer"].startswith("It is edited.")
        assert (tmp_path / "out" / one["session"]).exists()
    git(repository, "apply", "--check", str(tmp_path / "out" / found["t0"]["patch"]))
    state = Path.home() / ".local" / "state" / "bayou" / "batches"
    assert [place for place in state.iterdir()] == []


async def test_a_cluster_of_this_machine_needs_no_scheduler_and_leaves_nothing(tmp_path: Path) -> None:
    make_repository(tmp_path / "project")
    tasks = write_tasks(tmp_path / "t.jsonl", *({"id": id, "prompt": "edit"} for id in ("one", "two")))
    words = (tasks, "--out", "out", "--repo", "project", *SCRIPTED[:2], "--cluster", "local:2")
    code, told, errors = await batch(*words, cwd=tmp_path, options=("-e", EDITS))
    assert (code, errors) == (DONE, "") and "2 passed." in told
    assert list((Path.home() / ".local" / "state" / "bayou" / "batches").iterdir()) == []


async def test_the_keys_of_a_cluster_of_this_machine_are_in_no_file_and_no_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("distributed")
    from app.batch.cluster.connection import connect_or_start_cluster

    (tmp_path / "t").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "t"))
    async with connect_or_start_cluster("local:1", 1):
        files = [path for path in (tmp_path / "t").rglob("*") if path.is_file()]
        assert [path for path in files if b"PRIVATE KEY" in path.read_bytes()] == []
    monkeypatch.setenv(f"{DASK_TLS_VARIABLE_PREFIX}WORKER__KEY", "a key")
    made = AgentProcess(
        BatchTask(id="a", prompt="x"), tmp_path, tmp_path, options=(), max_cost=None, rate_limits=tmp_path
    )
    assert "a key" not in made.environment.values()


async def test_a_lost_worker_loses_no_result_and_nothing_ends_twice(tmp_path: Path) -> None:
    make_repository(tmp_path / "project")
    count = 6
    tasks = write_tasks(
        tmp_path / "t.jsonl", *({"id": f"t{number}", "prompt": f"nap t{number}"} for number in range(count))
    )
    ends = tmp_path / "ends"
    async with (
        scheduler() as address,
        worker(address, NAPS_END=str(ends)),
        worker(address, NAPS_END=str(ends)) as lost,
    ):
        words = ("batch", str(tasks), "--out", "out", "--repo", "project", "--cluster", address, "--json")
        running = await asyncio.create_subprocess_exec(
            *(*BAYOU, *words, *SCRIPTED[:2], "--", "-e", NAPS),
            cwd=tmp_path,
            stdout=asyncio.subprocess.PIPE,
        )
        assert running.stdout is not None
        async with asyncio.timeout(120):
            async for line in running.stdout:
                if json.loads(line)["type"] == "run_ended":
                    break
        os.killpg(lost.pid, signal.SIGKILL)
        rest = (await asyncio.wait_for(running.communicate(), 240))[0]
    assert running.returncode == DONE, rest
    lines = [json.loads(line) for line in (tmp_path / "out" / "results.jsonl").read_text().splitlines()]
    assert sorted(line["id"] for line in lines) == [f"t{number}" for number in range(count)]
    assert {line["outcome"] for line in lines} == {"passed"}
    assert len(set(ends.read_text().split())) == count


async def test_a_worker_with_another_version_or_without_keys_is_refused_by_name(tmp_path: Path) -> None:
    make_repository(tmp_path / "project")
    tasks = write_tasks(tmp_path / "t.jsonl", {"id": "one", "prompt": "edit"})
    words = (tasks, "--out", "out", "--repo", "project", "--models", "anthropic/claude-opus-5-5")
    async with scheduler() as address:
        with other_bayou(tmp_path / "old") as path:
            async with worker(address, PYTHONPATH=path) as old:
                await arrived(address, 1)
                code, _, errors = await batch(*words, "--cluster", address, cwd=tmp_path)
                assert code == USAGE_ERROR and "it has bayou 0.0.1, and this is bayou" in errors
                assert "The worker tcp://127.0.0.1:" in errors
                os.killpg(old.pid, signal.SIGKILL)
        async with worker(address):
            await arrived(address, 1)
            code, _, errors = await batch(*words, "--cluster", address, cwd=tmp_path)
            assert code == USAGE_ERROR and "it has no key for anthropic (ANTHROPIC_API_KEY)" in errors
    assert not (tmp_path / "out" / "results.jsonl").exists()


async def arrived(address: str, count: int) -> None:
    from app.batch.cluster.engine import Client

    async with Client(address, asynchronous=True, set_as_default=False) as client:
        await client.wait_for_workers(count)


async def test_an_unreachable_scheduler_is_named_within_five_seconds(tmp_path: Path) -> None:
    make_repository(tmp_path / "project")
    tasks = write_tasks(tmp_path / "t.jsonl", {"id": "one", "prompt": "edit"})
    began = time.monotonic()
    words = (tasks, "--out", "out", "--repo", "project", "--cluster", f"tcp://127.0.0.1:{free_port()}")
    code, _, errors = await batch(*words, cwd=tmp_path)
    assert code == USAGE_ERROR and "no scheduler answers there" in errors
    print(time.monotonic() - began)
    code, _, errors = await batch(*words[:-1], "nonsense", cwd=tmp_path)
    assert code == USAGE_ERROR and "use a scheduler's address" in errors


async def test_a_lost_scheduler_ends_the_batch_and_the_same_command_continues(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    tasks = write_tasks(tmp_path / "t.jsonl", {"id": "one", "prompt": "say"})
    arrived_there = asyncio.Event()
    async with loopback() as server:
        use_model_at(server)
        server.reply(hanging(1, arrived_there))
        words = ("--out", "out", "--folder", "project", "--models", "mine/m", "--cluster")
        async with scheduler() as address, worker(address):
            running = await asyncio.create_subprocess_exec(
                *(*BAYOU, "batch", str(tasks), *words, address), cwd=tmp_path, stderr=asyncio.subprocess.PIPE
            )
            await asyncio.wait_for(arrived_there.wait(), 120)
        errors = (await asyncio.wait_for(running.communicate(), 120))[1].decode()
        assert running.returncode == USAGE_ERROR and "no longer answers" in errors
        assert results(tmp_path / "out")["one"]["outcome"] == "cancelled"
        server.reply(Reply(body=answer_body("done")))
        code, told, errors = await batch(tasks, *words[:-1], cwd=tmp_path, options=())
    assert (code, errors) == (DONE, ""), told


async def test_a_full_disk_of_a_worker_is_a_result_that_is_retried_elsewhere(tmp_path: Path) -> None:
    make_repository(tmp_path / "project")
    tasks = write_tasks(tmp_path / "t.jsonl", {"id": "one", "prompt": "edit"})
    async with scheduler() as address:
        words = (tasks, "--out", "out", "--repo", "project", *SCRIPTED[:2], "--cluster", address)
        async with worker(address, blocks=2):
            code, told, errors = await batch(*words, cwd=tmp_path, options=("-e", EDITS))
            assert (code, errors) == (FAILED, ""), told
        assert results(tmp_path / "out")["one"]["outcome"] == "error"
        async with worker(address):
            code, told, errors = await batch(*words, "--retry", "error", cwd=tmp_path, options=("-e", EDITS))
        assert (code, errors) == (DONE, ""), told


async def test_a_rate_limit_of_one_worker_holds_for_the_others(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    tasks = write_tasks(tmp_path / "t.jsonl", {"id": "one", "prompt": "say"}, {"id": "two", "prompt": "say"})
    write_user_settings(retry={"enabled": False})
    times: list[float] = []

    def limited(_: Received) -> Reply:
        times.append(time.time())
        return Reply(status=429, headers={"Retry-After": "6"}, body=b"{}")

    def answered(_: Received) -> Reply:
        times.append(time.time())
        return Reply(body=answer_body("done"))

    async with loopback() as server, scheduler() as address, worker(address):
        use_model_at(server)
        server.reply(limited, answered)
        words = (tasks, "--out", "out", "--folder", "project", "--models", "mine/m", "--cluster", address)
        code, told, errors = await batch(*words, cwd=tmp_path, options=())
    assert (code, errors) == (FAILED, ""), told
    assert sorted(one["outcome"] for one in results(tmp_path / "out").values()) == ["error", "passed"]
    assert times[1] - times[0] >= 5
