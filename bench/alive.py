"""Measures the cost of showing that a command is running: the whole program in a terminal.

Reports the share of a core over all threads, and the bytes drawn; other load of the machine
does not count."""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from bench.processes import Terminal, bayou_command, cpu_seconds, temporary_home
from bench.table import Row

SECONDS = 30
SIZES = ((80, 24), (200, 60))
SILENT = "sleep 300"
CHATTY = "while sleep 0.5; do date; done"


def rows() -> Iterator[Row]:
    for size in SIZES:
        yield from _measure_running("that is silent", SILENT, size, "on", "1 %")
    yield from _measure_running("that is silent, nothing moves", SILENT, SIZES[0], "off", "0.5 %")
    yield from _measure_running("that tells two lines a second", CHATTY, SIZES[0], "on", "2 %")


def _measure_running(
    name: str, command: str, size: tuple[int, int], animations: str, limit: str
) -> Iterator[Row]:
    used, drawn = _cpu_and_bytes(command, size, animations)
    told = f"a command {name}, {size[0]}x{size[1]}"
    yield Row(name=told, figure=100 * used, unit="% of a core", limit=limit)
    yield Row(name=f"drawn for {told}", figure=drawn, unit="bytes/s")


def _cpu_and_bytes(command: str, size: tuple[int, int], animations: str) -> tuple[float, float]:
    """Returns the share of a core and the bytes per second."""
    with temporary_home() as (cwd, env):
        own = Path(env["HOME"], ".bayou", "agent")
        own.mkdir(parents=True)
        (own / "settings.json").write_bytes(msgspec.json.encode({"animations": animations}))
        terminal = Terminal(bayou_command("--permissions", "full"), cwd, env, size)
        try:
            _wait_for_rest(terminal)
            terminal.write(f"run {command}\r".encode())
            terminal.wait_for("◐".encode() if animations == "on" else "●".encode())
            terminal.read_for(4)
            before = cpu_seconds(terminal.pid)
            drawn = terminal.read_for(SECONDS)
            return (cpu_seconds(terminal.pid) - before) / SECONDS, drawn / SECONDS
        finally:
            terminal.close()


def _wait_for_rest(terminal: Terminal) -> None:
    """Waits until the reading in the background after the start is done."""
    terminal.wait_until_quiet(2)
    before = 0.0
    while (now := cpu_seconds(terminal.pid)) - before > 0.01:
        before = now
        terminal.read_for(1)
