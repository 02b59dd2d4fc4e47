"""Measures `bayou acp`: its start, memory, cancels, and what it costs beside RPC to stream and to open a session."""

import asyncio
import json
import os
import random
import statistics
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from bench.modes import DELTAS, PACE, STAGE_EXTENSION
from bench.processes import (
    bayou_command,
    cpu_seconds,
    proportional_bytes,
    python_command,
    run,
    temporary_home,
    waited_seconds,
)
from bench.sessions import write_large
from bench.table import Row

MESSAGES = 4000
FURTHER_SESSIONS = 5
CANCELS = 200
REPEAT = 3
_LINE_LIMIT = 256 * 1024 * 1024


class Peer:
    """A process that is spoken to in JSON lines."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.pid = process.pid
        self._process = process
        self._count = 0

    async def ask(self, method: str, **parameters: Any) -> tuple[Any, int]:
        """Calls a method over ACP; returns the result, and how many lines came before it."""
        self._count += 1
        self.write({"jsonrpc": "2.0", "id": self._count, "method": method, "params": parameters})
        return await self.until(self._count)

    async def until(self, id: Any) -> tuple[Any, int]:
        lines = 0
        while True:
            message = await self.read()
            if message.get("id") == id and "method" not in message:
                if "error" in message:
                    raise RuntimeError(str(message["error"]))
                return message.get("result"), lines
            lines += 1

    async def until_type(self, kind: str) -> None:
        while (await self.read()).get("type") != kind:
            pass

    async def read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = await self._process.stdout.readline()
        if not line:
            raise RuntimeError("bayou has ended")
        return json.loads(line)

    def write(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")


@asynccontextmanager
async def peer(cwd: Path, env: dict[str, str], *words: str) -> AsyncIterator[Peer]:
    process = await asyncio.create_subprocess_exec(
        *bayou_command(*words), cwd=cwd, env=env, limit=_LINE_LIMIT,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    try:
        yield Peer(process)
    finally:
        process.kill()
        await process.wait()


def rows() -> Iterator[Row]:
    with temporary_home() as (cwd, env):
        yield _import_row(cwd, env)
        yield from asyncio.run(_start_rows(cwd, env))
        yield asyncio.run(_cancel_row(cwd, env))
        yield asyncio.run(_stream_row(cwd, env))
        yield asyncio.run(_load_row(cwd, env))


def _import_row(cwd: Path, env: dict[str, str]) -> Row:
    """Measures the import of the package in a process that has only Python's own start."""
    program = (
        "import time; t = time.process_time(); import bayou; t = time.process_time() - t; "
        "import sys; sys.exit(f'{t:.9f}')"
    )
    found: list[float] = []
    package = {**env, "PYTHONPATH": str(Path(__file__).parent.parent / "app" / "package")}
    for _ in range(9):
        try:
            run(python_command(program), cwd, package)
        except RuntimeError as told:
            found.append(float(str(told).rsplit(" ", 1)[-1]))
    return Row(name="import bayou: CPU", figure=statistics.median(found) * 1000, unit="ms", limit="5 ms")


async def _start_rows(cwd: Path, env: dict[str, str]) -> list[Row]:
    cpu: dict[str, list[float]] = {"acp": [], "rpc": []}
    for _ in range(REPEAT):
        async with peer(cwd, env, "acp") as bayou:
            await bayou.ask("initialize", protocolVersion=1, clientCapabilities={})
            cpu["acp"].append(cpu_seconds(bayou.pid))
        async with peer(cwd, env, "--mode", "rpc") as bayou:
            bayou.write({"id": "1", "type": "get_state"})
            await bayou.until("1")
            cpu["rpc"].append(cpu_seconds(bayou.pid))
    memory: list[int] = []
    async with peer(cwd, env, "acp") as bayou:
        await bayou.ask("initialize", protocolVersion=1, clientCapabilities={})
        for _ in range(1 + FURTHER_SESSIONS):
            answer, _ = await bayou.ask("session/new", cwd=str(cwd), mcpServers=[])
            await _prompt(bayou, answer["sessionId"], "help")
            memory.append(proportional_bytes(bayou.pid))
    further = (memory[-1] - memory[0]) / FURTHER_SESSIONS
    first, rpc = statistics.median(cpu["acp"]), statistics.median(cpu["rpc"])
    return [
        Row(
            name="initialize answered: CPU", figure=first * 1000, unit="ms", ratio=first / rpc,
            reference=f"RPC's first answer, {rpc * 1000:.0f} ms", limit="600 ms",
        ),
        Row(name="one session with a prompt: memory", figure=memory[0] / 2**20, unit="MiB", limit="56 MiB"),
        Row(name="each further session: memory", figure=further / 2**20, unit="MiB", limit="6 MiB"),
    ]  # fmt: skip


async def _prompt(bayou: Peer, session: str, text: str) -> None:
    await bayou.ask("session/prompt", sessionId=session, prompt=[{"type": "text", "text": text}])


