"""`bayou.batch.run`: results come as runs end, leaving the loop ends all of them, and a refusal is an exception."""

import asyncio
from pathlib import Path

import pytest

from bayou.batch import BatchFailed, run
from tests.batch.batch_setups import SCRIPTED, WRITES, hanging, results
from tests.hostile.setups import use_model_at
from tests.providers.loopback import loopback


async def test_results_come_one_by_one_and_are_not_run_twice(tmp_path: Path) -> None:
    folder, out = tmp_path / "project", tmp_path / "out"
    folder.mkdir()
    tasks = [{"id": "one", "folder": str(folder), "prompt": "write"}]
    arguments = {"out": out, "options": SCRIPTED, "run_options": ("-e", WRITES)}
    found = [result async for result in run(tasks, **arguments)]
    assert [(result.id, result.outcome, result.answer) for result in found] == [
        ("one", "passed", "It is written.")
    ]
    assert found[0].patch is not None and (out / found[0].patch).exists()
    assert [result async for result in run(tasks, **arguments)] == []


async def test_leaving_the_loop_ends_the_runs(tmp_path: Path) -> None:
    tasks = [{"id": "one", "folder": str(tmp_path / "project"), "prompt": "wait"}]
    (tmp_path / "project").mkdir()
    async with loopback() as server:
        use_model_at(server)
        arrived = asyncio.Event()
        server.reply(hanging(1, arrived))
        batch = run(tasks, out=tmp_path / "out", options=("--models", "mine/m"))
        waiting = asyncio.ensure_future(anext(batch))
        await asyncio.wait_for(arrived.wait(), 120)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
    assert results(tmp_path / "out")["one"]["outcome"] == "cancelled"


async def test_a_batch_that_cannot_be_run_says_why(tmp_path: Path) -> None:
    with pytest.raises(BatchFailed, match=r"line 1: there is neither folder nor repo"):
        _ = [result async for result in run([{"id": "one", "prompt": "x"}], out=tmp_path / "out")]
