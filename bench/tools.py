"""Measures the tools: searching, paging, editing, long output. References run on the same files
in the same run."""

import asyncio
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

from bench.table import Row
from tools.argument_schema import validate_tool_arguments
from tools.session_workspace import SessionWorkspace
from tools.tool_definition import ToolContext
from tools.tool_registry import builtin_tools
from tools.tool_result_values import ToolResult

FILES = 20_000
BIG_BYTES = 1 << 30
EDITED_BYTES = 5 << 20
OUTPUT = "2G"

TOOLS = {tool.name: tool for tool in builtin_tools()}


def rows() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        yield from _searching(root)
        yield from _reading(root)
        yield from _editing(root)
        yield from _output(root)


def _call(workspace: SessionWorkspace, name: str, **arguments: Any) -> ToolResult:
    async def run() -> ToolResult:
        context = ToolContext(call_id="bench", cwd=workspace.cwd, workspace=workspace)
        return await TOOLS[name].run(validate_tool_arguments(TOOLS[name], arguments), context)

    return asyncio.run(run())


async def _fastest_async(work: Callable[[], Awaitable[object]], repeat: int) -> float:
    found: list[float] = []
    for _ in range(repeat):
        began = time.perf_counter()
        await work()
        found.append(time.perf_counter() - began)
    return min(found)


def _fastest_call(workspace: SessionWorkspace, name: str, *, repeat: int = 5, **arguments: Any) -> float:
    """Measures a tool call inside one event loop, as in a session."""

    async def run() -> float:
        context = ToolContext(call_id="bench", cwd=workspace.cwd, workspace=workspace)
        values = validate_tool_arguments(TOOLS[name], arguments)
        return await _fastest_async(lambda: TOOLS[name].run(values, context), repeat)

    return asyncio.run(run())


def _fastest_command(argv: list[str], cwd: Path, repeat: int = 5) -> float:
    found: list[float] = []
    for _ in range(repeat):
        began = time.perf_counter()
        subprocess.run(argv, cwd=cwd, stdout=subprocess.DEVNULL, check=False)
        found.append(time.perf_counter() - began)
    return min(found)


def _searching(root: Path) -> Iterator[Row]:
    tree = root / "tree"
    for number in range(FILES):
        path = tree / f"d{number % 40}" / f"s{number // 40 % 25}" / f"f{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"def function_{number}_{k}(a):\n    return a * {k}\n" for k in range(30)))
    rg = str(Path(sys.executable).parent / "rg")
    workspace = SessionWorkspace(tree)
    common = [rg, "--hidden", "--no-require-git"]
    for label, pattern in (("one match", "function_19999_3\\b"), ("no match", "nothing_like_this")):
        own = _fastest_call(workspace, "grep", pattern=pattern)
        reference = _fastest_command([*common, "-n", pattern, "."], tree)
        yield _row(f"grep, {label} in {FILES:,} files", own, reference, "rg", "1.3x + 30 ms")
    plain = [*common, "--files", "."]
    sorted_ = [*common, "--files", "--sortr=modified", "."]
    for label, pattern, command, words in (
        ("one result", "f19999.py", plain, "rg --files"),
        ("500 results", "d3/**/*.py", plain, "rg --files"),
        (f"{FILES:,} results by recency", "*.py", plain, "rg --files"),
        (f"{FILES:,} results by recency", "*.py", sorted_, "rg --files --sortr=modified"),
    ):
        own = _fastest_call(workspace, "find", pattern=pattern)
        yield _row(f"find, {label}", own, _fastest_command(command, tree), words, "1.3x + 30 ms")
    workspace.close()


def _reading(root: Path) -> Iterator[Row]:
    big = root / "big.txt"
    with big.open("wb") as file:
        number = 0
        while file.tell() < BIG_BYTES:
            file.write(
                b"".join(
                    b"this is line number %d of a rather ordinary file\n" % k
                    for k in range(number, number + 10_000)
                )
            )
            number += 10_000
    middle = number // 2
    # The reference runs first, so that both find the file in the system's cache.
    reference = _fastest_command(["sed", "-n", f"{middle},{middle + 900}p", "big.txt"], root, 2)
    own: list[float] = []
    for _ in range(3):
        workspace = SessionWorkspace(root)
        own.append(_fastest_call(workspace, "read", repeat=1, path="big.txt", offset=middle))
    yield _row("read, page of a 1 GB file without index", min(own), reference, "sed -n", "1.2x")
    workspace = SessionWorkspace(root)
    _call(workspace, "read", path="big.txt", offset=middle)
    chance = random.Random(1)
    slowest = max(
        _fastest_call(workspace, "read", repeat=1, path="big.txt", offset=chance.randrange(1, number - 1000))
        for _ in range(20)
    )
    yield Row(
        name="read, page of a 1 GB file with index, slowest of 20",
        figure=slowest * 1000,
        unit="ms",
        limit="15 ms",
    )
    big.unlink()


