"""The table of a batch: what runs and what has ended, its keys, and a run's conversation."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from app.batch.agent_process import AgentProgress
from app.batch.batch_run import StopReason
from app.batch.pool import BatchProgress, BatchRunEnded, BatchRunPool
from app.batch.results import BatchFolder
from app.batch.tasks import BatchRun, BatchTask
from app.resources.paths import BayouPaths
from app.sessions.session_log import SessionLog
from app.tui.batch.batch_app import BatchApp
from app.tui.batch.batch_table_data import BatchTableData
from bayou.batch import BatchResult
from tests.sessions.make_entries import assistant_entry, user_entry
from tests.support.idle import text_of
from widgets.lists.row_list import RowList

NOW = 1_000.0
SIZES = {"80x24": (80, 24), "200x60": (200, 60)}


class HeldRun:
    """A run that ends when it is told to."""

    def __init__(self, run: BatchRun, folder: Path, changed: Callable[[], None]) -> None:
        self.run, self.folder, self.changed = run, folder, changed
        self.started = NOW - 65
        self.state = AgentProgress(turns=2, tokens=12_400, cost=0.25, line="bash make test")
        self.end: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    async def carry_out(self) -> BatchResult:
        return result(self.run.task.id, await self.end)

    async def stop(self, reason: StopReason) -> None:
        if not self.end.done():
            self.end.set_result("cancelled")

    async def live_session_file(self) -> Path | None:
        found = sorted(self.folder.rglob("*.jsonl"))
        return found[0] if found else None


def result(id: str, outcome: Any = "passed", **more: Any) -> BatchResult:
    reason = {"failed": "check ended with 3", "error": "The key was refused."}.get(outcome, "")
    fields: dict[str, Any] = {
        "tokens": 34_000,
        "cost": 0.41,
        "seconds": 83.0,
        "answer": f"Fixed {id}.\n\nMore.",
    }
    return BatchResult(
        id=id, key=f"{id} sonnet #1", hash="h", outcome=outcome, reason=reason, **{**fields, **more}
    )


def begin(
    tmp_path: Path, count: int, budget: float, view: BatchTableData | None = None
) -> tuple[BatchTableData, asyncio.Task[Any]]:
    """Starts a batch of held runs, two at a time."""
    folder = BatchFolder(tmp_path / "fixes")
    folder.open_for_tasks(tmp_path / "t.jsonl", BayouPaths.from_env({"HOME": str(tmp_path)}, tmp_path))
    view = view or BatchTableData(folder.path, clock=lambda: NOW)
    tasks = [
        BatchTask(id=f"issue-{number}", prompt="x", folder="/", model="sonnet") for number in range(count)
    ]
    left = tuple(BatchRun(task=task, number=1, hash=f"{number:032}") for number, task in enumerate(tasks))

    def start(run: BatchRun, folder: Path, *, max_cost: float | None, changed: Callable[[], None]) -> HeldRun:
        return HeldRun(run, folder, changed)

    progress = BatchProgress(left=left, results={}, changed=0, spent=0.0)
    view.pool = BatchRunPool(folder, progress, start=start, jobs=2, budget=budget, tell=view.handle_event)
    view.pool.started = NOW - 600
    running = asyncio.ensure_future(view.pool.run())
    running.add_done_callback(lambda _: folder.close())
    return view, running


def held(view: BatchTableData) -> list[Any]:
    assert view.pool is not None
    return list(view.pool.running.values())


def app_of(view: BatchTableData, tmp_path: Path) -> BatchApp:
    return BatchApp(view, BayouPaths.from_env({"HOME": str(tmp_path)}, tmp_path))


async def until(app: BatchApp, pilot: Pilot[None], is_so: str | Callable[[], object]) -> None:
    async with asyncio.timeout(20):
        while not (is_so in text_of(app.screen) if isinstance(is_so, str) else is_so()):
            await pilot.pause()


async def test_the_table_follows_runs_and_its_keys_pause_stop_open_and_leave(tmp_path: Path) -> None:
    view, running = begin(tmp_path, 5, 9.0)
    app = app_of(view, tmp_path)
    async with app.run_test(size=(100, 24)) as pilot:
        await until(app, pilot, "2 running")
        assert "0/5" in text_of(app.screen) and "24k tokens · $0.50 of $9.00" in text_of(app.screen)
        assert "issue-0 sonnet #1   running     bash make test" in text_of(app.screen)
        await pilot.press("p")
        await until(app, pilot, "paused: running runs continue")
        await pilot.press("x")
        await until(app, pilot, "1 cancelled")
        assert len(held(view)) == 1 and "paused" in text_of(app.screen)
        await pilot.press("p")
        await until(app, pilot, lambda: len(held(view)) == 2)
        held(view)[0].end.set_result("failed")
        await until(app, pilot, "check ended with 3")
        await until(app, pilot, "an hour")
        await pilot.press("d")
        await until(app, pilot, "the run is still in progress")

        run = held(view)[0]
        log = SessionLog.create(run.folder, tmp_path)
        log.append(user_entry("make the boats faster"))
        log.append(assistant_entry("At once.", "call_1"))
        await pilot.press("home", "enter")
        await until(app, pilot, "make the boats faster")
        assert "running · bash make test" in text_of(app.screen)
        await pilot.press("ctrl+x")
        await until(app, pilot, lambda: run.end.done())
        await pilot.press("escape")
        await until(app, pilot, "2 cancelled")
        await pilot.press("escape")
        await until(app, pilot, "Stop the batch?")
        await pilot.press("n")
        await pilot.press("q")
        await until(app, pilot, "Stop the batch?")
        await pilot.press("y")
        assert await asyncio.wait_for(running, 20) == "interrupted"
        await until(app, pilot, "stopped")
        await pilot.press("q")
    assert view.ended is not None and view.ended.left == 0
    log.close()


async def test_ten_thousand_runs_have_as_many_rows_as_can_be_looked_at(tmp_path: Path) -> None:
    view = BatchTableData(tmp_path)
    for number in range(10_000):
        view.handle_event(_ended(number))
    view.pool = BatchRunPool(
        BatchFolder(tmp_path), BatchProgress(left=(), results={}, changed=0, spent=0.0),
        start=lambda *_, **__: pytest.fail("nothing is left"), jobs=1, budget=None, tell=view.handle_event,
    )  # fmt: skip
    rows = view.run_rows()
    assert len(rows) == 200 and rows[0].id == "t9999 sonnet #1"
    assert view.find_result("t0 sonnet #1") is None and view.find_result("t9999 sonnet #1") is not None


def _ended(number: int) -> Any:
    return BatchRunEnded(result=result(f"t{number}"))


@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
def test_picture_of_a_running_batch(tmp_path: Path, snap_compare: Any, size: tuple[int, int]) -> None:
    """A batch with two runs under way, some that have ended, and a budget."""

    async def run(pilot: Pilot[None]) -> None:
        pool = begin(tmp_path, 9, 20.0, view)[0].pool
        assert pool is not None
        for done, outcome in enumerate(("passed", "failed", "passed", "error"), 1):
            await until(app, pilot, lambda: len(held(view)) == 2)
            held(view)[0].end.set_result(outcome)
            await until(app, pilot, lambda done=done: sum(pool.outcomes.values()) == done)
        await until(app, pilot, "4/9")

    view = BatchTableData(tmp_path / "fixes", clock=lambda: NOW)
    app = app_of(view, tmp_path)
    assert snap_compare(app, terminal_size=size, run_before=run)


def test_picture_of_the_changes_of_a_run(tmp_path: Path, snap_compare: Any) -> None:
    """The patch of a run of a batch that has ended, opened from its table."""
    (tmp_path / "changes.patch").write_text(PATCH)
    results = [result("issue-41", patch="changes.patch"), result("issue-57", "failed")]
    app = app_of(BatchTableData(tmp_path, results), tmp_path)
    assert snap_compare(app, terminal_size=(80, 24), press=["d"])


def test_picture_of_stored_results(tmp_path: Path, snap_compare: Any) -> None:
    """The results of a batch that has ended."""
    outcomes = ("passed", "failed", "limit", "timeout", "error", "cancelled")
    results = [result(f"issue-{number}", outcome) for number, outcome in enumerate(outcomes)]
    app = app_of(BatchTableData(tmp_path / "fixes", results), tmp_path)
    assert snap_compare(app, terminal_size=(80, 24))


async def test_keys_without_a_patch_or_a_session_say_so(tmp_path: Path) -> None:
    app = app_of(BatchTableData(tmp_path, [result("one", "error")]), tmp_path)
    async with app.run_test(size=(100, 24)) as pilot:
        await until(app, pilot, "1 run   1 error")
        for key, told in (
            ("d", "has no patch"),
            ("a", "has no patch"),
            ("b", "has no patch"),
            ("enter", "no session"),
        ):
            await pilot.press(key)
            await until(app, pilot, told)
        assert "pause" not in text_of(app.screen)
        assert len(app.screen.query_one(RowList).visible_rows) == 1
        await pilot.press("escape")
    assert app.return_code == 0


PATCH = """\
diff --git a/boats/fleet.py b/boats/fleet.py
index 7898192..d49c2e7 100644
--- a/boats/fleet.py
+++ b/boats/fleet.py
@@ -1,3 +1,3 @@
 def oars():
-    return 2
+    return 4
 # the end
diff --git a/notes.md b/notes.md
new file mode 100644
index 0000000..3e75765
--- /dev/null
+++ b/notes.md
@@ -0,0 +1 @@
+Four oars.
"""
