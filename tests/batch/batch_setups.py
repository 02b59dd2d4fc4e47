"""What tests of batches share: a repository, tasks, and a batch as the real program runs it."""

import asyncio
import json
import subprocess
from pathlib import Path
from typing import Any

from tests.hostile.setups import run
from tests.providers.loopback import Answer, Received, Reply
from tests.support.warm_bayou import BAYOU

WRITES = str(Path(__file__).parent / "extensions" / "writes.py")
SCRIPTED = ("--models", "scripted/script", "--jobs", "2")


def git(repository: Path, *words: str) -> str:
    identity = ("-c", "user.name=n", "-c", "user.email=n@example.com")
    done = subprocess.run(
        ("git", *identity, *words), cwd=repository, check=True, capture_output=True, text=True
    )
    return done.stdout


def make_repository(place: Path) -> Path:
    place.mkdir()
    git(place, "init", "-q", "-b", "main")
    (place / "a.txt").write_text("a\n")
    git(place, "add", ".")
    git(place, "commit", "-qm", "one")
    return place


def write_tasks(place: Path, *tasks: dict[str, Any]) -> Path:
    place.write_text("".join(json.dumps(task) + "\n" for task in tasks))
    return place


async def batch(
    *words: str | Path, cwd: Path, options: tuple[str, ...] = ("-e", WRITES)
) -> tuple[int, str, str]:
    """Exit code, standard output, standard error of `bayou batch`."""
    return await run(*BAYOU, "batch", *map(str, words), "--", *options, cwd=cwd, timeout=300)


def results(out: Path) -> dict[str, dict[str, Any]]:
    """The last result of each task."""
    lines = (out / "results.jsonl").read_text().splitlines()
    return {result["id"]: result for result in map(json.loads, lines)}


def hanging(count: int, arrived: asyncio.Event) -> Answer:
    """Answers no request; sets `arrived` with the last of so many."""
    seen = 0

    def answer(_: Received) -> Reply:
        nonlocal seen
        seen += 1
        if seen == count:
            arrived.set()
        return Reply(hang_before_headers=True)

    return answer
