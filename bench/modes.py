"""Measures the size and cost of a long answer in JSON mode, an RPC round trip, and the overhead
of print mode."""

import asyncio
import json
import statistics
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.processes import ROOT, Cost, bayou_command, median, python_command, run, temporary_home
from bench.table import Row

STAGE_EXTENSION = str(ROOT / "tests" / "modes" / "extensions" / "stage.py")
DELTAS = 4000
PROMPT = f"deltas {DELTAS}"
PACE = "3000"
"""Tokens per second: deltas arrive one by one and are joined as in real use."""
REPEAT = 3
QUESTIONS = 300
PARALLEL_QUESTIONS = 1000


def rows() -> Iterator[Row]:
    with temporary_home() as (cwd, env):
        yield from _long_answer(cwd, {**env, "STAGE_TOKENS_PER_SECOND": PACE})
        yield from _memory(cwd, env)
        yield from _print_overhead(cwd, env)
        yield from asyncio.run(_round_trips(cwd, env))
        yield from _stop_rows(cwd, env)


def _long_answer(cwd: Path, env: dict[str, str]) -> Iterator[Row]:
    words = ("-e", STAGE_EXTENSION, "--no-session", PROMPT)
    commands = {
        "print": bayou_command("-p", *words),
        "json": bayou_command("--mode", "json", *words),
        "all": bayou_command("--mode", "json", "--no-merge-deltas", *words),
    }
    costs: dict[str, list[Cost]] = {name: [] for name in commands}
    for _ in range(REPEAT):
        for name, command in commands.items():
            costs[name].append(run(command, cwd, env))
    middle = {name: median(found) for name, found in costs.items()}
    for name, title in (("json", "merged"), ("all", "--no-merge-deltas")):
        out = subprocess.run(
            commands[name], cwd=cwd, env=env, stdin=subprocess.DEVNULL, capture_output=True, check=True
        ).stdout
        lines = out.splitlines()
        sizes = [size for line in lines if (size := _delta_size(json.loads(line)))]
        deltas = sum(sizes)
        allowed = 3 * deltas + 400 * len(lines)
        yield Row(
            name=f"{DELTAS:,} deltas as JSON, {title}: size",
            figure=len(out) / 1024,
            unit="KiB",
            ratio=len(out) / allowed,
            reference=f"3x the deltas' texts and 400 bytes for each of {len(lines):,} events ({len(sizes):,} deltas)",
            limit="1x",
        )
        yield Row(
            name=f"{DELTAS:,} deltas as JSON, {title}: CPU",
            figure=middle[name].cpu * 1000,
            unit="ms",
            ratio=middle[name].cpu / middle["print"].cpu,
            reference=f"print mode, {middle['print'].cpu * 1000:.0f} ms",
            limit="2.5x" if name == "json" else "",
        )


def _memory(cwd: Path, env: dict[str, str]) -> Iterator[Row]:
    """Measures the peak memory with ten times the deltas."""
    peaks: list[int] = []
    for count in (DELTAS, 10 * DELTAS):
        words = (
            "--mode",
            "json",
            "--no-merge-deltas",
            "-e",
            STAGE_EXTENSION,
            "--no-session",
            f"deltas {count}",
        )
        peaks.append(median([run(bayou_command(*words), cwd, env) for _ in range(REPEAT)]).peak)
    yield Row(
        name=f"{10 * DELTAS:,} deltas as JSON, --no-merge-deltas: peak memory",
        figure=peaks[1] / 2**20,
        unit="MiB",
        ratio=peaks[1] / peaks[0],
        reference=f"{DELTAS:,} deltas, {peaks[0] / 2**20:.0f} MiB",
    )


def _delta_size(line: dict[str, Any]) -> int:
    return len(line.get("assistantMessageEvent", {}).get("delta", "").encode())


