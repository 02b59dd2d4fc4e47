"""bayou itself, killed with SIGKILL while it streams, runs tools, compacts, writes; then opened again.

It runs in RPC mode on its offline model, so that each announcement can be read from its output.
"""

import json
import os
import random
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app.sessions.file.partial_answer import read_unrecorded_answer
from app.sessions.session_log import SessionLog
from app.values.entries import CustomMessageEntry, MessageEntry
from app.values.wire import to_wire
from tests.sessions.make_entries import user_entry

ROOT = Path(__file__).parents[2]
PROMPTS = ["read notes.txt\nrun ls", "run `seq 1 400`", "hello", "read notes.txt", "run `echo one`"]
RUNS = 200


class Bayou:
    """A bayou process and the lines of its output."""

    def __init__(self, home: Path, project: Path, *, tokens_per_second: int = 3000) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "app", "--mode", "rpc", "--offline", "--no-extensions"],
            cwd=project,
            env={**os.environ, **environment(home), "BAYOU_OFFLINE_PACE": str(tokens_per_second)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )

    def send(self, **command: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(command).encode() + b"\n")
        self.process.stdin.flush()

    def lines(self) -> Iterator[dict[str, Any]]:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.endswith(b"\n"):  # the last may be cut off by the kill
                yield json.loads(line)


def environment(home: Path) -> dict[str, str]:
    return {
        "HOME": str(home),
        "BAYOU_AGENT_DIR": str(home / ".bayou" / "agent"),
        "PYTHONPATH": str(ROOT),
    }


def work_until_killed(bayou: Bayou, chance: random.Random) -> list[dict[str, Any]]:
    """Runs prompts and compactions one after the other; the kill comes a moment after a random line."""
    prompts = 0
    last = chance.randrange(1, 250)
    seen: list[dict[str, Any]] = []
    bayou.send(type="prompt", message=PROMPTS[0])
    for line in bayou.lines():
        seen.append(line)
        if len(seen) >= last:
            if bayou.process.poll() is None:
                time.sleep(chance.random() * 0.02)  # anywhere between two lines
            bayou.process.kill()  # what it had written by then is still read
        elif line.get("type") == "agent_settled":
            prompts += 1
            if prompts % 3 == 0:
                bayou.send(type="compact")
            else:
                bayou.send(type="prompt", message=chance.choice(PROMPTS))
        elif line.get("type") == "compaction_end":
            bayou.send(type="prompt", message=chance.choice(PROMPTS))
    bayou.process.wait()
    return seen


def announced(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [line["message"] for line in lines if line.get("type") == "message_end"]


def recorded(log: SessionLog) -> list[dict[str, Any]]:
    found = [to_wire(entry.message) for entry in log.entries if isinstance(entry, MessageEntry)]
    return found + [kept_of_custom(to_wire(e)) for e in log.entries if isinstance(e, CustomMessageEntry)]


def kept_of_custom(message: dict[str, Any]) -> dict[str, Any]:
    """What a custom message has in its entry as well as on the wire."""
    return {name: message.get(name) for name in ("customType", "content", "display", "details")}


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, Path]:
    """A home whose settings make compaction worth while, and a project."""
    home, project = tmp_path / "home", tmp_path / "project"
    (home / ".bayou" / "agent").mkdir(parents=True)
    settings = {"compaction": {"keepRecentTokens": 50}}
    (home / ".bayou" / "agent" / "settings.json").write_text(json.dumps(settings))
    project.mkdir()
    (project / "notes.txt").write_text("a line of notes\n" * 50)
    return home, project


@pytest.mark.parametrize(
    "seed", [*range(5), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(5, RUNS))]
)
def test_what_bayou_had_announced_is_there_after_a_kill(places: tuple[Path, Path], seed: int) -> None:
    home, project = places
    lines = work_until_killed(Bayou(home, project), random.Random(seed))
    files = list((home / ".bayou" / "agent" / "sessions").glob("*/*.jsonl"))
    messages = [
        kept_of_custom(message) if message["role"] == "custom" else message for message in announced(lines)
    ]
    if not any(message.get("role") == "user" for message in messages):
        return  # nothing was said yet, so there need be no file
    (path,) = files
    log = SessionLog.open(path)
    there = recorded(log)
    for message in messages:
        assert message in there
    ids = {message.get("toolCallId") for message in there if message["role"] == "toolResult"}
    assert {line["toolCallId"] for line in lines if line.get("type") == "tool_execution_end"} <= ids
    compactions = [line for line in lines if line.get("type") == "compaction_end" and line.get("result")]
    assert len(compactions) <= sum(to_wire(entry)["type"] == "compaction" for entry in log.entries)
    log.append(user_entry("after the crash"))
    log.close()
    again = SessionLog.open(path)
    assert again.entries == log.entries and not again.problems
    again.close()
    if seed % 10 == 0:
        check_it_goes_on(home, project, path)


def test_what_had_streamed_a_second_before_the_kill_is_offered(places: tuple[Path, Path]) -> None:
    home, project = places
    bayou = Bayou(home, project, tokens_per_second=20)
    bayou.send(type="prompt", message="hello")
    arrived: list[tuple[float, str]] = []
    for line in bayou.lines():
        event = line.get("assistantMessageEvent", {})
        if event.get("type") == "text_delta":
            arrived.append((time.monotonic(), event["delta"]))
            if arrived[-1][0] - arrived[0][0] > 1.5:
                break
    bayou.process.kill()
    bayou.process.wait()
    old = "".join(delta for moment, delta in arrived if moment < arrived[-1][0] - 1)
    (path,) = (home / ".bayou" / "agent" / "sessions").glob("*/*.jsonl")
    partial = read_unrecorded_answer(SessionLog.open(path))
    assert old and partial is not None and partial.message.text.startswith(old)


def test_no_child_outlives_a_killed_bayou(places: tuple[Path, Path]) -> None:
    home, project = places
    pipe = project / "pipe"
    os.mkfifo(pipe)
    bayou = Bayou(home, project)
    bayou.send(type="prompt", message="run `exec 9>pipe; echo running; sleep 600`")
    with pipe.open("rb", buffering=0) as ends:  # opens when the command does, ends when its last process does
        next(line for line in bayou.lines() if line.get("type") == "tool_execution_update")
        bayou.process.kill()
        bayou.process.wait()
        assert select.select([ends], [], [], 30)[0] and ends.read() == b""


def check_it_goes_on(home: Path, project: Path, path: Path) -> None:
    before = path.read_bytes()
    done = subprocess.run(
        [sys.executable, "-P", "-m", "app", "-p", "-c", "--offline", "--no-extensions", "hello"],
        cwd=project,
        env={**os.environ, **environment(home)},
        capture_output=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr.decode()
    assert path.read_bytes().startswith(before) and len(path.read_bytes()) > len(before)
