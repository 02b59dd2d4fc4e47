"""Measures the ACP interface (`bayou acp`) against RPC: initialize, memory, a long answer, loading a long session,
and cancelling at random moments."""

import json
import random
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from app.sessions.ids import folder_name
from app.values.codec import encode_line
from app.values.entries import MessageEntry, SessionHeader
from app.values.wire import new_id
from bench.modes import DELTAS, STAGE_EXTENSION
from bench.processes import bayou_command, cpu_seconds, resident_bytes, temporary_home
from bench.sessions import random_turn
from bench.table import Row

MESSAGES = 4_000
CANCELS = 200
MEGABYTE = 1024 * 1024


def rows() -> Iterator[Row]:
    with temporary_home() as (cwd, env):
        yield from _beginning(cwd, env)
        yield from _long_answer(cwd, env)
        yield from _loading(cwd, env)
        yield from _cancelling(cwd, env)


class Peer:
    """A bayou at the other end of two pipes."""

    def __init__(self, process: "subprocess.Popen[bytes]", field: str) -> None:
        self.process = process
        self._field = field
        self._count = 0

    @property
    def cpu(self) -> float:
        return cpu_seconds(self.process.pid)

    def write(self, message: Mapping[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def send(self, method: str, **parameters: Any) -> int:
        """Sends a request of ACP or a command of RPC; returns its id."""
        self._count += 1
        if self._field == "method":
            message = {"jsonrpc": "2.0", "id": self._count, "method": method, "params": parameters}
        else:
            message = {"id": str(self._count), "type": method, **parameters}
        self.write(message)
        return self._count

    def until(self, **wanted: Any) -> dict[str, Any]:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            message = json.loads(line)
            if wanted.items() <= message.items():
                return message
        raise RuntimeError(f"bayou has ended before {wanted}")

    def ask(self, method: str, **parameters: Any) -> Any:
        number = self.send(method, **parameters)
        return self.until(id=number if self._field == "method" else str(number)).get("result")


@contextmanager
def peer(mode: str, cwd: Path, env: dict[str, str], *words: str) -> Iterator[Peer]:
    command = bayou_command("acp", *words) if mode == "acp" else bayou_command("--mode", mode, *words)
    process = subprocess.Popen(command, cwd=cwd, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        yield Peer(process, "method" if mode == "acp" else "type")
    finally:
        process.kill()
        process.wait()


def _new(acp: Peer, cwd: Path) -> str:
    return str(acp.ask("session/new", cwd=str(cwd), mcpServers=[])["sessionId"])


def _prompt(text: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": text}]


def _beginning(cwd: Path, env: dict[str, str]) -> Iterator[Row]:
    with peer("acp", cwd, env) as acp:
        acp.ask("initialize", protocolVersion=1)
        yield Row(name="initialize: CPU", figure=acp.cpu, unit="s", limit="≤ 0.6")
        _new(acp, cwd)
        one = resident_bytes(acp.process.pid) / MEGABYTE
        yield Row(name="memory with one session", figure=one, unit="MB", limit="≤ 56")
        for _ in range(5):
            _new(acp, cwd)
        more = (resident_bytes(acp.process.pid) / MEGABYTE - one) / 5
        yield Row(name="memory of each further session", figure=more, unit="MB", limit="≤ 6")


def _long_answer(cwd: Path, env: dict[str, str]) -> Iterator[Row]:
    with peer("acp", cwd, env, "-e", STAGE_EXTENSION) as acp:
        acp.ask("initialize", protocolVersion=1)
        session = _new(acp, cwd)
        acp.ask("session/prompt", sessionId=session, prompt=_prompt("words 2"))
        before = acp.cpu
        acp.ask("session/prompt", sessionId=session, prompt=_prompt(f"deltas {DELTAS}"))
        editors = acp.cpu - before
    with peer("rpc", cwd, env, "-e", STAGE_EXTENSION) as rpc:
        rpc.send("prompt", message="words 2")
        rpc.until(type="agent_settled")
        before = rpc.cpu
        rpc.send("prompt", message=f"deltas {DELTAS}")
        rpc.until(type="agent_settled")
        plain = rpc.cpu - before
    name = f"{DELTAS:,} deltas: CPU over RPC"
    yield Row(name=name, figure=editors - plain, unit="s", reference=f"RPC: {plain:.2f} s", limit="≤ 0.3")


def _write(path: Path, cwd: Path, session_id: str) -> None:
    chance, parent = random.Random(4), None
    lines = [*encode_line(SessionHeader(id=session_id, cwd=str(cwd)))]
    count = 0
    while count < MESSAGES:
        for message in random_turn(chance, count):
            entry = MessageEntry(id=new_id(), parent_id=parent, message=message)
            lines += encode_line(entry)
            parent, count = entry.id, count + 1
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(lines))


def _loading(cwd: Path, env: dict[str, str]) -> Iterator[Row]:
    session_id = "01890000-0000-7000-8000-000000000000"
    root = Path(env["HOME"]) / ".bayou" / "agent" / "sessions"
    file = root / folder_name(cwd) / f"2026-01-01T00-00-00-000Z_{session_id}.jsonl"
    _write(file, cwd, session_id)
    with peer("rpc", cwd, env) as rpc:
        rpc.ask("get_messages")
        before = rpc.cpu
        rpc.ask("switch_session", sessionPath=str(file))
        rpc.ask("get_messages")
        plain = rpc.cpu - before
    with peer("acp", cwd, env) as acp:
        acp.ask("initialize", protocolVersion=1)
        _new(acp, cwd)
        before = acp.cpu
        acp.ask("session/load", sessionId=session_id, cwd=str(cwd), mcpServers=[])
        yield Row(
            name=f"load of {MESSAGES:,} messages: CPU",
            figure=acp.cpu - before,
            unit="s",
            ratio=(acp.cpu - before) / plain,
            reference="switch_session and get_messages in RPC",
            limit="≤ 1.5x",
        )


def _cancelling(cwd: Path, env: dict[str, str]) -> Iterator[Row]:
    chance, slowest = random.Random(1), 0.0
    slow = {**env, "STAGE_TOKENS_PER_SECOND": "500"}
    with peer("acp", cwd, slow, "-e", STAGE_EXTENSION) as acp:
        acp.ask("initialize", protocolVersion=1)
        session = _new(acp, cwd)
        for _ in range(CANCELS):
            number = acp.send("session/prompt", sessionId=session, prompt=_prompt("words 5000"))
            time.sleep(chance.random() * 0.1)
            started = time.perf_counter()
            acp.write({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": session}})
            reason = acp.until(id=number)["result"]["stopReason"]
            slowest = max(slowest, time.perf_counter() - started)
            if reason != "cancelled":
                raise RuntimeError(f"A cancelled prompt ended with {reason}")
    name = f"{CANCELS} cancels at random moments: slowest answer"
    yield Row(name=name, figure=slowest * 1000, unit="ms", limit="≤ 100")
