"""What it costs to decide whether to compact: with every event the account of the context is brought up to date and
looked at. However long the session is, that must cost the same.
"""

import gc
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from app.values.events import MessageEnd
from app.values.messages import user_message
from bench.loop import Stage
from bench.table import Row

SHORT, LONG = 100, 5_000
EVENTS = 20_000
REPEAT = 7


def rows() -> Iterator[Row]:
    figures: dict[int, list[float]] = {SHORT: [], LONG: []}
    for _ in range(REPEAT):
        for entries, found in figures.items():
            found.append(_seconds(entries))
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


def _seconds(entries: int) -> float:
    """CPU seconds an event."""
    with tempfile.TemporaryDirectory() as name:
        session = Stage(Path(name), entries).session
        event = MessageEnd(message=user_message("a word or two"))
        gc.collect()
        began = time.process_time()
        for _ in range(EVENTS):
            session.account.note(event)
            assert not session.compactor.is_full
        return (time.process_time() - began) / EVENTS
