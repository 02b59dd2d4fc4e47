"""Measures batches with the real program: what a run costs beside its agent, a long queue, the table, going on after a
crash, and how busy the workers of a cluster are."""

import json
import os
import signal
import statistics
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.processes import Terminal, bayou_command, resident_bytes, temporary_home
from bench.table import Row

RUNS = int(os.environ.get("BENCH_BATCH_RUNS", "200"))
QUEUED, KNOWN = 10_000, 1_000
WORKERS, WAIT = 4, 12
_FRAME_GAP = 0.02
"""Seconds without output between two frames."""
_MODEL = """
import asyncio, os
from app.providers.scripted import ScriptedModel, say
from bayou import ProviderSpec

async def answer(context, count):
    await asyncio.sleep(float(os.environ.get("BENCH_WAIT", "0")))
    return say("Done.")

def extension(api):
    script = ScriptedModel([answer])
    api.register_provider(ProviderSpec(name="scripted", models=(script.model,), adapter=script.adapter, api_key="none"))
"""


def rows() -> Iterator[Row]:
    with temporary_home() as (project, env):
        _prepare(project)
        yield from _overhead(project, env)
        yield from _queue(project, env)
        yield from _table(project, env)
        yield _going_on(project, env)
        yield _cluster_going_on(project, env)
        yield _cluster(project, env)


def _prepare(project: Path) -> None:
    (project / "model.py").write_text(_MODEL)
    repository = project / "repository"
    for words in (
        ("init", "-q", str(repository)),
        ("-C", str(repository), "commit", "-qm", "one", "--allow-empty"),
    ):
        subprocess.run(("git", "-c", "user.name=n", "-c", "user.email=n@example.com", *words), check=True)


def _command(project: Path, name: str, count: int, *words: str) -> list[str]:
    tasks = project / f"{name}.jsonl"
    tasks.write_text("".join(f'{{"id":"t{number}","prompt":"go"}}\n' for number in range(count)))
    fixed = ("--out", name, "--repo", "repository", "--models", "scripted/script")
    return bayou_command("batch", str(tasks), *fixed, *words, "--", "-e", str(project / "model.py"))


def _started(
    command: list[str], project: Path, env: dict[str, str], *, leads_group: bool = False
) -> "subprocess.Popen[bytes]":
    """`leads_group`: the process and its children can be ended together."""
    return subprocess.Popen(
        command,
        cwd=project,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        start_new_session=leads_group,
    )


def _events(process: "subprocess.Popen[bytes]") -> Iterator[dict[str, Any]]:
    assert process.stdout is not None
    for line in process.stdout:
        yield json.loads(line)


def _overhead(project: Path, env: dict[str, str]) -> Iterator[Row]:
    jobs = 2
    process = _started(_command(project, "overhead", RUNS, "--jobs", str(jobs), "--json"), project, env)
    beside: list[float] = []
    first = most = 0
    for event in _events(process):
        if event["type"] == "batch_started":
            first = resident_bytes(process.pid)
        elif event["type"] == "run_ended":
            most = max(most, resident_bytes(process.pid))
            beside.append(event["result"]["seconds"] - event["result"]["agentSeconds"])
    process.wait()
    yield Row(
        name=f"a run beside its agent, {RUNS} runs, two at a time",
        figure=1000 * statistics.median(beside),
        unit="ms",
        limit="60 ms",
    )
    yield Row(name="parent, for each run", figure=(most - first) / jobs / 1e6, unit="MB", limit="3 MB")


def _queue(project: Path, env: dict[str, str]) -> Iterator[Row]:
    process = _started(_command(project, "queue", QUEUED, "--jobs", "2", "--json"), project, env)
    most = 0
    for ended, event in enumerate(_events(process)):
        most = max(most, resident_bytes(process.pid))
        if ended > 6:
            break
        assert event
    process.send_signal(signal.SIGINT)
    process.communicate()
    yield Row(name=f"parent with {QUEUED} runs queued", figure=most / 1e6, unit="MB", limit="150 MB")


