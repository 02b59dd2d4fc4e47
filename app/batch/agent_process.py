"""Starts, follows and ends the bayou process of one run."""

import asyncio
import os
import signal
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from app.batch.tasks import BatchError, BatchTask
from app.providers.shared_rate_limit import RATE_LIMIT_FOLDER_VARIABLE
from bayou.program import command
from tools.running.child_programs import ChildProgram

_PIPE_READ_BYTES = 1 << 16
_MAX_EVENT_LINE_BYTES = 4 << 20
"""The maximum length of a line that is parsed; the final usage comes from `usage.json`."""
_MAX_KEPT_STDERR_BYTES = 8_192
_MAX_LATEST_LINE_CHARS = 200
"""The maximum number of characters of an agent's latest line."""
_AGENT_STOP_TIMEOUT_SECONDS = 5.0
"""Seconds from the request to end until the process is killed."""
_KILL_DELAY_AFTER_TIME_LIMIT_SECONDS = 20.0
"""Seconds beyond the time limit, which bayou itself enforces, until the process is killed."""
DASK_TLS_VARIABLE_PREFIX = "DASK_DISTRIBUTED__COMM__TLS__"
"""The start of the variables by which workers of a cluster on this machine get their key; no run gets them."""


class AgentProgress(msgspec.Struct, frozen=True, kw_only=True):
    """The usage of an agent so far, and its latest line."""

    turns: int = 0
    tokens: int = 0
    cost: float = 0.0
    line: str = ""
    """The last line that it wrote, or the tool that it called last."""


class _Message(msgspec.Struct, rename="camel"):
    role: str = ""
    usage: dict[str, Any] = {}
    content: Any = None


class _MessageEnd(msgspec.Struct):
    message: _Message


class _ToolStart(msgspec.Struct, rename="camel"):
    tool_name: str
    args: dict[str, Any] = {}


