"""Real processes on real files: two writers, and one that is killed in the middle of its work."""

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from app.sessions.file.partial_answer import read_unrecorded_answer
from app.sessions.session_log import SessionLog
from app.values.codec import encode
from app.values.entries import MessageEntry
from tests.conftest import OUTSIDE
from tests.sessions.make_entries import assistant_entry, user_entry

WORK = Path(__file__).with_name("worker.py")
ROOT = Path(__file__).parents[2]


def start(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-P", str(WORK), *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
    )


def test_two_processes_taking_turns_lose_and_mix_nothing(tmp_path: Path) -> None:
    log = SessionLog.create(tmp_path, tmp_path)
    log.append(user_entry("hello"))
    log.close()
    path = log.path
    assert path is not None
    workers = [start("turns", str(path), name, "40") for name in ("one", "other")]
    announced = [worker.communicate(timeout=60)[0].split() for worker in workers]
    assert [worker.returncode for worker in workers] == [0, 0]
    assert [len(ids) for ids in announced] == [120, 120]
    again = SessionLog.open(path)
    assert again.problems == []
    assert {entry.id for entry in again.entries} == {log.entries[0].id, *announced[0], *announced[1]}
    assert len(again.path_to()) == 241


def test_a_program_without_locks_that_writes_too_is_noticed_and_its_lines_kept(tmp_path: Path) -> None:
    log = SessionLog.create(tmp_path, tmp_path)
    first = log.append(user_entry("hello"))
    foreign = [
        MessageEntry(id=f"foreign{n}", parent_id=first.id, message=assistant_entry("x").message)
        for n in range(3)
    ]
    assert log.path is not None
    with log.path.open("ab") as file:
        file.write(encode(foreign[0]) + b"\n")
        file.flush()
        mine = log.append(user_entry("mine"))
        file.write(encode(foreign[1]) + b"\n" + encode(foreign[2]))
    log.append(user_entry("mine too"))
    assert log.path_to()[1].id == mine.id
    log.close()
    again = SessionLog.open(log.path)
    assert again.problems == []
    assert {entry.id for entry in again.entries} >= {"foreign0", "foreign1", "foreign2", mine.id}
    assert len(again.entries) == 6
    assert again.leaf_id == log.leaf_id


def killed_somewhere(folder: Path, chance: random.Random) -> tuple[list[str], Path]:
    """Lets a worker go through its rounds, kills it after some announcement, returns what it had announced."""
    worker = start("work", str(folder), str(chance.randrange(10**6)))
    assert worker.stdout is not None
    announced: list[str] = []
    for _ in range(chance.randrange(1, 40)):
        announced.append(worker.stdout.readline().strip())
    for _ in range(chance.randrange(0, 20_000)):
        pass  # not always right behind a line
    worker.kill()
    rest = worker.stdout.read()
    worker.wait()
    whole = rest[: rest.rfind("\n") + 1]  # its last word may be cut off
    announced += whole.split("\n")[:-1]
    return announced, next(folder.glob("*.jsonl"))


@pytest.mark.parametrize("seed", range(200 if OUTSIDE.get("BAYOU_LONG") else 20))
def test_killed_at_any_moment_nothing_announced_is_lost(tmp_path: Path, seed: int) -> None:
    announced, path = killed_somewhere(tmp_path, random.Random(seed))
    log = SessionLog.open(path)
    ids = {entry.id for entry in log.entries}
    told = [line.split()[1] for line in announced if line.startswith("entry ")]
    assert set(told) <= ids
    assert len(ids) - len(told) <= 1  # at most the one that was written and not yet told
    streamed = [line.split() for line in announced if line.startswith("streamed ")]
    partial = read_unrecorded_answer(log)
    if streamed and announced[-1].startswith("streamed "):
        assert partial is not None or len(ids) > len(told)
        if partial is not None and partial.leaf_id == streamed[-1][1]:
            assert len(partial.message.text) >= int(streamed[-1][2])
    log.append(user_entry("after the crash"))
    log.project_context()
    log.close()
    again = SessionLog.open(path)
    assert again.entries == log.entries and not again.problems
