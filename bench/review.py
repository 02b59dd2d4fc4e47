"""Measures the review desk: the time from its key to its first frame, after a turn that changed 5,000 lines."""

import statistics
import time
from collections.abc import Iterator
from pathlib import Path

from bench.processes import Terminal, bayou_command, cpu_seconds, temporary_home
from bench.table import Row

SIZE = (120, 40)
FILES = 25
LINES = 400
"""Lines of a file, of which every second one is changed."""
OPENINGS = 9
SHOW, LEAVE = b"\x1bg", b"\x1b"
CHANGED = b"total = total "


def rows() -> Iterator[Row]:
    with temporary_home() as (cwd, env):
        _write_project(cwd)
        terminal = Terminal(bayou_command("--permissions", "full"), cwd, env, SIZE)
        try:
            terminal.wait_until_quiet(2)
            terminal.write(b"run sed -i 's/total + 1$/total * 2/' *.py\r")
            terminal.started = time.perf_counter()
            terminal.wait_for(f"{FILES} files".encode())
            terminal.wait_until_quiet(2)
            first, *later = [_open(terminal) for _ in range(1 + OPENINGS)]
        finally:
            terminal.close()
    lines = FILES * LINES // 2
    yield Row(
        name=f"open the review of {lines:,} changed lines, first time", figure=first[0] * 1000, unit="ms"
    )
    for number, unit in ((0, "ms"), (1, "ms CPU")):
        figure = statistics.median(one[number] for one in later) * 1000
        yield Row(
            name=f"open the review of {lines:,} changed lines again", figure=figure, unit=unit, limit="100 ms"
        )


def _write_project(folder: Path) -> None:
    for number in range(FILES):
        pairs = (f"value_{index} = read({index})\ntotal = total + 1" for index in range(LINES // 2))
        (folder / f"module_{number:02}.py").write_text("total = 0\n" + "\n".join(pairs) + "\n")


def _open(terminal: Terminal) -> tuple[float, float]:
    """Returns wall and CPU seconds from the key to the first changed line."""
    terminal.drawn = b""
    before = cpu_seconds(terminal.pid)
    terminal.started = time.perf_counter()
    terminal.write(SHOW)
    wall = terminal.wait_for(CHANGED)
    cpu = cpu_seconds(terminal.pid) - before
    terminal.wait_until_quiet(0.5)
    terminal.write(LEAVE)
    terminal.wait_until_quiet(0.5)
    return wall, cpu
