"""What it costs to show the diff of a call beside its arguments alone, and late looks beside early ones."""

import json
import time
from collections.abc import Iterable
from statistics import median

from bench.table import Row
from tools.builtin.edit import edit_tool
from tools.edits.arriving import ArrivingEdit, details_of
from tools.edits.arriving_file import Sight
from tools.edits.texts import read_text
from tools.results import ToolResult
from tools.streamed import StreamedObject
from widgets.transcript.cards import preview

_DELTAS = 4_000
_BETWEEN_LOOKS = 8
"""Deltas; 50 of them come in a second, and a look is taken every 0.15 s."""
_LINE = "    value_{} = measure(boat, depth={}, weather=weather)\n"
_ROUNDS = 3


def rows() -> Iterable[Row]:
    text = "".join(_LINE.format(number, number % 7) for number in range(20_000))
    assert len(text) > 1_000_000
    old = "".join(_LINE.format(number, number % 7) for number in range(10_000, 12_000))
    new = "".join(
        _LINE.format(number, number % (5 if number % 9 == 0 else 7)) for number in range(10_000, 12_400)
    )
    arguments = json.dumps({"path": "a.py", "edits": [{"oldText": old, "newText": new}]})
    size = -(-len(arguments) // _DELTAS)
    pieces = [arguments[at : at + size] for at in range(0, len(arguments), size)]
    alone = _by_arguments(pieces)
    runs = [_looked_at(pieces, text) for _ in range(_ROUNDS)]
    looks = min(runs, key=sum)
    yield Row(
        name=f"{len(pieces):,} deltas of an edit in a file of 1 MB, its diff shown {len(looks)} times, CPU",
        figure=sum(looks) * 1000,
        unit="ms",
        ratio=sum(looks) / alone,
        reference="the same cards by the arguments alone, without the file",
    )
    part = len(looks) // 10
    yield Row(
        name="one such look at the end, CPU",
        figure=median(looks[-part:]) * 1000,
        unit="ms",
        ratio=median(looks[-part:]) / median(looks[-4 * part : -3 * part]),
        reference="one when a third of the new text had come",
        limit="2x",
    )


def _by_arguments(pieces: list[str]) -> float:
    tool = edit_tool()
    received = StreamedObject()
    start = time.process_time()
    for at in range(0, len(pieces), _BETWEEN_LOOKS):
        received.feed("".join(pieces[at : at + _BETWEEN_LOOKS]))
        preview(tool.card(received.so_far()))
    return time.process_time() - start


def _looked_at(pieces: list[str], text: str) -> list[float]:
    """Seconds of each look, the card and its visible rows included."""
    tool = edit_tool()

    def look(path: str) -> Sight:
        return Sight(what="text", path=path, text=read_text(text.encode(), path))

    arriving = ArrivingEdit(tool.prepare, look, kind="edit")
    costs: list[float] = []
    for at in range(0, len(pieces), _BETWEEN_LOOKS):
        start = time.process_time()
        arriving.feed("".join(pieces[at : at + _BETWEEN_LOOKS]))
        details = details_of(arriving.diffs())
        preview(tool.card(arriving.arguments(), ToolResult(details=details)))
        costs.append(time.process_time() - start)
    return costs