async def _cancel_row(cwd: Path, env: dict[str, str]) -> Row:
    """Cancels at random moments of answers and of commands; over RPC the same is aborted at the same moments."""
    paced = {**env, "STAGE_TOKENS_PER_SECOND": "2000"}
    chance = random.Random(4)
    plan = [
        (chance.choice(("words 20000", "hang", "outside sleep 60")), chance.random() * 0.3)
        for _ in range(CANCELS)
    ]
    words = ("-e", STAGE_EXTENSION, "--permissions", "full")
    cancels, aborts = [], []
    async with peer(cwd, paced, "acp", *words) as bayou:
        await bayou.ask("initialize", protocolVersion=1, clientCapabilities={})
        answer, _ = await bayou.ask("session/new", cwd=str(cwd), mcpServers=[])
        session = {"sessionId": answer["sessionId"]}
        for number, (prompt, moment) in enumerate(plan):
            told = {**session, "prompt": [{"type": "text", "text": prompt}]}
            bayou.write({"jsonrpc": "2.0", "id": f"p{number}", "method": "session/prompt", "params": told})
            waiting = asyncio.ensure_future(bayou.until(f"p{number}"))
            await asyncio.sleep(moment)
            started = _spent(bayou)
            bayou.write({"jsonrpc": "2.0", "method": "session/cancel", "params": session})
            result, _ = await waiting
            cancels.append(_spent(bayou) - started)
            if result != {"stopReason": "cancelled"}:
                raise RuntimeError(f"a cancelled prompt was answered with {result}")
    async with peer(cwd, paced, "--mode", "rpc", *words) as bayou:
        for prompt, moment in plan:
            bayou.write({"type": "prompt", "message": prompt})
            await bayou.until_type("agent_start")
            waiting = asyncio.ensure_future(bayou.until_type("agent_settled"))
            await asyncio.sleep(moment)
            started = _spent(bayou)
            bayou.write({"type": "abort"})
            await waiting
            aborts.append(_spent(bayou) - started)
    cancels.sort()
    aborts.sort()
    return Row(
        name=f"{CANCELS} random cancels: the slowest answer, behind the slowest abort over RPC",
        figure=(cancels[-1] - aborts[-1]) * 1000,
        unit="ms",
        ratio=statistics.median(cancels) / statistics.median(aborts),
        reference=f"medians; the slowest abort took {aborts[-1] * 1000:.0f} ms",
        limit="100 ms",
    )


def _spent(bayou: Peer) -> float:
    """Returns the time without what both programs waited for a processor, so that a busy machine counts less."""
    return time.perf_counter() - waited_seconds(bayou.pid) - waited_seconds(os.getpid())


async def _stream_row(cwd: Path, env: dict[str, str]) -> Row:
    """Measures an answer that comes in pieces, over both protocols in alternation."""
    paced = {**env, "STAGE_TOKENS_PER_SECOND": PACE}
    prompt, cpu = f"deltas {DELTAS}", {"acp": 0.0, "rpc": 0.0}
    for _ in range(REPEAT):
        async with peer(cwd, paced, "acp", "-e", STAGE_EXTENSION) as bayou:
            await bayou.ask("initialize", protocolVersion=1, clientCapabilities={})
            answer, _ = await bayou.ask("session/new", cwd=str(cwd), mcpServers=[])
            await _prompt(bayou, answer["sessionId"], "words 3")
            before = cpu_seconds(bayou.pid)
            await _prompt(bayou, answer["sessionId"], prompt)
            cpu["acp"] += (cpu_seconds(bayou.pid) - before) / REPEAT
        async with peer(cwd, paced, "--mode", "rpc", "-e", STAGE_EXTENSION) as bayou:
            for text in ("words 3", prompt):
                before = cpu_seconds(bayou.pid)
                bayou.write({"id": text, "type": "prompt", "message": text})
                await bayou.until_type("agent_settled")
            cpu["rpc"] += (cpu_seconds(bayou.pid) - before) / REPEAT
    return Row(
        name=f"{DELTAS:,} deltas: CPU beyond RPC",
        figure=(cpu["acp"] - cpu["rpc"]) * 1000,
        unit="ms",
        ratio=cpu["acp"] / cpu["rpc"],
        reference=f"RPC, {cpu['rpc'] * 1000:.0f} ms",
        limit="300 ms",
    )


async def _load_row(cwd: Path, env: dict[str, str]) -> Row:
    """Measures the opening of a stored conversation whose messages the client gets, with programs that have opened
    a small one before."""
    root = cwd.parent / "kept"
    (root / "any").mkdir(parents=True)
    files = {name: root / "any" / f"2026_{name}.jsonl" for name in ("small", "large")}
    write_large(files["small"], 8, "small", str(cwd))
    write_large(files["large"], MESSAGES, "large", str(cwd))
    cpu: dict[str, list[float]] = {"acp": [], "rpc": []}
    for _ in range(REPEAT):
        async with peer(cwd, env, "acp", "--session-dir", str(root)) as bayou:
            await bayou.ask("initialize", protocolVersion=1, clientCapabilities={})
            lines, before = 0, 0.0
            for name in files:
                before = cpu_seconds(bayou.pid)
                _, lines = await bayou.ask("session/load", sessionId=name, cwd=str(cwd), mcpServers=[])
            assert lines > MESSAGES, "the whole conversation has come"
            cpu["acp"].append(cpu_seconds(bayou.pid) - before)
        async with peer(cwd, env, "--mode", "rpc") as bayou:
            before = 0.0
            for file in files.values():
                before = cpu_seconds(bayou.pid)
                bayou.write({"id": "o", "type": "switch_session", "sessionPath": str(file)})
                await bayou.until("o")
                bayou.write({"id": "m", "type": "get_messages"})
                await bayou.until("m")
            cpu["rpc"].append(cpu_seconds(bayou.pid) - before)
    acp, rpc = min(cpu["acp"]), min(cpu["rpc"])
    return Row(
        name=f"opening {MESSAGES:,} messages: CPU",
        figure=acp * 1000,
        unit="ms",
        ratio=acp / rpc,
        reference=f"RPC's switch_session and get_messages, {rpc * 1000:.0f} ms",
        limit="1.5x",
    )
