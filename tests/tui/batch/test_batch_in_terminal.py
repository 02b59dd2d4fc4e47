"""A batch in the terminal, with the real program: its table, a run's conversation, and what is printed at the end."""

from pathlib import Path

import pytest

from tests.batch.batch_setups import WRITES, make_repository, results, write_tasks
from tests.support.terminals import terminal


@pytest.mark.parametrize("size", [(80, 24), (200, 60)])
def test_the_table_shows_runs_opens_them_and_leaves_a_summary(tmp_path: Path, size: tuple[int, int]) -> None:
    make_repository(tmp_path / "project")
    tasks = ({"id": id, "prompt": id} for id in ("write-one", "fail-two"))
    write_tasks(tmp_path / "t.jsonl", *tasks)
    words = (
        "batch",
        "t.jsonl",
        "--out",
        "out",
        "--repo",
        "project",
        "--jobs",
        "2",
        "--models",
        "scripted/script",
    )
    with terminal(tmp_path, *words, "--", "-e", WRITES, size=size) as shown:
        shown.until("running")
        shown.until("1 passed   1 error")
        shown.until("ended")
        shown.until("It is written.")
        shown.press("\r")
        shown.until("ctrl+x stop")
        shown.until("› fail-two" if "fail-two" in shown.screen.split("\n")[0] else "› write-one")
        shown.press("\x1b")
        shown.until("enter open")
        shown.press("q")
        shown.until("1 passed, 1 error.")
    assert {id: one["outcome"] for id, one in results(tmp_path / "out").items()} == {
        "write-one": "passed",
        "fail-two": "error",
    }
