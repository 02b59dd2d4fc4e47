"""Measures the start: `--version`, one printed answer, the first paint, and the idle cost."""

import compileall
from collections.abc import Iterator
from pathlib import Path

from bench.processes import (
    ROOT,
    Cost,
    Terminal,
    bayou_command,
    cpu_seconds,
    median,
    python_command,
    resident_bytes,
    run,
    temporary_home,
)
from bench.table import Row

REPEAT = 9
IDLE_SECONDS = 10
SIZE = (100, 30)
PAINTED = b"guide"
"""The model's name, in the last line of the first frame."""
EMPTY_APP = """
from textual.app import App
from textual.widgets import Static
App.compose = lambda self: [Static("empty")]
App().run()
"""


def rows() -> Iterator[Row]:
    for folder in ("app", "widgets", "tools"):
        compileall.compile_dir(ROOT / folder, quiet=2)
    with temporary_home() as (cwd, env):
        yield from _whole_processes(cwd, env)
        yield from _idle_rows(cwd, env)


def _whole_processes(cwd: Path, env: dict[str, str]) -> Iterator[Row]:
    """Measures programs and references in alternation, so that a busy moment affects all of them."""
    commands = {
        "pass": python_command("pass"),
        "textual": python_command("import textual.app"),
        "--version": bayou_command("--version"),
        "-p": bayou_command("-p", "list"),
    }
    costs: dict[str, list[Cost]] = {name: [] for name in (*commands, "paint")}
    for _ in range(REPEAT):
        for name, command in commands.items():
            costs[name].append(run(command, cwd, env))
        costs["paint"].append(_first_paint(cwd, env))
    middle = {name: median(found) for name, found in costs.items()}
    nothing, textual = middle["pass"], middle["textual"]
    for name, reference, limit in (
        ("--version", nothing, "6x"),
        ("-p", textual, ""),
        ("paint", textual, "2.0x"),
    ):
        cost = middle[name]
        words = "python -c pass" if reference is nothing else 'python -c "import textual.app"'
        title = {
            "--version": "bayou --version",
            "-p": "bayou -p on the offline model",
            "paint": "first paint",
        }[name]
        yield Row(
            name=f"{title}, wall",
            figure=cost.wall * 1000,
            unit="ms",
            ratio=cost.wall / reference.wall,
            reference=f"{words}, {reference.wall * 1000:.0f} ms",
            limit=limit,
        )
        yield Row(
            name=f"{title}, CPU",
            figure=cost.cpu * 1000,
            unit="ms",
            ratio=cost.cpu / reference.cpu,
            reference=f"{words}, {reference.cpu * 1000:.0f} ms",
        )


def _first_paint(cwd: Path, env: dict[str, str]) -> Cost:
    terminal = Terminal(bayou_command("--no-session"), cwd, env, SIZE)
    try:
        wall = terminal.wait_for(PAINTED)
        return Cost(wall=wall, cpu=cpu_seconds(terminal.pid))
    finally:
        terminal.close()


def _idle_rows(cwd: Path, env: dict[str, str]) -> Iterator[Row]:
    """Measures bayou and an empty Textual app over the same seconds."""
    terminal = Terminal(bayou_command(), cwd, env, SIZE)
    empty = Terminal(python_command(EMPTY_APP), cwd, env, SIZE)
    try:
        terminal.wait_for(PAINTED)
        empty.wait_for(b"empty")
        for each in (terminal, empty):
            each.wait_until_quiet(2)
        before, before_empty = cpu_seconds(terminal.pid), cpu_seconds(empty.pid)
        drawn = terminal.read_for(IDLE_SECONDS)
        used, used_empty = cpu_seconds(terminal.pid) - before, cpu_seconds(empty.pid) - before_empty
        memory, memory_empty = resident_bytes(terminal.pid), resident_bytes(empty.pid)
    finally:
        terminal.close()
        empty.close()
    yield Row(
        name="memory while idle",
        figure=memory / 2**20,
        unit="MiB",
        ratio=memory / memory_empty,
        reference=f"an empty Textual app, {memory_empty / 2**20:.0f} MiB",
        limit="60 MiB",
    )
    yield Row(
        name=f"CPU over {IDLE_SECONDS} idle seconds",
        figure=100 * used / IDLE_SECONDS,
        unit="%",
        ratio=used / used_empty,
        reference=f"an empty Textual app, {100 * used_empty / IDLE_SECONDS:.3f} %",
        limit="0.1 %",
    )
    yield Row(name=f"drawn in {IDLE_SECONDS} idle seconds", figure=drawn, unit="bytes", limit="0")
