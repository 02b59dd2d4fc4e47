"""`bayou batch` through the real program: runs are isolated, each end is a result, nothing is lost or run twice."""

import asyncio
import json
import os
import signal
import time
from pathlib import Path

from app.exit_codes import DONE, FAILED, INTERRUPTED, LIMIT_REACHED, USAGE_ERROR
from tests.batch.batch_setups import SCRIPTED, batch, git, hanging, make_repository, results, write_tasks
from tests.hostile.setups import answer_body, ending, piece, use_model_at, write_user_settings
from tests.providers.loopback import Received, Reply, loopback, sse
from tests.support.warm_bayou import BAYOU
from tools.box.sandbox_features import system_sandbox_features


def all_of(repository: Path) -> tuple[str, ...]:
    """What a person has in a repository."""
    words = (("status", "--porcelain"), ("branch", "--all"), ("worktree", "list"), ("ls-files", "--stage"))
    return tuple(git(repository, *one) for one in words)


async def test_each_task_runs_in_a_clone_and_every_end_is_a_result(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "project")
    before, work, out = all_of(repository), tmp_path / "work", tmp_path / "out"
    check = "cat a.txt new.txt && touch made-by-check && grep -q hi new.txt"
    tasks = write_tasks(
        tmp_path / "t.jsonl",
        {"id": "good", "prompt": "write", "setup": "echo s > of-setup", "check": check},
        {"id": "bad", "prompt": "write", "check": "exit 3"},
        {"id": "broken", "prompt": "fail", "check": "true"},
    )
    words = (tasks, "--out", out, "--repo", repository, "--work", work, *SCRIPTED)
    code, told, errors = await batch(*words, cwd=tmp_path)
    assert (code, errors) == (FAILED, "")
    assert "3 runs, 2 at a time." in told and "1 passed, 1 failed, 1 error." in told
    found = results(out)
    assert {id: one["outcome"] for id, one in found.items()} == {
        "good": "passed",
        "bad": "failed",
        "broken": "error",
    }
    assert (found["good"]["checkCode"], found["bad"]["checkCode"], found["broken"]["exitCode"]) == (0, 3, 6)
    assert (
        found["bad"]["reason"] == "check ended with 3" and "The key was refused" in found["broken"]["reason"]
    )
    assert found["good"]["answer"] == "It is written." and found["good"]["turns"] == 2
    assert found["good"]["tokens"] > 0 and (out / found["good"]["session"]).exists()
    patch = (out / found["good"]["patch"]).read_text()
    assert "+++ b/new.txt" in patch and "made-by-check" not in patch and "of-setup" not in patch
    git(repository, "apply", "--check", str(out / found["good"]["patch"]))
    assert all_of(repository) == before and list(work.iterdir()) == []

    write_tasks(tasks, {"id": "good", "prompt": "write", "setup": "echo s > of-setup", "check": check})
    code, told, _ = await batch(*words, cwd=tmp_path)
    assert code == DONE and "0 runs, 1 done before" in told
    assert len((out / "results.jsonl").read_text().splitlines()) == 3
    other = write_tasks(tmp_path / "u.jsonl", {"id": "good", "prompt": "write"})
    code, _, errors = await batch(other, *words[1:], cwd=tmp_path)
    assert code == USAGE_ERROR and "it has the results of another batch" in errors


async def test_a_copied_folder_keeps_the_original_as_it_was_and_events_are_json(tmp_path: Path) -> None:
    folder = make_repository(tmp_path / "project")
    (folder / "a.txt").write_text("changed\n")
    tasks = write_tasks(tmp_path / "t.jsonl", {"id": "one", "prompt": "write", "check": "grep changed a.txt"})
    words = (tasks, "--out", "out", *SCRIPTED, "--json")
    code, _, errors = await batch(*words, "--repo", folder, cwd=tmp_path)
    assert code == USAGE_ERROR and "has uncommitted changes" in errors
    code, told, errors = await batch(*words, "--folder", folder, cwd=tmp_path)
    assert (code, errors) == (DONE, "")
    events = [json.loads(line) for line in told.splitlines()]
    assert [event["type"] for event in events] == ["batch_started", "run_started", "run_ended", "batch_ended"]
    assert events[2]["result"] == results(tmp_path / "out")["one"]
    patch = (tmp_path / "out" / events[2]["result"]["patch"]).read_text()
    assert "+++ b/new.txt" in patch and "a.txt" not in patch
    assert not (folder / "new.txt").exists()
    assert list((Path.home() / ".local" / "state" / "bayou" / "batches").iterdir()) == []


