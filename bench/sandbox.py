"""Measures what the sandbox adds to a command, with and without in turn; and the one-time check
of the system."""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from app.engine.core.session_options import SessionOptions
from app.engine.sandbox.command_context import CommandPlaceFacts
from app.engine.sandbox.sandbox_places import SandboxGrant
from app.engine.sandbox.sandboxes import ToolCallSandboxes
from app.resources.settings.effective_settings import EffectiveSettings
from bench.table import Row
from tools.box.sandbox_features import system_sandbox_features
from tools.file_and_process_operations import CommandLine
from tools.running.local_processes import LocalProcesses
from tools.session_workspace import SessionWorkspace

_REPEAT = 60
_LIMIT = "8 ms more"


def rows() -> Iterable[Row]:
    system_sandbox_features.cache_clear()
    before = time.perf_counter()
    step = system_sandbox_features().step
    yield Row(
        name=f"looking at the system ({step})",
        figure=(time.perf_counter() - before) * 1000,
        unit="ms",
        limit="10 ms",
    )
    if step == "none":
        return
    taken = asyncio.run(_measured())
    bare = median(taken["bare"])
    for name, figures in taken.items():
        figure = median(figures)
        yield Row(
            name=f"`true`, {name}",
            figure=figure,
            unit="ms",
            ratio=figure / bare,
            reference="the same without a box",
            limit="" if name == "bare" else _LIMIT,
        )


async def _measured() -> dict[str, list[float]]:
    with TemporaryDirectory() as folder:
        workspace, effective_settings, home = SessionWorkspace(Path(folder)), EffectiveSettings(), Path.home()
        whereabouts = CommandPlaceFacts(home, home / ".bayou" / "agent")
        boxes = ToolCallSandboxes(
            SessionOptions(effective_settings),
            workspace,
            whereabouts,
            mode=lambda: "auto-edit",
            home=home,
            own=home / ".bayou" / "agent",
        )
        boxes.remember_grant("read", SandboxGrant(kind="read"))
        boxes.remember_grant("outside", SandboxGrant(kind="outside"))
        processes = LocalProcesses()

        async def work(network: str, call_id: str) -> None:
            effective_settings.set("sandbox.network", network)
            box = await boxes.box_for_call(call_id)
            line = CommandLine(
                argv=("/bin/sh", "-c", "true"), cwd=folder, environment=dict(os.environ), box=box
            )
            nothing = os.open(os.devnull, os.O_WRONLY)
            try:
                process = await processes.start(line, nothing)
            finally:
                os.close(nothing)
            await process.wait()

        kinds: dict[str, Callable[[], Awaitable[None]]] = {
            "bare": lambda: work("open", "outside"),
            "in the box": lambda: work("open", "work"),
            "in the box, with a network of its own": lambda: work("off", "work"),
            "in the box of what only reads": lambda: work("open", "read"),
        }
        try:
            return await _alternate(kinds)
        finally:
            processes.close()
            boxes.close()
            workspace.close()


async def _alternate(kinds: dict[str, Callable[[], Awaitable[None]]]) -> dict[str, list[float]]:
    taken: dict[str, list[float]] = {name: [] for name in kinds}
    for number in range(_REPEAT + 5):
        for name, run in kinds.items():
            before = time.perf_counter()
            await run()
            if number >= 5:
                taken[name].append((time.perf_counter() - before) * 1000)
    return taken
