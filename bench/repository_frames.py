"""Whether one notices that an index is being made: how long a key takes to paint meanwhile, and before and after.

    python -m bench repository-frames FOLDER

`FOLDER` is a source tree of some thousand files: of a smaller one the index is made too soon to be measured. The real
program runs in a terminal there; what a key takes is told by the clock, so that only the ratio says something. How long
bayou was ready and had no processor is told apart: on a machine that does nothing else, that is what the making costs.
"""

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from app.resources.paths import Paths
from bench.processes import Terminal, bayou, cpu_seconds, waited_seconds, world
from bench.table import Row
from tools.repomap.repository import MappedRepository, root_of

_SIZE = (120, 40)
_KEYS = 100
_ESCAPE, _CLEAR = b"\x1b", b"\x15"
_ASKED = b"@:zzz"
"""The first question about a symbol has the index made."""


def rows(folders: Sequence[str] = ()) -> Iterator[Row]:
    for folder in folders:
        yield from _measured(Path(folder))


def _measured(folder: Path) -> Iterator[Row]:
    with world() as (_, env):
        repository = MappedRepository(root_of(folder), Paths.from_env(env, folder).cache_dir)
        terminal = Terminal(bayou("--no-session"), folder, env, _SIZE)
        try:
            terminal.wait_until_quiet(2)
            terminal.write(_ESCAPE)  # whether the folder is trusted is decided later
            terminal.wait_until_quiet(2)
            before = _keys(terminal)
            terminal.write(_CLEAR)
            terminal.read_for(0.5)
            terminal.write(_ASKED)
            while not repository.index.exists():
                terminal.read_for(0.2)
            terminal.write(_ESCAPE)
            terminal.read_for(0.5)
            terminal.write(_CLEAR)
            during = _keys(terminal, lambda: not repository.is_whole)
            while not repository.is_whole:
                terminal.read_for(0.5)
            terminal.wait_until_quiet(2)
            after = _keys(terminal)
        finally:
            terminal.close()
    for name, share in (("median", 0.5), ("p99", 0.99)):
        quiet = (_at(before, share, 0) + _at(after, share, 0)) / 2
        yield Row(
            name=f"{folder.name}: key to paint while the index is made ({len(during)} keys), {name}",
            figure=1000 * _at(during, share, 0),
            unit="ms",
            ratio=_at(during, share, 0) / quiet,
            reference=f"{1000 * quiet:.1f} ms with none being made",
            limit="1.10x",
        )
    quiet = statistics.median([one[1] for one in (*before, *after)])
    busy = statistics.median([one[1] for one in during])
    yield Row(
        name=f"{folder.name}: the same in the time of bayou's own processor, median",
        figure=1000 * busy,
        unit="ms CPU",
        ratio=busy / quiet,
        limit="1.10x",
    )
    idle = statistics.mean([one[2] for one in (*before, *after)])
    late = statistics.mean([one[2] for one in during])
    yield Row(
        name=f"{folder.name}: of it ready without a processor, mean",
        figure=1000 * late,
        unit="ms",
        reference=f"{1000 * idle:.2f} ms with none being made",
    )


def _at(found: Sequence[tuple[float, ...]], share: float, which: int) -> float:
    values = sorted(one[which] for one in found)
    return values[min(len(values) - 1, int(len(values) * share))]


def _keys(terminal: Terminal, goes_on: Callable[[], bool] = lambda: True) -> list[tuple[float, ...]]:
    """By the clock, by the processor, and waiting for one; letters that no escape sequence holds, each another than
    before."""
    found: list[tuple[float, ...]] = []
    for number in range(_KEYS):
        if number % 20 == 0 and not goes_on():
            break
        terminal.read_for(0.03)
        terminal.drawn = b""
        key = chr(0x430 + number % 32).encode()
        worked, waited = cpu_seconds(terminal.pid), waited_seconds(terminal.pid)
        pressed = time.perf_counter()
        terminal.started = pressed
        terminal.write(key)
        terminal.wait_for(key)
        took = time.perf_counter() - pressed
        found.append((took, cpu_seconds(terminal.pid) - worked, waited_seconds(terminal.pid) - waited))
    return found