def _print_overhead(cwd: Path, env: dict[str, str]) -> Iterator[Row]:
    own, other = [], []
    for _ in range(REPEAT):
        own.append(run(bayou_command("-p", "--no-session", "help"), cwd, env))
        other.append(run(python_command("import httpcore2"), cwd, env))
    cpu, reference = median(own).cpu, median(other).cpu
    yield Row(
        name="bayou -p beyond importing httpcore2, CPU",
        figure=(cpu - reference) * 1000,
        unit="ms",
        ratio=cpu / reference,
        reference=f'python -c "import httpcore2", {reference * 1000:.0f} ms',
        limit="250 ms",
    )


async def _round_trips(cwd: Path, env: dict[str, str]) -> list[Row]:
    from bayou.client import RpcClient

    paced = {**env, "PYTHONPATH": str(ROOT), "STAGE_TOKENS_PER_SECOND": "2000"}
    async with RpcClient(cwd=cwd, env=paced, arguments=["-e", STAGE_EXTENSION]) as client:
        idle = await _median_trip(client)
        await client.prompt("words 200000")
        streaming = await _median_trip(client)
        assert (await client.get_state())["isStreaming"]
        await client.abort()
        started = time.perf_counter()
        await asyncio.gather(*(client.get_state() for _ in range(PARALLEL_QUESTIONS)))
        together = time.perf_counter() - started
    return [
        Row(name="get_state while idle", figure=idle * 1000, unit="ms"),
        Row(
            name="get_state while streaming",
            figure=streaming * 1000,
            unit="ms",
            ratio=streaming / idle,
            reference="while idle",
            limit="3 ms",
        ),
        Row(name=f"{PARALLEL_QUESTIONS:,} get_state at once", figure=together * 1000, unit="ms"),
    ]


async def _median_trip(client: Any) -> float:
    trips: list[float] = []
    for _ in range(QUESTIONS):
        started = time.perf_counter()
        await client.get_state()
        trips.append(time.perf_counter() - started)
    return statistics.median(trips)


def _stop_rows(cwd: Path, env: dict[str, str]) -> Iterator[Row]:
    """Measures stopping while a command of the model and one of the user run, each with a background
    child."""
    lines = (
        {"type": "prompt", "message": "run (sleep 600 & sleep 601)"},
        {"type": "bash", "command": "echo up; sleep 602 & sleep 603"},
    )
    for title, reads in (("", True), (", nobody reads", False)):
        seconds: list[float] = []
        for _ in range(REPEAT):
            process = subprocess.Popen(
                bayou_command("--mode", "rpc", "--no-session"),
                cwd=cwd, env=env,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            )  # fmt: skip
            assert process.stdin is not None and process.stdout is not None
            process.stdin.write(b"".join(json.dumps(line).encode() + b"\n" for line in lines))
            process.stdin.flush()
            while sum(name == "sleep" for name in _descendants(process.pid).values()) < 4:
                time.sleep(0.02)
            if not reads:  # more than a pipe holds
                process.stdin.write(b'{"type":"get_messages"}\n' * 500)
                process.stdin.flush()
                time.sleep(0.5)
            below = _descendants(process.pid)
            started = time.perf_counter()
            process.terminate()
            if reads:
                process.stdout.read()
            assert process.wait(30) == 143
            seconds.append(time.perf_counter() - started)
            left = [name for pid, name in below.items() if Path(f"/proc/{pid}").exists()]
            assert not left, f"still there: {left}"
            process.stdout.close()
            process.stdin.close()
        yield Row(
            name=f"SIGTERM to the end, all children gone{title}",
            figure=max(seconds) * 1000,
            unit="ms",
            reference=f"the slowest of {REPEAT}",
            limit="2 s",
        )


def _descendants(pid: int) -> dict[int, str]:
    """Returns all processes that a process has started, with their names."""
    listed = subprocess.run(["ps", "-eo", "pid=,ppid=,comm="], capture_output=True, text=True, check=True)
    rows = [line.split(None, 2) for line in listed.stdout.splitlines()]
    found: dict[int, str] = {}
    above = {pid}
    while above:
        children = {int(row[0]): row[2] for row in rows if int(row[1]) in above}
        found |= children
        above = set(children)
    return found