def _table(project: Path, env: dict[str, str]) -> Iterator[Row]:
    command, seconds = _command(project, "table", QUEUED, "--jobs", "2"), 10.0
    shown = Terminal(command, project, env, (200, 60))
    shown.wait_for(b"running", timeout=120)
    frames, end = 0, time.perf_counter() + seconds
    while time.perf_counter() < end:
        shown.wait_for_more()
        shown.wait_until_quiet(_FRAME_GAP)
        frames += 1
    yield Row(
        name=f"frames of the table with {QUEUED} runs", figure=frames / seconds, unit="/s", limit="10 /s"
    )
    name = f"parent with the table of {QUEUED} runs"
    yield Row(name=name, figure=resident_bytes(shown.pid) / 1e6, unit="MB", limit="150 MB")
    os.kill(shown.pid, signal.SIGTERM)
    shown.close()


def _going_on(project: Path, env: dict[str, str]) -> Row:
    """Half of the results are there, as after a kill -9."""
    command = _command(project, "known", KNOWN, "--jobs", "2", "--json")
    process = _started(command, project, env)
    result = next(event["result"] for event in _events(process) if event["type"] == "run_ended")
    process.kill()
    process.communicate()
    keys = {f"t{number} scripted/script #1": number for number in range(KNOWN // 2)}
    planned = _hashes(project)
    lines = (
        json.dumps({**result, "id": f"t{number}", "key": key, "hash": planned[key]})
        for key, number in keys.items()
    )
    (project / "known" / "results.jsonl").write_text("".join(f"{line}\n" for line in lines))
    began = time.perf_counter()
    process = _started(command, project, env)
    for event in _events(process):
        assert event.get("done", KNOWN // 2) == KNOWN // 2
        if event["type"] == "run_started":
            break
    seconds = time.perf_counter() - began
    process.send_signal(signal.SIGINT)
    process.communicate()
    return Row(name=f"going on after a kill with {KNOWN} runs", figure=seconds, unit="s", limit="2 s")


def _hashes(project: Path) -> dict[str, str]:
    """Returns the hash of each run, as the batch plans it."""
    from app.batch.task_files import read_task_rows
    from app.batch.tasks import BatchDefaults, BatchTaskFields, plan_batch

    fields = BatchTaskFields(permissions="auto-edit", time_limit=3_600.0, repo="repository")
    options = ("-e", str(project / "model.py"))
    defaults = BatchDefaults(fields=fields, models=("scripted/script",), options=options, base_folder=project)
    return {run.key: run.hash for run in plan_batch(read_task_rows(project / "known.jsonl"), defaults).runs}


def _cluster_going_on(project: Path, env: dict[str, str]) -> Row:
    """Parent, scheduler and workers end with kill -9 in the midst of their runs."""
    command = _command(project, "lost", KNOWN, "--cluster", f"local:{WORKERS}", "--json")
    seconds: list[float] = []
    for _ in range(3):
        began = time.perf_counter()
        process = _started(command, project, env, leads_group=True)
        started = 0.0
        for event in _events(process):
            if event["type"] == "run_started":
                started = started or time.perf_counter() - began
            elif event["type"] == "run_ended":
                break
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        seconds.append(started)
    name = f"going on after a kill with {KNOWN} runs on {WORKERS} workers"
    return Row(name=name, figure=statistics.median(seconds[1:]), unit="s", limit="2 s")


def _cluster(project: Path, env: dict[str, str]) -> Row:
    """Tasks that wait for a slow model: the share of the time in which the workers have a run."""
    command = _command(project, "cluster", 5 * WORKERS, "--cluster", f"local:{WORKERS}", "--json")
    process = _started(command, project, {**env, "BENCH_WAIT": str(WAIT)})
    began = 0.0
    busy: list[float] = []
    for event in _events(process):
        began = began or (time.perf_counter() if event["type"] == "run_started" else 0.0)
        if event["type"] == "run_ended":
            busy.append(event["result"]["seconds"])
    took = time.perf_counter() - began
    process.wait()
    name = f"{WORKERS} workers with tasks that wait, of linear"
    return Row(name=name, figure=sum(busy) / WORKERS / took, unit="x", limit="0.9x")
