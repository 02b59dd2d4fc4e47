"""Measures the cost of extensions: loading twenty in a new process, and an event with and without
listeners."""

import asyncio
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from bench.table import Row

COUNT = 20
RUNS = 7
EVENTS = 20_000

_SMALL_EXTENSION = """
def extension(api):
    @api.on("tool_call")
    async def check(event, context):
        return None

    @api.command("hello{n}", description="Says hello")
    async def hello(arguments, context):
        context.ui.notify("hello")
"""

_LOAD_PROGRAM = """
import asyncio, sys, time
import app.engine.session, app.resources.settings.settings  # what a session has loaded before its extensions
from pathlib import Path
began = time.process_time()
from app.extensions.loading.extension_finder import extensions_in_folder
from app.extensions.extension_runner import Extensions
imported = time.process_time()
async def main():
    extensions = Extensions()
    await extensions.load(extensions_in_folder(Path(sys.argv[1]), "user"))
    assert len(extensions.hooks.loaded) == int(sys.argv[2]), extensions.hooks.problems
asyncio.run(main())
ended = time.process_time()
print(imported - began, ended - imported)
"""


def rows() -> Iterator[Row]:
    yield from _loading()
    yield from _events()
    yield from _settings()


def _loading() -> Iterator[Row]:
    root = Path(__file__).resolve().parent.parent
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for number in range(COUNT):
            (folder / f"small_{number}.py").write_text(_SMALL_EXTENSION.replace("{n}", str(number)))
        samples = []
        for _ in range(RUNS):
            command = [sys.executable, "-P", "-c", _LOAD_PROGRAM, str(folder), str(COUNT)]
            done = subprocess.run(
                command, capture_output=True, text=True, check=True, cwd=root, env={"PYTHONPATH": str(root)}
            )
            samples.append([float(word) * 1000 for word in done.stdout.split()])
    system, loading = (statistics.median(column) for column in zip(*samples, strict=True))
    yield Row(name="the extension system's own import", figure=system, unit="ms CPU")
    yield Row(name=f"loading {COUNT} small extensions", figure=loading, unit="ms CPU")
    yield Row(name="both, added to a start", figure=system + loading, unit="ms CPU", limit="< 60 ms")


def _events() -> Iterator[Row]:
    from app.extensions.extension_registrations import ExtensionSource
    from app.extensions.extension_runner import Extensions
    from app.extensions.hooks.session_hooks import ExtensionHooks
    from app.values.content import ToolCall
    from app.values.events import TurnStart

    call = ToolCall(id="c", name="read", arguments={"path": "a.py"})

    def one(api):
        api.on("turn_start", lambda event, context: None)
        api.on("tool_call", lambda event, context: None)

    async def measure(work) -> float:
        best = float("inf")
        for _ in range(5):
            began = time.perf_counter()
            for _ in range(EVENTS):
                await work()
            best = min(best, (time.perf_counter() - began) / EVENTS * 1e6)
        return best

    async def run() -> list[tuple[str, float, str]]:
        empty, full = Extensions(), Extensions()
        await full.load([ExtensionSource(name="one", path="one", origin="user", load=lambda extension: one)])
        event = TurnStart()
        bare, gate = ExtensionHooks(empty), ExtensionHooks(full)
        return [
            ("event without handlers", await measure(lambda: empty.handle_event(event)), "< 2 µs"),
            (
                "tool_call without handlers",
                await measure(lambda: bare.before_tool(call, call.arguments)),
                "< 2 µs",
            ),
            ("event with one handler", await measure(lambda: full.handle_event(event)), ""),
            ("tool_call with one handler", await measure(lambda: gate.before_tool(call, call.arguments)), ""),
        ]

    for name, figure, limit in asyncio.run(run()):
        yield Row(name=name, figure=figure, unit="µs", limit=limit)


def _settings() -> Iterator[Row]:
    from app.resources.paths import BayouPaths
    from app.resources.settings.effective_settings import EffectiveSettings

    with tempfile.TemporaryDirectory() as name:
        paths = BayouPaths.from_env({"HOME": name}, Path(name))
        paths.agent_dir.mkdir(parents=True)
        paths.settings_file.write_text(
            '{ // mine\n "theme": "x", "retry": {"maxRetries": 5}, "extensions": ["a.py"] }'
        )
        samples = []
        for _ in range(50):
            began = time.perf_counter()
            EffectiveSettings(paths, is_trusted=True)
            samples.append((time.perf_counter() - began) * 1000)
    yield Row(name="reading the settings", figure=statistics.median(samples), unit="ms")
