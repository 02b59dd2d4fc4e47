"""Measures whether indexing is noticeable while the user types and while an answer streams:
`python -m bench repository-frames FOLDER`.

`FOLDER` is a source tree of some thousand files; the index of a smaller one is finished too
soon. The real program runs in a terminal. The indexer is paused and resumed in turns, so that
both sides of each ratio come from the same seconds, at the same load. Time in which bayou was
ready but had no processor is reported separately."""

import os
import signal
import statistics
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from app.resources.paths import BayouPaths
from bench.processes import Terminal, bayou_command, cpu_seconds, temporary_home, waited_seconds
from bench.table import Row
from tools.repomap.mapped_repository import MappedRepository, find_repository_root

_SIZE = (120, 40)
_ESCAPE, _CLEAR = b"\x1b", b"\x15"
_FIRST_QUERY = b"@:zzz"
"""The first query for a symbol, which starts the indexing."""
_TURNS = 40
_KEYS = 20
"""The number of keys in a burst."""
_REST_SECONDS = 0.4
_STREAMED_SECONDS = 1.5
_START_SECONDS = 0.7
_ANSWER = b"help\r"
_PACE = "60"
"""Tokens per second."""
_FRAME_GAP = 0.004
"""Seconds within which output belongs to the same frame."""


class PaintTime(msgspec.Struct, frozen=True):
    """The time from a key to its echo, or between two frames."""

    clock: float
    processor: float
    waited: float
    """The time in which the program was ready but had no processor."""


Turns = dict[bool, list[PaintTime]]
"""The times with (True) and without (False) indexing."""


def rows(folders: Sequence[str] = ()) -> Iterator[Row]:
    for folder in map(Path, folders):
        yield from _frame_rows(f"{folder.name}: key to paint", _measure_typing(folder))
        yield from _frame_rows(f"{folder.name}: frame to frame of an answer", _measure_streaming(folder))


def _frame_rows(name: str, turns: Turns) -> Iterator[Row]:
    still, made = turns[False], turns[True]
    for title, share in (("median", 0.5), ("p95", 0.95), ("p99", 0.99)):
        before, meanwhile = (_percentile([one.clock for one in some], share) for some in (still, made))
        yield Row(
            name=f"{name}, {title} of {len(made)} while the index is made",
            figure=1000 * meanwhile,
            unit="ms",
            ratio=meanwhile / before,
            reference=f"{1000 * before:.1f} ms of {len(still)} while that is halted",
            limit="1.10x",
        )
    before, meanwhile = (statistics.mean(one.processor for one in some) for some in (still, made))
    yield Row(
        name=f"{name}, bayou's own processor time, mean",
        figure=1000 * meanwhile,
        unit="ms CPU",
        ratio=meanwhile / before,
        reference=f"{1000 * before:.2f} ms",
        limit="1.10x",
    )
    before, meanwhile = (statistics.mean(one.waited for one in some) for some in (still, made))
    yield Row(
        name=f"{name}, of it ready without a processor, mean",
        figure=1000 * meanwhile,
        unit="ms",
        reference=f"{1000 * before:.2f} ms",
    )


def _percentile(values: Sequence[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


class IndexProcesses:
    """The processes that build an index next to a program."""

    def __init__(self, program: int, repository: MappedRepository) -> None:
        self._program = program
        self._repository = repository

    @property
    def is_running(self) -> bool:
        return not self._repository.is_index_complete

    def pause(self) -> None:
        self._send(signal.SIGSTOP)

    def resume(self) -> None:
        self._send(signal.SIGCONT)

    def _send(self, what: signal.Signals) -> None:
        """Sends a signal to the indexers: children of the program, each in a separate session."""
        listed = subprocess.run(["ps", "-axo", "pid=,ppid="], capture_output=True, text=True, check=True)
        parents = {int(pid): int(parent) for pid, parent in map(str.split, listed.stdout.splitlines())}
        for pid in parents:
            above = pid
            while above in parents and above != self._program:
                above = parents[above]
            if above == self._program != pid:
                with suppress(ProcessLookupError):
                    os.kill(pid, what)


@contextmanager
def _open_program(folder: Path) -> Iterator[tuple[Terminal, IndexProcesses]]:
    """Opens the page, with an index that was just started."""
    with temporary_home() as (_, env):
        env["BAYOU_OFFLINE_PACE"] = _PACE
        repository = MappedRepository(
            find_repository_root(folder), BayouPaths.from_env(env, folder).cache_dir
        )
        terminal = Terminal(bayou_command("--no-session"), folder, env, _SIZE)
        making = IndexProcesses(terminal.pid, repository)
        try:
            terminal.wait_until_quiet(2)
            terminal.write(_ESCAPE)  # the trust question is answered later
            terminal.wait_until_quiet(2)
            terminal.write(_FIRST_QUERY)
            while not repository.index.exists():
                terminal.read_for(0.05)
            terminal.write(_ESCAPE)
            terminal.read_for(0.5)
            terminal.write(_CLEAR)
            terminal.read_for(0.5)
            yield terminal, making
        finally:
            making.resume()
            terminal.close()


def _measure_typing(folder: Path) -> Turns:
    """Types letters that occur in no escape sequence, each different from the one before."""
    turns: Turns = {True: [], False: []}
    with _open_program(folder) as (terminal, making):
        for turn in range(_TURNS):
            is_made = _take_turn(making, turn)
            if is_made is None:
                break
            terminal.read_for(_REST_SECONDS)
            for number in range(_KEYS):
                terminal.read_for(0.03)
                terminal.drawn = b""
                key = chr(0x430 + (turn * _KEYS + number) % 32).encode()
                before = _Clock(terminal)
                terminal.started = time.perf_counter()
                terminal.write(key)
                terminal.wait_for(key)
                turns[is_made].append(before.elapsed())
            terminal.write(_CLEAR)
    return turns


def _measure_streaming(folder: Path) -> Turns:
    turns: Turns = {True: [], False: []}
    with _open_program(folder) as (terminal, making):
        for turn in range(_TURNS):
            is_made = _take_turn(making, turn)
            if is_made is None:
                break
            terminal.write(_ANSWER)
            terminal.read_for(_START_SECONDS)
            turns[is_made] += _frames(terminal)
            terminal.write(_ESCAPE)
            terminal.read_for(_REST_SECONDS)
    return turns


def _frames(terminal: Terminal) -> Iterator[PaintTime]:
    end = time.perf_counter() + _STREAMED_SECONDS
    terminal.wait_for_more()
    before = _Clock(terminal)
    while time.perf_counter() < end:
        while terminal.read_for(_FRAME_GAP):
            pass
        terminal.wait_for_more()
        yield before.elapsed()
        before = _Clock(terminal)


def _take_turn(making: IndexProcesses, turn: int) -> bool | None:
    """Pauses or resumes the indexer; returns whether it runs in this turn, or None if it is done."""
    if not making.is_running:
        return None
    is_made = turn % 2 == 0
    if is_made:
        making.resume()
    else:
        making.pause()
    return is_made


class _Clock:
    def __init__(self, terminal: Terminal) -> None:
        self._pid = terminal.pid
        self._state = self._now()

    def elapsed(self) -> PaintTime:
        return PaintTime(*(now - then for now, then in zip(self._now(), self._state, strict=True)))

    def _now(self) -> tuple[float, float, float]:
        return time.perf_counter(), cpu_seconds(self._pid), waited_seconds(self._pid)
