"""Measures the Python kernel: the first cell, the next one, memory, a million lines, and
interrupting each kind of cell."""

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

from bench.table import Row
from tools.builtin.evaluate import EvalArguments, make_eval_tool
from tools.kernel.kernel_settings import KernelSettings
from tools.session_workspace import SessionWorkspace
from tools.tool_definition import ToolContext
from tools.tool_result_values import ToolResult

_BLOCKING_SETUP = (
    "import threading, queue, socket, asyncio, subprocess, time, re\na, b = socket.socketpair()\n"
)
_CELL_KINDS = {
    "a loop": "while True: pass",
    "sleep": "time.sleep(99)",
    "a subprocess": "subprocess.run(['sleep', '99'])",
    "a lock": "lock = threading.Lock(); lock.acquire(); lock.acquire()",
    "a socket": "a.recv(1)",
    "a regular expression": "re.match(r'(a+)+b', 'a' * 60)",
    "await": "await asyncio.sleep(99)",
    "a queue": "queue.Queue().get()",
    "an event": "threading.Event().wait()",
}
_STUBBORN_CELLS = {
    "a sum in C": "sum(range(10 ** 11))",
    "what catches everything": "while True:\n    try: time.sleep(1)\n    except BaseException: pass",
}


def rows() -> Iterable[Row]:
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        subprocess.run([sys.executable, "-c", "pass"], check=True)
        bare = (time.perf_counter() - started) * 1000
        yield from asyncio.run(_rows(Path(folder), bare))
        behind = _count_left_processes(Path(folder))
        yield Row(name="kernel: left a second after bayou was killed", figure=behind, unit="", limit="none")


def _workspace(folder: Path) -> SessionWorkspace:
    async def counting() -> tuple[str | None, bool]:
        return sys.executable, True

    return SessionWorkspace(folder, kernel_settings=lambda: KernelSettings(interpreter_choice=counting))


async def _cell(workspace: SessionWorkspace, code: str) -> ToolResult:
    context = ToolContext(call_id="c", cwd=workspace.cwd, workspace=workspace)
    return await make_eval_tool().run(EvalArguments(code=code), context)


async def _rows(folder: Path, bare: float) -> list[Row]:
    """Returns the rows. `bare`: milliseconds of an interpreter that does nothing."""
    found: list[Row] = []

    def row(
        name: str, figure: float, unit: str, limit: str, ratio: float | None = None, to: str = ""
    ) -> None:
        found.append(Row(name=name, figure=figure, unit=unit, limit=limit, ratio=ratio, reference=to))

    workspace = _workspace(folder)
    started = time.perf_counter()
    await _cell(workspace, "1")
    first = (time.perf_counter() - started) * 1000
    row(
        "kernel: the first cell, supervisor and imports included",
        first,
        "ms",
        "120 ms",
        first / bare,
        "python -c pass",
    )
    started = time.perf_counter()
    for _ in range(100):
        await _cell(workspace, "1")
    row("kernel: a cell after that", (time.perf_counter() - started) * 10, "ms", "5 ms")
    view = await workspace.kernel().kernel_info()
    row("kernel: memory", (view.memory_bytes or 0) / 2**20, "MiB", "15 MiB")
    before = _cpu_ticks(view.pid)
    await asyncio.sleep(2)
    row("kernel: CPU while nothing runs", (_cpu_ticks(view.pid) - before) / 2 * 100, "%", "0 %")
    started = time.perf_counter()
    await _cell(workspace, "for n in range(1_000_000): print('line', n)")
    row("kernel: a million lines", time.perf_counter() - started, "s", "6 s")
    await _cell(workspace, _BLOCKING_SETUP)
    worst = 0.0
    for code in _CELL_KINDS.values():
        result, seconds = await _interrupt_cell(workspace, folder, code)
        assert result.text.endswith("state kept."), (code, result.text)
        worst = max(worst, seconds)
    row(
        f"kernel: the slowest of {len(_CELL_KINDS)} kinds of interrupt, state kept",
        worst * 1000,
        "ms",
        "50 ms",
    )
    for name, code in _STUBBORN_CELLS.items():
        await _cell(workspace, _BLOCKING_SETUP)
        result, seconds = await _interrupt_cell(workspace, folder, code)
        assert result.text.endswith("state lost."), (code, result.text)
        row(f"kernel: until {name} has ended", seconds, "s", "3.5 s")
    workspace.close()
    return found


def _cpu_ticks(pid: int | None) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def _interrupt_cell(workspace: SessionWorkspace, folder: Path, code: str) -> tuple[ToolResult, float]:
    flag = folder / "runs"
    running = asyncio.ensure_future(_cell(workspace, f"open({str(flag)!r}, 'w').close()\n{code}"))
    await asyncio.to_thread(_wait_for_flag, flag)
    await asyncio.sleep(0.2)
    started = time.perf_counter()
    running.cancel()
    result = await running
    return result, time.perf_counter() - started


def _wait_for_flag(flag: Path) -> None:
    while not flag.exists():
        time.sleep(0.01)
    flag.unlink()


_VICTIM_PROGRAM = """
import asyncio, sys
from pathlib import Path
from bench.kernel import _cell, _workspace

async def main():
    workspace = _workspace(Path(sys.argv[1]))
    print((await _cell(workspace, "import os; os.getpid()")).text.split()[1], flush=True)
    await _cell(workspace, "while True: pass")

asyncio.run(main())
"""


def _count_left_processes(folder: Path) -> int:
    victim = subprocess.Popen(
        [sys.executable, "-c", _VICTIM_PROGRAM, str(folder)],
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[1],
    )
    assert victim.stdout is not None
    pid = int(victim.stdout.readline())
    time.sleep(0.3)
    victim.send_signal(signal.SIGKILL)
    victim.wait()
    time.sleep(1)
    return int(Path(f"/proc/{pid}").exists())