async def test_commands_end_with_their_time_and_the_check_is_confined_like_the_agent(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    agent_dir = Path(os.environ["BAYOU_AGENT_DIR"])
    agent_dir.mkdir(parents=True)
    (agent_dir / "auth.json").write_text("{}")
    check = f"cat {agent_dir}/auth.json"
    tasks = write_tasks(
        tmp_path / "t.jsonl",
        {"id": "setup", "prompt": "write", "setup": "sleep 600 & sleep 600", "setup_limit": 0.5},
        {"id": "check", "prompt": "write", "check": "sleep 600 & sleep 600", "check_limit": 0.5},
        {"id": "boxed", "prompt": "write", "check": check},
        {"id": "free", "prompt": "write", "check": check, "permissions": "full"},
    )
    code, _, errors = await batch(tasks, "--out", "out", "--folder", folder, *SCRIPTED, cwd=tmp_path)
    assert (code, errors) == (FAILED, "")
    found = results(tmp_path / "out")
    assert (found["setup"]["outcome"], found["setup"]["reason"]) == ("timeout", "setup took too long")
    assert "exitCode" not in found["setup"]
    assert (found["check"]["outcome"], found["check"]["reason"]) == ("timeout", "check took too long")
    assert found["free"]["outcome"] == "passed"
    is_sandboxed = system_sandbox_features().step != "none"
    assert found["boxed"]["outcome"] == ("failed" if is_sandboxed else "passed")


async def test_a_killed_batch_goes_on_and_leaves_no_agent_behind(tmp_path: Path) -> None:
    folder, out = tmp_path / "project", tmp_path / "out"
    folder.mkdir()
    tasks = write_tasks(tmp_path / "t.jsonl", *({"id": id, "prompt": f"say {id}"} for id in ("one", "two")))
    write_user_settings(retry={"enabled": False})
    async with loopback() as server:
        use_model_at(server)
        arrived = asyncio.Event()
        server.reply(Reply(body=answer_body("done")), hanging(1, arrived))
        words = (*BAYOU, "batch", str(tasks), "--out", str(out), "--folder", str(folder), "--jobs", "1")
        words += ("--models", "mine/m", "--work", str(tmp_path / "work"))
        first = await asyncio.create_subprocess_exec(*words, cwd=tmp_path, stdout=asyncio.subprocess.PIPE)
        await asyncio.wait_for(arrived.wait(), 120)
        first.kill()
        await first.wait()
        assert list(results(out)) == ["one"]
        await asyncio.wait_for(server.client_left.wait(), 60)
        server.reply(Reply(body=answer_body("done")))
        second = await asyncio.create_subprocess_exec(*words, cwd=tmp_path, stdout=asyncio.subprocess.PIPE)
        told = (await asyncio.wait_for(second.communicate(), 120))[0].decode()
    assert second.returncode == DONE and "1 run, 1 done before" in told
    assert [len(server.requests), *results(out)] == [3, "one", "two"]
    assert list((tmp_path / "work").iterdir()) == []


async def test_ctrl_c_ends_all_runs_as_results_and_the_same_command_continues(tmp_path: Path) -> None:
    folder, out = tmp_path / "project", tmp_path / "out"
    folder.mkdir()
    tasks = write_tasks(
        tmp_path / "t.jsonl", *({"id": id, "prompt": "wait"} for id in ("one", "two", "three"))
    )
    async with loopback() as server:
        use_model_at(server)
        arrived = asyncio.Event()
        server.reply(hanging(2, arrived))
        words = (*BAYOU, "batch", str(tasks), "--out", str(out), "--folder", str(folder), "--jobs", "2")
        words += ("--models", "mine/m")
        running = await asyncio.create_subprocess_exec(*words, cwd=tmp_path, stdout=asyncio.subprocess.PIPE)
        await asyncio.wait_for(arrived.wait(), 120)
        os.kill(running.pid, signal.SIGINT)
        told = (await asyncio.wait_for(running.communicate(), 60))[0].decode()
    assert running.returncode == INTERRUPTED
    assert "2 cancelled. Stopped" in told and "for the remaining 1 run." in told
    assert {one["outcome"] for one in results(out).values()} == {"cancelled"}
    assert all((out / one["session"]).exists() for one in results(out).values())


async def test_a_dry_run_shows_the_matrix_and_the_most_it_may_cost(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "project")
    tasks = write_tasks(
        tmp_path / "t.jsonl", {"id": "one", "prompt": "x"}, {"id": "two", "prompt": "x", "rev": "v9"}
    )
    words = (
        tasks,
        "--dry-run",
        "--repo",
        repository,
        "--models",
        "a,b",
        "--repeat",
        "3",
        "--max-cost",
        "0.5",
    )
    code, _, errors = await batch(*words, cwd=tmp_path)
    assert code == USAGE_ERROR and "Task two: " in errors and "has no revision v9" in errors
    git(repository, "tag", "v9")
    code, told, _ = await batch(*words, cwd=tmp_path)
    assert code == DONE and "12 runs" in told and "6 a, 6 b" in told and "Maximum cost: $6.00" in told
    assert not (tmp_path / "out").exists()


async def test_a_budget_stops_the_whole(tmp_path: Path) -> None:
    folder, out = tmp_path / "project", tmp_path / "out"
    folder.mkdir()
    tasks = write_tasks(
        tmp_path / "t.jsonl", *({"id": id, "prompt": f"say {id}"} for id in ("one", "two", "three"))
    )
    async with loopback() as server:
        use_model_at(server, models=[{"id": "m", "cost": {"input": 1_000, "output": 1_000}}])
        usage = {"id": "c", "choices": [], "usage": {"prompt_tokens": 600, "completion_tokens": 0}}
        server.sse(sse(piece("done"), ending(), usage, done=True))
        words = (
            tasks,
            "--out",
            out,
            "--folder",
            folder,
            "--jobs",
            "1",
            "--models",
            "mine/m",
            "--budget",
            "1",
        )
        code, told, errors = await batch(*words, cwd=tmp_path, options=())
    assert (code, errors) == (LIMIT_REACHED, ""), told
    assert "The budget is spent" in told and "1 run did not start" in told
    assert {id: one["cost"] for id, one in results(out).items()} == {"one": 0.6, "two": 0.6}


async def test_a_rate_limit_that_one_run_meets_holds_for_the_next(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    tasks = write_tasks(tmp_path / "t.jsonl", {"id": "one", "prompt": "say"}, {"id": "two", "prompt": "say"})
    write_user_settings(retry={"enabled": False})
    times: list[float] = []

    def limited(_: Received) -> Reply:
        times.append(time.time())
        return Reply(status=429, headers={"Retry-After": "5"}, body=b"{}")

    def answered(_: Received) -> Reply:
        times.append(time.time())
        return Reply(body=answer_body("done"))

    async with loopback() as server:
        use_model_at(server)
        server.reply(limited, answered)
        words = (tasks, "--out", "out", "--folder", "project", "--jobs", "1", "--models", "mine/m")
        code, _, errors = await batch(*words, cwd=tmp_path, options=())
    assert (code, errors) == (FAILED, "")
    assert [one["outcome"] for one in results(tmp_path / "out").values()] == ["error", "passed"]
    assert times[1] - times[0] >= 5