class AgentProcess:
    """The bayou process that works on a task in a folder."""

    def __init__(
        self,
        task: BatchTask,
        folder: Path,
        result: Path,
        *,
        options: tuple[str, ...],
        max_cost: float | None,
        rate_limits: Path,
    ) -> None:
        """`result` is the folder of its result, `rate_limits` that of the limits that all runs share."""
        self._task = task
        self._folder = folder
        passed = {
            name: value for name, value in os.environ.items() if not name.startswith(DASK_TLS_VARIABLE_PREFIX)
        }
        self.environment = {**passed, RATE_LIMIT_FOLDER_VARIABLE: str(rate_limits)}
        self._argv = (*command(), *_command_line_options(task, result, max_cost), *options)
        self._program: ChildProgram | None = None
        self._errors = bytearray()
        self.state = AgentProgress()
        self.is_over_time = False

    async def run(self, changed: Callable[[], None]) -> int:
        """Runs it to its end; returns the exit code, negative for a signal. A cancellation kills it. Raises
        `BatchError`."""
        limit = self._task.time_limit
        try:
            program = await ChildProgram.start(
                self._argv, cwd=self._folder, env=self.environment, is_fed=True, keeps_errors=True
            )
        except OSError as problem:
            raise BatchError(f"bayou cannot be started: {problem.strerror}.") from None
        self._program = program
        async with program:
            try:
                async with asyncio.timeout(
                    None if limit is None else limit + _KILL_DELAY_AFTER_TIME_LIMIT_SECONDS
                ):
                    prompt = (self._task.prompt or "").encode("utf-8", "replace")
                    await asyncio.gather(
                        program.write_stdin(prompt),
                        self._read_events(program, changed),
                        self._read_errors(program),
                    )
                    return await program.wait()
            except TimeoutError:
                self.is_over_time = True
                program.kill()
                return await program.wait()

    async def stop(self) -> None:
        """Asks bayou's process to end, so that it writes its result, and kills it if it does not end."""
        program = self._program
        if program is None or program.exit_code is not None:
            return
        try:
            os.kill(program.pid, signal.SIGTERM)
        except ProcessLookupError:
            return
        try:
            async with asyncio.timeout(_AGENT_STOP_TIMEOUT_SECONDS):
                await program.wait()
        except TimeoutError:
            program.kill()

    @property
    def last_error(self) -> str:
        lines = self._errors.decode("utf-8", "replace").strip().splitlines()
        return lines[-1].removeprefix("bayou: ") if lines else ""

    @property
    def errors(self) -> str:
        return self._errors.decode("utf-8", "replace")

    async def _read_errors(self, program: ChildProgram) -> None:
        while data := await program.stderr.read(_PIPE_READ_BYTES):
            self._errors += data
            del self._errors[:-_MAX_KEPT_STDERR_BYTES]

    async def _read_events(self, program: ChildProgram, changed: Callable[[], None]) -> None:
        rest, is_skipping = bytearray(), False
        while data := await program.stdout.read(_PIPE_READ_BYTES):
            *lines, tail = data.split(b"\n")
            for line in lines:
                rest += line
                if not is_skipping and self._handle_event_line(bytes(rest)):
                    changed()
                rest.clear()
                is_skipping = False
            rest += tail
            if len(rest) > _MAX_EVENT_LINE_BYTES:
                is_skipping = True
                rest.clear()

    def _handle_event_line(self, line: bytes) -> bool:
        """Takes in one event; returns whether it changed the state."""
        try:
            if line.startswith(b'{"type":"message_end"'):
                message = msgspec.json.decode(line, type=_MessageEnd).message
            elif line.startswith(b'{"type":"tool_execution_start"'):
                call = msgspec.json.decode(line, type=_ToolStart)
                self.state = msgspec.structs.replace(self.state, line=_call_line(call))
                return True
            else:
                return False
        except msgspec.DecodeError:
            return False
        if message.role != "assistant":
            return False
        self.state = AgentProgress(
            turns=self.state.turns + 1,
            tokens=self.state.tokens + total_token_count(message.usage),
            cost=self.state.cost + total_cost(message.usage),
            line=_last_line(message.content) or self.state.line,
        )
        return True


def _call_line(call: _ToolStart) -> str:
    subject = next((value for value in call.args.values() if isinstance(value, str)), "")
    return f"{call.tool_name} {subject.strip()}".split("\n", 1)[0][:_MAX_LATEST_LINE_CHARS]


def _last_line(content: Any) -> str:
    parts = content if isinstance(content, list) else []
    texts = [part.get("text") for part in parts if isinstance(part, dict)]
    lines = "\n".join(text for text in texts if isinstance(text, str)).strip().splitlines()
    return lines[-1][:_MAX_LATEST_LINE_CHARS] if lines else ""


def total_token_count(usage: Mapping[str, Any]) -> int:
    count = usage.get("totalTokens")
    return count if isinstance(count, int) else 0


def total_cost(usage: Mapping[str, Any]) -> float:
    cost = usage.get("cost")
    total = cost.get("total") if isinstance(cost, dict) else None
    return float(total) if isinstance(total, int | float) else 0.0


def _command_line_options(task: BatchTask, result: Path, max_cost: float | None) -> list[str]:
    costs = [cost for cost in (task.max_cost, max_cost) if cost is not None]
    values = {
        "--model": task.model,
        "--thinking": task.thinking,
        "--tools": task.tools,
        "--permissions": task.permissions,
        "--max-turns": task.max_turns,
        "--max-tokens": task.max_tokens,
        "--max-cost": f"{min(costs):.9f}" if costs else None,
        "--time-limit": task.time_limit and f"{task.time_limit:.3f}",
    }
    words = ["--mode", "json", "--result", str(result), "--session-dir", str(result / "session")]
    for name, value in values.items():
        if value is not None:
            words += [name, str(value)]
    return words
