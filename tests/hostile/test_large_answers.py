"""The memory of a hundred megabytes of answer, and the work of a thousand summaries, grow in proportion only."""

import sys
from pathlib import Path

import pytest

from app.providers.scripted import say
from app.sessions.entry_tree import SessionTree
from app.values.entries import CompactionEntry
from tests.engine.scripted_session import ScriptedSession
from tests.hostile.setups import COLD_BAYOU, MODEL, ending, piece, run, use_model_at
from tests.providers.loopback import Reply, loopback, sse

MEGABYTES = 100
MEASURED = """
import resource, subprocess, sys
code = subprocess.run(sys.argv[1:]).returncode
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)
sys.exit(code)
"""


@pytest.mark.parametrize(
    ("mode", "words"),
    [("-p", "lorem ipsum "), ("--mode=json", "lorem ipsum "), ("-p", "\u6f22\u5b57 kanji ")],
)
async def test_an_answer_of_a_hundred_megabytes_takes_less_than_four_times_its_size(
    tmp_path: Path, mode: str, words: str
):
    text = words * (100_000 // len(words.encode()))
    async with loopback() as server:
        use_model_at(server, models=[{"id": "m", "contextWindow": 10**9}])
        small, large = (
            Reply(body=sse(piece("small"), ending(), done=True)),
            Reply(body=(*[sse(piece(text))] * (MEGABYTES * 10), sse(ending(), done=True))),
        )
        figures: list[float] = []
        for reply, size in ((small, 5), (large, MEGABYTES * 1_000_000)):
            server.reply(reply)
            with (tmp_path / "out").open("wb") as out:
                code, _, err = await run(
                    sys.executable,
                    "-c",
                    MEASURED,
                    *COLD_BAYOU,
                    *MODEL,
                    mode,
                    "Say it",
                    cwd=tmp_path,
                    stdout=out,
                )
            assert code == 0 and (tmp_path / "out").stat().st_size > 0.99 * size
            figures.append(float(err.split()[-1]) / 1000)
    base, resident = figures
    assert resident - base < 3.5 * sys.getsizeof(text) * MEGABYTES * 10 / 1e6


async def test_the_thousandth_summary_looks_at_no_more_entries_than_the_tenth(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    steps = 0
    upwards = SessionTree._positions_to_root

    def counted(self: SessionTree, position: int):
        nonlocal steps
        for place in upwards(self, position):
            steps += 1
            yield place

    monkeypatch.setattr(SessionTree, "_positions_to_root", counted)
    harness = ScriptedSession(tmp_path, *[say("word " * 400)] * 1000, context_window=5000)
    harness.effective_settings.set("compaction.reserveTokens", 1500)
    harness.effective_settings.set("compaction.keepRecentTokens", 600)
    costs: list[int] = []
    for _ in range(120):
        steps = 0
        await harness.prompt("please " + "tell me more " * 200)
        costs.append(steps)
    entries = harness.session.log.entries
    assert sum(isinstance(entry, CompactionEntry) for entry in entries) >= 50
    assert max(costs[-20:]) <= max(costs[20:40])
