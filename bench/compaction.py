"""Measures the cost of deciding whether to compact, which happens at every event, and of a turn
in a session that is compacted every second turn. Neither may depend on the session's length."""

import asyncio
import gc
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from app.values.entries import CompactionEntry
from app.values.messages import user_message
from bench.loop import MODEL, BenchSession
from bench.table import Row

SHORT, LONG = 100, 5_000
EVENTS = 20_000
REPEAT = 7
EARLY, LATE, TURNS = 100, 1_500, 50
PROMPT = "please " + "tell me more " * 200


def rows() -> Iterator[Row]:
    figures: dict[int, list[float]] = {SHORT: [], LONG: []}
    for _ in range(REPEAT):
        for entries, found in figures.items():
            found.append(_seconds_per_event(entries))
    short, long = (min(found) * 1e6 for found in figures.values())
    name = "deciding whether to compact, an event"
    yield Row(name=f"{name}, {SHORT} entries", figure=short, unit="µs CPU", limit="< 1,000 µs")
    yield Row(
        name=f"{name}, {LONG:,} entries",
        figure=long,
        unit="µs CPU",
        ratio=long / short,
        reference=f"{SHORT} entries",
        limit="< 1,000 µs, <= 1.2x",
    )
    early, late = (1000 * seconds for seconds in asyncio.run(_turn_costs()))
    name = "a turn of a session that is summarised every other turn"
    yield Row(name=f"{name}, turn {EARLY}", figure=early, unit="ms CPU")
    yield Row(
        name=f"{name}, turn {LATE:,}",
        figure=late,
        unit="ms CPU",
        ratio=late / early,
        reference=f"turn {EARLY}",
        limit="<= 1.3x",
    )


async def _turn_costs() -> tuple[float, float]:
    """Returns the CPU seconds of an early and a late turn, each a median."""
    taken: list[float] = []
    with tempfile.TemporaryDirectory() as name:
        stage = BenchSession(Path(name), 0)
        session = stage.session
        stage.choice.set_model(msgspec.structs.replace(MODEL, context_window=5_000))
        stage.effective_settings.set("compaction.reserveTokens", 1_500)
        stage.effective_settings.set("compaction.keepRecentTokens", 600)
        for _ in range(LATE + TURNS):
            stage.script.deltas = 400
            began = time.process_time()
            await session.prompt(PROMPT)
            await session.wait_until_idle()
            taken.append(time.process_time() - began)
        assert sum(isinstance(entry, CompactionEntry) for entry in session.log.entries) > LATE / 3
        await session.close()
    early, late = taken[EARLY : EARLY + TURNS], taken[LATE:]
    return sum(sorted(early)[5:-5]) / (TURNS - 10), sum(sorted(late)[5:-5]) / (TURNS - 10)


def _seconds_per_event(entries: int) -> float:
    """Returns the CPU seconds per event."""
    with tempfile.TemporaryDirectory() as name:
        parts = BenchSession(Path(name), entries).parts
        message = user_message("a word or two")
        gc.collect()
        began = time.process_time()
        for _ in range(EVENTS):
            parts.core.usage_totals.count_message(message)
            assert not parts.context.compactor.is_context_full
        return (time.process_time() - began) / EVENTS
