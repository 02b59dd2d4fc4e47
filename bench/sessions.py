"""Measures session files: opening, projecting, appending, listing, searching.

All files are generated in a temporary folder; memory is measured in separate processes."""

import gc
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import msgspec

from app.sessions.index.session_index import SESSION_INDEX_FILE_NAME, SessionIndex
from app.sessions.session_library import (
    list_sessions,
    read_token_usage,
    search_indexed_sessions,
    session_folder_of_project,
)
from app.sessions.session_log import SessionLog
from app.values.codec import encode
from app.values.content import Text, Thinking, ToolCall
from app.values.entries import MessageEntry, SessionHeader
from app.values.messages import AssistantMessage, Message, ToolResultMessage, user_message
from app.values.usage import Cost, Usage
from bench.table import Row

ENTRIES = 20_000
MEGABYTE = 1_000_000


def fastest(work: Callable[[], object], repeat: int = 5) -> float:
    """Returns the seconds of the fastest of several runs; results are freed outside of the measured
    time."""
    found = []
    for _ in range(repeat):
        gc.collect()
        started = time.perf_counter()
        made = work()
        found.append(time.perf_counter() - started)
        del made
    return min(found)


def random_text(chance: random.Random, size: int) -> str:
    return " ".join(f"word{chance.randrange(3000)}" for _ in range(size // 8))


def random_turn(chance: random.Random, number: int) -> list[Message]:
    """Returns a turn of about eleven kilobytes: a prompt, a call, its result, an answer."""
    call = ToolCall(id=f"call{number}", name="bash", arguments={"command": "ls -l"})
    asked = (Thinking(thinking=random_text(chance, 500)), Text(text=random_text(chance, 600)), call)
    return [
        user_message(random_text(chance, 400)),
        AssistantMessage(
            content=asked, provider="p", model="m", api="a", stop_reason="toolUse", usage=_usage(chance)
        ),
        ToolResultMessage(
            tool_call_id=call.id, tool_name="bash", content=(Text(text=random_text(chance, 6000)),)
        ),
        AssistantMessage(
            content=(Text(text=random_text(chance, 2200)),),
            provider="p",
            model="m",
            api="a",
            usage=_usage(chance),
        ),
    ]


def _usage(chance: random.Random) -> Usage:
    sent = chance.randrange(5_000)
    return Usage(input=sent, output=200, cache_read=30_000, total_tokens=30_200 + sent, cost=Cost(total=0.02))


def write_large(path: Path, entries: int = ENTRIES, session_id: str = "large", cwd: str = "/") -> None:
    chance = random.Random(1)
    parent: str | None = None
    with path.open("wb") as file:
        file.write(encode(SessionHeader(id=session_id, cwd=cwd)) + b"\n")
        for number in range(entries // 4):
            for message in random_turn(chance, number):
                entry = MessageEntry(parent_id=parent, message=message)
                parent = entry.id
                file.write(encode(entry) + b"\n")


def rows() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        yield from opening(folder)
        yield from appending(folder)
    with tempfile.TemporaryDirectory() as name:
        yield from library(Path(name))


def opening(folder: Path) -> Iterator[Row]:
    path = folder / "large.jsonl"
    write_large(path)
    kept, dropped = decoding(path.read_bytes().split(b"\n")[:-1])
    opened = fastest(lambda: SessionLog.open(path, read_only=True))
    size = path.stat().st_size
    about = f"open {size / MEGABYTE:.0f} MB, {ENTRIES} entries"
    yield Row(
        name=about,
        figure=opened * 1000,
        unit="ms",
        ratio=opened / dropped,
        reference="json.decode, dropped",
        limit="2.5x",
    )
    yield Row(name=about, figure=opened * 1000, unit="ms", ratio=opened / kept, reference="json.decode, kept")
    memory = peak_of_opening(path)
    yield Row(
        name="  its peak memory",
        figure=memory / MEGABYTE,
        unit="MB",
        ratio=memory / size,
        reference="the file",
        limit="4x",
    )
    log = SessionLog.open(path, read_only=True)
    leaf = log.entries[4999].id
    yield Row(
        name="project 5,000 entries",
        figure=fastest(lambda: log.project_context(leaf)) * 1000,
        unit="ms",
        limit="15 ms",
    )


_PEAK = """
import re, resource, sys
from pathlib import Path
from app.sessions.session_log import SessionLog

def peak():
    status = Path("/proc/self/status")
    if status.exists():
        return int(re.search(r"VmHWM:\\s+(\\d+)", status.read_text())[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

before = peak()
log = SessionLog.open(Path(sys.argv[1]), read_only=True)
print(peak() - before)
"""


def decoding(lines: list[bytes]) -> tuple[float, float]:
    """Returns the seconds to decode all lines: with values kept, as in an open session, and
    discarded."""
    kept = fastest(lambda: [msgspec.json.decode(line) for line in lines])
    return kept, fastest(lambda: [None for line in lines if msgspec.json.decode(line) is None])


def peak_of_opening(path: Path) -> float:
    """Returns the bytes by which a new process grows."""
    command = [sys.executable, "-c", _PEAK, str(path)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def appending(folder: Path) -> Iterator[Row]:
    """Measures appending to the large file of `opening`, against a new one."""

    def per_entry(log: SessionLog) -> float:
        message = random_turn(random.Random(2), 1)[0]
        count = 300

        def work() -> None:
            for _ in range(count):
                log.append(MessageEntry(parent_id=None, message=message))

        return fastest(work) / count

    new = SessionLog.create(folder, folder)
    small = per_entry(new)
    large = per_entry(SessionLog.open(folder / "large.jsonl"))
    yield Row(
        name="append to 50 MB", figure=large * 1e6, unit="µs", ratio=large / small, reference="to a new file"
    )


def usage(root: Path) -> Iterator[Row]:
    """Measures the usage summary in CPU seconds, without the system's reading of files."""

    def once() -> float:
        started = time.process_time()
        read_token_usage(root, root / ".cache")
        return time.process_time() - started

    yield Row(name="usage of all of them, cold, CPU", figure=once(), unit="s", limit="1 s")
    warm = min(once() for _ in range(5))
    yield Row(name="usage of all of them, warm, CPU", figure=warm * 1000, unit="ms", limit="50 ms")


def library(root: Path, sessions: int = 2000) -> Iterator[Row]:
    chance = random.Random(3)
    for number in range(sessions):
        cwd = Path(f"/project{number % 20}")
        path = session_folder_of_project(root, cwd) / f"2026_session-{number:05d}.jsonl"
        path.parent.mkdir(exist_ok=True)
        messages = [message for part in range(4) for message in random_turn(chance, part)]
        entries = [MessageEntry(parent_id=None, message=message) for message in messages]
        lines = [SessionHeader(id=f"session-{number:05d}", cwd=str(cwd)), *entries]
        path.write_bytes(b"".join(encode(line) + b"\n" for line in lines))
    yield from usage(root)
    here = Path("/project3")
    started = time.perf_counter()
    list_sessions(root, here)
    cold = time.perf_counter() - started
    yield Row(name=f"list {sessions} sessions, cold", figure=cold, unit="s", limit="3 s")
    warm = fastest(lambda: list_sessions(root, here))
    yield Row(name=f"list {sessions} sessions, warm", figure=warm * 1000, unit="ms", limit="100 ms")
    for read in ("nothing", "all"):
        for query in ("word77", "word77 word78", '"word5 word6"'):
            found = fastest(lambda query=query: search_indexed_sessions(root, query))
            yield Row(name=f"search {query}, {read} read", figure=found * 1000, unit="ms", limit="50 ms")
        if read == "nothing":
            started = time.perf_counter()
            with closing(SessionIndex(root)) as index:
                while index.index_text_batch():
                    pass
            yield Row(name="reading all of them", figure=time.perf_counter() - started, unit="s")
    index = SessionIndex(root)
    size = (root / SESSION_INDEX_FILE_NAME).stat().st_size
    index.close()
    yield Row(name="the index", figure=size / MEGABYTE, unit="MB")
