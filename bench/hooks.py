"""Measures configured hooks: what each of a hundred costs bayou itself, and what a large output costs in memory."""

import asyncio
import json
import os
import resource
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from app.extensions.command_hooks.extension import extension
from app.providers.scripted import call, say
from bench.table import Row
from tests.extensions.extension_session import ExtensionSession

COUNT = 100


def rows() -> Iterator[Row]:
    before = os.environ.get("HOME")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["HOME"] = folder
        try:
            none = asyncio.run(_call_cost(Path(folder), []))
            own = (asyncio.run(_call_cost(Path(folder), ["true"] * COUNT)) - none) * 1000 / COUNT
            yield Row(name=f"each of {COUNT} hooks, own CPU", figure=own, unit="ms", limit="15 ms")
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            asyncio.run(_call_cost(Path(folder), ["head -c 100000000 /dev/zero"]))
            grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak) / 1024
            yield Row(name="a hook that prints 100 MB, peak memory", figure=grown, unit="MiB", limit="32 MiB")
        finally:
            if before is not None:
                os.environ["HOME"] = before


async def _call_cost(home: Path, commands: list[str]) -> float:
    """Returns the CPU seconds of this process for one call with these hooks; the first call warms up."""
    file = home / ".claude" / "settings.json"
    file.parent.mkdir(exist_ok=True)
    hooks = [{"type": "command", "command": command} for command in commands]
    file.write_text(json.dumps({"hooks": {"PreToolUse": [{"hooks": hooks}]}}))
    with tempfile.TemporaryDirectory() as folder:
        answers = [call("ls"), say("ok")] * 2
        session = ExtensionSession(Path(folder), *answers)
        await session.load(extension)
        await session.extensions.start()
        await session.prompt("go")
        started = time.process_time()
        await session.prompt("go")
        return time.process_time() - started
