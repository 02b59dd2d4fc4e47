"""Measures MCP servers: a start and an idle session with five known servers against none, the
memory of a first call, and keys while the SDK is loaded."""

import json
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from bench.modes import STAGE_EXTENSION
from bench.processes import (
    ROOT,
    Cost,
    Terminal,
    bayou_command,
    cpu_seconds,
    median,
    proportional_bytes,
    resident_bytes,
    run,
    temporary_home,
)
from bench.startup import PAINTED, SIZE
from bench.table import Row

SERVER = str(ROOT / "tests" / "mcp" / "faulty.py")
SERVERS = 5
REPEAT = 7
QUIET_SECONDS = 2.0
KEYS = 400
KEY_SECONDS = 0.01


class _Idle(msgspec.Struct, frozen=True, kw_only=True):
    paint: Cost
    resident: int
    proportional: int
    children: int


def rows() -> Iterator[Row]:
    with temporary_home() as without, temporary_home() as with_five:
        _cache_manifests(*with_five)
        yield from _idle(without, with_five)
        yield from _one_call(*with_five)
        yield from _keys(*with_five)


def _cache_manifests(cwd: Path, env: dict[str, str]) -> None:
    """Writes the configuration and caches of five servers that were connected before."""
    entry = {"command": sys.executable, "args": [SERVER]}
    written = {f"server{number}": {**entry, "description": f"the {number}th"} for number in range(SERVERS)}
    written["server0"]["exposure"] = "direct"
    agent = Path(env["HOME"]) / ".bayou" / "agent"
    agent.mkdir(parents=True)
    (agent / "mcp.json").write_text(json.dumps({"mcpServers": written}))
    run(bayou_command("mcp", "test"), cwd, env)


def _idle(without: tuple[Path, dict[str, str]], with_five: tuple[Path, dict[str, str]]) -> Iterator[Row]:
    """Measures idle sessions in alternation; the first of each is left out, because it fills caches."""
    found: dict[str, list[_Idle]] = {"without": [], "with": []}
    for _ in range(REPEAT + 1):
        found["without"].append(_started(*without))
        found["with"].append(_started(*with_five))
    plain, known = found["without"][1:], found["with"][1:]
    before, after = (median([one.paint for one in runs]) for runs in (plain, known))
    words = "without any"
    yield Row(
        name=f"first paint, {SERVERS} known servers, CPU",
        figure=after.cpu * 1000,
        unit="ms",
        ratio=after.cpu / before.cpu,
        reference=f"{words}, {before.cpu * 1000:.0f} ms",
        limit="1.02x",
    )
    yield Row(
        name=f"first paint, {SERVERS} known servers, wall",
        figure=after.wall * 1000,
        unit="ms",
        ratio=after.wall / before.wall,
        reference=f"{words}, {before.wall * 1000:.0f} ms",
    )
    for title, field in (("resident", "resident"), ("proportional", "proportional")):
        more, least = (statistics.median(getattr(one, field) for one in runs) for runs in (known, plain))
        yield Row(
            name=f"idle with {SERVERS} known servers: more memory, {title}",
            figure=(more - least) / 2**20,
            unit="MiB",
            ratio=more / least,
            reference=f"{words}, {least / 2**20:.1f} MiB",
            limit="1 MiB",
        )
    yield Row(
        name=f"idle with {SERVERS} known servers: more processes",
        figure=statistics.median(one.children for one in known)
        - statistics.median(one.children for one in plain),
        unit="",
        limit="0",
    )


def _started(cwd: Path, env: dict[str, str]) -> _Idle:
    terminal = Terminal(bayou_command("--no-session"), cwd, env, SIZE)
    try:
        wall = terminal.wait_for(PAINTED)
        paint = Cost(wall=wall, cpu=cpu_seconds(terminal.pid))
        terminal.wait_until_quiet(QUIET_SECONDS)
        children = Path(f"/proc/{terminal.pid}/task/{terminal.pid}/children").read_text().split()
        return _Idle(
            paint=paint,
            resident=resident_bytes(terminal.pid),
            proportional=proportional_bytes(terminal.pid),
            children=len(children),
        )
    finally:
        terminal.close()


def _one_call(cwd: Path, env: dict[str, str]) -> Iterator[Row]:
    """Measures the first call of a server, after another tool call, so that only the server's part
    counts."""
    grown: dict[str, list[float]] = {"resident": [], "proportional": []}
    base = 0.0
    for _ in range(REPEAT):
        terminal = Terminal(
            bayou_command("--no-session", "--permissions", "full", "-e", STAGE_EXTENSION), cwd, env, SIZE
        )
        try:
            _send_and_wait(terminal, b"call ls", b"Done.")
            before = resident_bytes(terminal.pid), proportional_bytes(terminal.pid)
            _send_and_wait(terminal, b"call mcp__server0__structured", b"Done.")
            after = resident_bytes(terminal.pid), proportional_bytes(terminal.pid)
        finally:
            terminal.close()
        for name, late, early in zip(grown, after, before, strict=True):
            grown[name].append((late - early) / 2**20)
        base = before[0] / 2**20
    for name, figures in grown.items():
        yield Row(
            name=f"a first call of a server: more memory, {name}",
            figure=statistics.median(figures),
            unit="MiB",
            reference=f"the same session before it, {base:.1f} MiB",
            limit="40 MiB",
        )


def _send_and_wait(terminal: Terminal, words: bytes, answer: bytes) -> None:
    terminal.wait_for(b"script")
    terminal.wait_until_quiet(QUIET_SECONDS)
    terminal.write(words)
    terminal.wait_until_quiet(0.3)
    terminal.drawn = b""
    terminal.write(b"\r")
    terminal.wait_for(answer)
    terminal.wait_until_quiet(QUIET_SECONDS)


def _keys(cwd: Path, env: dict[str, str]) -> Iterator[Row]:
    """Measures from a key to its echo, in the seconds after a first connection and in a quiet
    session."""
    loading, quiet = list[float](), list[float]()
    for _ in range(3):
        terminal = Terminal(bayou_command("--no-session"), cwd, env, SIZE)
        try:
            terminal.wait_for(PAINTED)
            terminal.wait_until_quiet(QUIET_SECONDS)
            quiet += _echo_times(terminal, KEYS // 4)
            terminal.write(b"\x15/mcp restart server0\r")
            terminal.wait_until_quiet(0.5)
            terminal.write(b"/mcp test server0\r")
            loading += _echo_times(terminal, KEYS)
        finally:
            terminal.close()
    yield Row(
        name="a key while the SDK is loaded, p99",
        figure=_percentile(loading) * 1000,
        unit="ms",
        ratio=_percentile(loading) / _percentile(quiet),
        reference=f"in a quiet session, {_percentile(quiet) * 1000:.1f} ms",
        limit="60 ms",
    )


def _echo_times(terminal: Terminal, count: int) -> list[float]:
    found: list[float] = []
    for number in range(count):
        begun = time.perf_counter()
        terminal.write(b"abcdefghij"[number % 10 :][:1])
        terminal.wait_for_more()
        found.append(time.perf_counter() - begun)
        terminal.read_for(KEY_SECONDS)
    return found


def _percentile(figures: list[float]) -> float:
    return sorted(figures)[int(len(figures) * 0.99)]
