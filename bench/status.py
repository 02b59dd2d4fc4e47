"""Measures header and footer with every segment in a long session.

The cost must not grow with the session, so 5,000 messages are compared with ten; CPU time."""

import asyncio
import random
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

from app.assembly.command_line_options import CommandLineOptions
from app.assembly.session_builder import assemble_session
from app.resources.paths import BayouPaths, shipped_styles_dir
from app.resources.settings.settings_display import FooterSegment
from app.tui.app import BayouApp
from app.tui.startup import TuiStartOptions
from app.values.codec import encode
from app.values.entries import MessageEntry, SessionHeader
from app.values.events import EntryAppended
from bench.sessions import random_turn
from bench.table import Row

SMALL, LARGE = 10, 5_000
LOOKS = 300


def rows() -> Iterator[Row]:
    with tempfile.TemporaryDirectory(prefix="bayou-bench-") as folder:
        small = asyncio.run(_measured(Path(folder), SMALL))
        large = asyncio.run(_measured(Path(folder), LARGE))
    limits = {"a look": "0.3 ms", "an entry comes": "0.3 ms"}
    for name, limit in limits.items():
        yield Row(
            name=f"{name}, {LARGE:,} messages",
            figure=large[name] * 1000,
            unit="ms CPU",
            ratio=large[name] / small[name],
            reference=f"{SMALL} messages",
            limit=limit,
        )


async def _measured(folder: Path, messages: int) -> dict[str, float]:
    home = folder / str(messages)
    project = home / "project"
    project.mkdir(parents=True)
    file = _session(project, messages)
    paths = BayouPaths.from_env({"HOME": str(home)}, project)
    assembled = assemble_session(CommandLineOptions(session=str(file), offline=True), paths, {}, can_ask=True)
    assembled.effective_settings.set("footer.segments", get_args(FooterSegment))
    app = BayouApp(
        assembled, opening=TuiStartOptions(), home=home, css_path=sorted(shipped_styles_dir().glob("*.tcss"))
    )
    async with app.run_test(size=(200, 60)) as pilot:
        await app.is_ready.wait()
        await pilot.pause()
        entry = assembled.session.log.entries[-1]
        return {
            "a look": _best(app.status.refresh),
            "an entry comes": _best(lambda: app.status.handle_event(EntryAppended(entry=entry))),
        }


def _session(folder: Path, messages: int) -> Path:
    chance = random.Random(7)
    lines = [encode(SessionHeader(id="bench", cwd=str(folder), timestamp="2026-01-01T00:00:00.000Z"))]
    above, count = None, 0
    while count < messages:
        for message in random_turn(chance, count):
            count += 1
            entry = MessageEntry(id=f"{count:08x}", parent_id=above, message=message)
            lines.append(encode(entry))
            above = entry.id
    file = folder.parent / "session.jsonl"
    file.write_bytes(b"\n".join(lines) + b"\n")
    return file


def _best(work: object) -> float:
    """Returns the lowest CPU seconds of one call."""
    assert callable(work)
    found: list[float] = []
    for _ in range(5):
        started = time.process_time()
        for _ in range(LOOKS):
            work()
        found.append((time.process_time() - started) / LOOKS)
    return min(found)