def _editing(root: Path) -> Iterator[Row]:
    line = "def function_{0}(a, b):\n    return a + b * {0}  # comment {0}\n"
    count = EDITED_BYTES // len(line.format(50_000))
    middle = count // 2
    cases = {
        "exact": (f"a + b * {middle}  #", f"a - b * {middle}  #"),
        "ignoring trailing white space": (line.format(middle).replace(":\n", ":  \n"), "pass\n"),
        "ignoring indentation": ("  " + line.format(middle).replace("\n ", "\n   "), "pass\n"),
        "ignoring look-alikes": (line.format(middle).replace("# ", "#\u00a0"), "pass\n"),
    }
    for label, (old, new) in cases.items():
        times: list[float] = []
        for _ in range(3):
            (root / "edited.py").write_text("".join(line.format(number) for number in range(count)))
            workspace = SessionWorkspace(root)
            # Only lines that were read may be matched with other indentation.
            _fastest_call(workspace, "read", repeat=1, path="edited.py", offset=2 * middle - 5, limit=20)
            times.append(
                _fastest_call(workspace, "edit", repeat=1, path="edited.py", oldText=old, newText=new)
            )
        yield Row(name=f"edit of a 5 MB file, {label}", figure=min(times) * 1000, unit="ms", limit="150 ms")


_OUTPUT_PROGRAM = r"""
import asyncio, re, sys, time
from pathlib import Path
from tools.tool_definition import ToolContext
from tools.builtin.bash import BashArguments, make_bash_tool
from tools.files.output_artifacts import Artifacts
from tools.session_workspace import Workspace
workspace = Workspace(Path(sys.argv[1]), artifacts=Artifacts(Path(sys.argv[1]) / "artifacts"))
async def run(command):
    context = ToolContext(call_id="bench", cwd=workspace.cwd, workspace=workspace)
    return await make_bash_tool().run(BashArguments(command=command), context)
asyncio.run(run("true"))
def peak():
    # Not ru_maxrss, which a process inherits from the one that started it.
    return int(re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())[1])
before = peak()
began = time.perf_counter()
asyncio.run(run("yes | head -c " + sys.argv[2]))
wall = time.perf_counter() - began
print(wall, (peak() - before) / 1024)
workspace.close()
"""


def _output(root: Path) -> Iterator[Row]:
    reference, own, memory = [], [], []
    for _ in range(2):
        began = time.perf_counter()
        subprocess.run(["bash", "-c", f"yes | head -c {OUTPUT} > out"], cwd=root, check=True)
        reference.append(time.perf_counter() - began)
        (root / "out").unlink()
        argv = [sys.executable, "-c", _OUTPUT_PROGRAM, str(root), OUTPUT]
        told = subprocess.run(
            argv, cwd=Path(__file__).parent.parent, capture_output=True, text=True, check=True
        )
        wall, grown = map(float, told.stdout.split())
        own.append(wall)
        memory.append(grown)
        for path in (root / "artifacts").iterdir():
            path.unlink()
    yield Row(
        name=f"bash, yes | head -c {OUTPUT}",
        figure=min(own),
        unit="s",
        ratio=min(own) / min(reference),
        reference="the same into a file",
        limit="2x",
    )
    yield Row(name=f"bash, yes | head -c {OUTPUT}, memory", figure=max(memory), unit="MB", limit="30 MB")


def _row(name: str, own: float, reference: float, words: str, limit: str) -> Row:
    return Row(
        name=name,
        figure=own * 1000,
        unit="ms",
        ratio=own / reference,
        reference=f"{words}, {reference * 1000:.0f} ms",
        limit=limit,
    )
