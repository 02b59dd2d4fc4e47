"""What all sessions used: sums, copies, broken lines, and what is read again."""

import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import datetime
from pathlib import Path

import pytest

from app.sessions.fork import clone_session_path, fork_session_before
from app.sessions.index.session_index import SESSION_INDEX_FILE_NAME, SessionIndex
from app.sessions.index.token_usage import (
    SkippedUsageLine,
    TokenUsageReport,
    filter_usage_parts,
    group_token_usage,
    recent_usage_parts,
    sum_usage_parts,
)
from app.sessions.session_library import list_sessions, read_token_usage, session_folder_of_project
from app.sessions.session_log import SessionLog
from app.values.codec import decode_json, encode, encode_json
from app.values.content import Text
from app.values.entries import CompactionEntry, MessageEntry, SessionHeader, SessionInfoEntry, UsageEntry
from app.values.messages import AssistantMessage, ToolResultMessage
from app.values.usage import Cost, Usage
from tests.sessions.make_entries import user_entry

MONDAY, TUESDAY = "2026-11-16T10:00:00.000Z", "2026-11-17T10:00:00.000Z"


def used(tokens: int, *, cost: float = 0.0, cached: int = 0) -> Usage:
    return Usage(input=tokens, output=1, cache_read=cached, total_tokens=tokens + 1, cost=Cost(total=cost))


def answered(
    tokens: int, *, model: str = "m", at: str = MONDAY, cost: float = 0.0, cached: int = 0
) -> MessageEntry:
    message = AssistantMessage(
        content=(Text(text="yes"),),
        provider="p",
        model=model,
        api="a",
        usage=used(tokens, cost=cost, cached=cached),
    )
    return MessageEntry(parent_id=None, timestamp=at, message=message)


class Sessions:
    def __init__(self, folder: Path) -> None:
        self.root, self.cache = folder / "sessions", folder / "cache"

    def new(self, project: str = "/boats") -> SessionLog:
        return SessionLog.create(session_folder_of_project(self.root, Path(project)), Path(project))

    def written(self, *entries: MessageEntry, project: str = "/boats") -> Path:
        log = self.new(project)
        for entry in entries:
            log.append(entry)
        log.close()
        assert log.path is not None
        return log.path

    def used(self) -> TokenUsageReport:
        """Returns the usage, and checks that a new index gives the same."""
        found = read_token_usage(self.root, self.cache)
        with closing(SessionIndex(self.root, self.root.with_name(f"anew-{time.monotonic_ns()}"))) as index:
            anew = index.usage()
        assert sorted(map(repr, found.parts)) == sorted(map(repr, anew.parts))
        assert found.skipped == anew.skipped
        return found


@pytest.fixture
def sessions(tmp_path: Path) -> Sessions:
    return Sessions(tmp_path)


@pytest.fixture
def zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    def to(name: str) -> None:
        monkeypatch.setenv("TZ", name)
        time.tzset()

    yield to
    monkeypatch.undo()
    time.tzset()


def sums(found: TokenUsageReport, by: str) -> dict[str, int]:
    return {one.title: one.usage.input for one in group_token_usage(found.parts, by)}  # type: ignore[arg-type]


def test_all_that_carries_usage_counts_by_day_model_project_and_session(sessions: Sessions) -> None:
    log = sessions.new()
    log.append(user_entry("paint the boat"))
    log.append(answered(100, cost=0.5, cached=300))
    log.append(answered(20, model="n", at=TUESDAY))
    tool = ToolResultMessage(tool_call_id="1", tool_name="x", content=(), usage=used(3))
    log.append(MessageEntry(parent_id=None, timestamp=TUESDAY, message=tool))
    log.append(
        CompactionEntry(
            parent_id=None, timestamp=TUESDAY, summary="s", first_kept_entry_id="x", usage=used(4)
        )
    )
    log.append(
        UsageEntry(
            parent_id=None, timestamp=TUESDAY, kind="title", provider="q", model="small", usage=used(5)
        )
    )
    log.close()
    sessions.written(answered(1000, at=TUESDAY), project="/oars")
    found = sessions.used()
    assert list(sums(found, "day").items()) == [("2026-11-17", 1032), ("2026-11-16", 100)]
    assert sums(found, "model") == {"p/m": 1100, "p/n": 27, "q/small": 5}
    assert sums(found, "project") == {"/boats": 132, "/oars": 1000}
    assert sums(found, "session")["paint the boat"] == 132
    whole = sum_usage_parts(found.parts)
    assert (whole.answers, whole.output, whole.cost) == (6, 6, 0.5)
    monday = sum_usage_parts(filter_usage_parts(found.parts, [("day", "2026-11-16"), ("project", "/boats")]))
    assert (monday.cached_percentage, monday.tokens) == (75, 401)
    today = datetime.fromisoformat("2026-11-17").date()
    assert sum_usage_parts(recent_usage_parts(found.parts, 1, today)).input == 1032
    assert sum_usage_parts(recent_usage_parts(found.parts, 2, today)).input == 1132


def test_what_forks_and_copied_files_hold_of_others_counts_once(sessions: Sessions) -> None:
    log = sessions.new()
    log.append(user_entry("first"))
    log.append(answered(100))
    second = user_entry("second")
    log.append(second)
    log.append(answered(7))
    folder = session_folder_of_project(sessions.root, Path("/boats"))
    for made in (clone_session_path(log, folder), fork_session_before(log, log.entries[2].id, folder)):
        made.append(answered(1))
        made.close()
    log.close()
    assert log.path is not None
    log.path.with_name("zz.jsonl").write_bytes(log.path.read_bytes())
    assert sum_usage_parts(sessions.used().parts).input == 109
    log.path.with_name("zz.jsonl").unlink()
    log.path.unlink()  # what the parent used is known from its forks
    assert sum_usage_parts(sessions.used().parts).input == 109


def test_a_session_that_goes_on_is_read_from_where_it_was_left(sessions: Sessions) -> None:
    log = sessions.new()
    log.append(user_entry("hello"))
    log.append(answered(1, model="big"))
    assert sum_usage_parts(sessions.used().parts).input == 1
    log.append(user_entry("paint it"))
    log.append(
        CompactionEntry(
            parent_id=None, timestamp=MONDAY, summary="s", first_kept_entry_id="x", usage=used(10)
        )
    )
    log.append(SessionInfoEntry(parent_id=None, name="The boat"))
    found = sessions.used()
    assert sums(found, "model") == {"p/big": 11} and sums(found, "session") == {"The boat": 11}
    log.close()
    assert log.path is not None
    whole = log.path.read_bytes().splitlines(keepends=True)
    log.path.write_bytes(b"".join(whole[:2]))  # cut short, in place
    assert sum_usage_parts(sessions.used().parts).input == 0
    log.path.unlink()
    assert sessions.used().parts == ()


def test_broken_lines_and_figures_are_named_and_left_out(sessions: Sessions) -> None:
    path = sessions.written(answered(100), answered(20))
    header, first, second = path.read_bytes().splitlines(keepends=True)
    data = decode_json(first)

    def with_usage(usage: object) -> bytes:
        return encode_json({**data, "id": "other", "message": {**data["message"], "usage": usage}}) + b"\n"

    lines = [
        header,
        first,
        b"\n",
        b'{"type":"message","id"\n',
        with_usage({"input": -5}),
        with_usage({"input": "many"}),
        with_usage({"input": 10**15, "cost": {"total": 1e300}}),
        with_usage(None),
        b'{"type":"custom","id":"c","parentId":null,"timestamp":"","customType":"x","message":"usage","usage":[1]}\n',
        second.replace(b"yes", b"\xff\xed\xa0\x80"),
        b"[]\n",
        b"[1]\n",
        b"\0\0\0",
    ]
    path.write_bytes(b"".join(lines))
    (path.parent / "no.jsonl").write_text("no session\n")
    (path.parent / "empty.jsonl").write_text("")
    found = sessions.used()
    assert sum_usage_parts(found.parts).input == 120
    usage, line = "its usage cannot be read", "the line cannot be read"
    here = str(path)
    named = [one for one in found.skipped if one.path == here]
    assert named == [
        SkippedUsageLine(path=here, line=4, why=line),
        SkippedUsageLine(path=here, line=5, why=usage),
        SkippedUsageLine(path=here, line=6, why=usage),
        SkippedUsageLine(path=here, line=7, why=usage),
        SkippedUsageLine(path=here, line=11, why=line),
        SkippedUsageLine(path=here, why="1 more of its lines cannot be read"),
        SkippedUsageLine(path=here, why="its last line has no end yet"),
    ]
    others = {Path(one.path).name: one.why for one in found.skipped if one.path != here}
    assert set(others) == {"no.jsonl", "empty.jsonl"} and "is not a session file" in others["no.jsonl"]


def test_days_are_those_of_the_time_zone(sessions: Sessions, zone: Callable[[str], None]) -> None:
    zone("UTC")
    sessions.written(answered(1, at="2026-11-16T23:30:00.000Z"))
    assert sums(sessions.used(), "day") == {"2026-11-16": 1}
    zone("Asia/Tokyo")
    assert sums(sessions.used(), "day") == {"2026-11-17": 1}
    zone("Asia/Kathmandu")  # a quarter of an hour beside the hour
    sessions.written(answered(2, at="2026-11-17T18:14:59.000Z"), answered(4, at="2026-11-17T18:15:00.000Z"))
    assert sums(sessions.used(), "day") == {"2026-11-18": 4, "2026-11-17": 3}


def test_a_time_that_cannot_be_is_that_of_the_session(sessions: Sessions) -> None:
    path = sessions.written(answered(1))
    header = SessionHeader(id="a", cwd="/", timestamp=TUESDAY)
    for stamp in ("", "yesterday", "9999-99-99"):
        with path.open("ab") as file:
            entry = answered(1, at=stamp)
            data = decode_json(encode(entry))
            data["message"]["timestamp"] = 1e300
            file.write(encode_json(data) + b"\n")
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([encode(header) + b"\n", *lines[2:]]))
    assert sums(sessions.used(), "day") == {"2026-11-17": 3}


def test_an_index_that_is_broken_foreign_or_cannot_be_written_changes_nothing(sessions: Sessions) -> None:
    sessions.written(answered(3))
    sessions.used()
    place = sessions.root / SESSION_INDEX_FILE_NAME
    place.write_bytes(b"no database" * 100)
    assert sum_usage_parts(sessions.used().parts).input == 3
    with sqlite3.connect(place) as db:
        db.execute("pragma user_version=99")
    db.close()
    assert sum_usage_parts(sessions.used().parts).input == 3
    place.unlink()
    place.mkdir()
    assert sum_usage_parts(sessions.used().parts).input == 3


def test_nothing_is_read_again_that_stands_as_it_was(
    sessions: Sessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = sessions.new()
    log.append(answered(3))
    folder = session_folder_of_project(sessions.root, Path("/boats"))
    clone_session_path(log, folder).close()
    log.close()
    (folder / "no.jsonl").write_text("no session\n")
    first = read_token_usage(sessions.root, sessions.cache)

    def never(*given: object, **more: object) -> None:
        raise AssertionError("read again")

    monkeypatch.setattr("app.sessions.index.session_index.read_session_lines", never)
    assert read_token_usage(sessions.root, sessions.cache) == first


def test_a_copy_counts_for_the_first_that_holds_it_once_its_original_is_gone(sessions: Sessions) -> None:
    log = sessions.new()
    log.append(answered(100))
    folder = session_folder_of_project(sessions.root, Path("/boats"))
    for _ in range(2):
        clone_session_path(log, folder).close()
    log.close()
    for path in sorted(folder.glob("*.jsonl"))[:2]:
        assert [part.session.path for part in sessions.used().parts] == [str(path)]
        path.unlink()
    assert sum_usage_parts(sessions.used().parts).input == 100


_READS = """
import sys
from pathlib import Path
from app.sessions.session_library import read_token_usage
from app.sessions.index.token_usage import sum_usage_parts
print(sum_usage_parts(read_token_usage(Path(sys.argv[1]), Path(sys.argv[2])).parts).input)
"""


def test_several_processes_that_read_at_once_count_everything_once(sessions: Sessions) -> None:
    for number in range(60):
        sessions.written(*(answered(1) for _ in range(20)), project=f"/p{number}")
    command = [sys.executable, "-c", _READS, str(sessions.root), str(sessions.cache)]
    readers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    assert [reader.communicate()[0].strip() for reader in readers] == ["1200"] * 4
    assert len(list_sessions(sessions.root)) == 60


def test_usage_is_whole_while_another_process_writes_the_index(sessions: Sessions) -> None:
    sessions.written(answered(3))
    assert sum_usage_parts(sessions.used().parts).input == 3
    sessions.written(answered(4))
    with closing(sqlite3.connect(sessions.root / SESSION_INDEX_FILE_NAME)) as other:
        other.execute("begin immediate")
        with closing(SessionIndex(sessions.root, patience=0.1)) as index:
            assert sum_usage_parts(index.usage().parts).input == 7
    assert sum_usage_parts(sessions.used().parts).input == 7


def test_the_database_of_earlier_versions_goes_once_there_is_the_new_one(sessions: Sessions) -> None:
    sessions.written(answered(3))
    old = sessions.cache / "usage" / "root.sqlite"
    old.parent.mkdir(parents=True)
    old.write_bytes(b"old")
    assert sum_usage_parts(sessions.used().parts).input == 3
    assert not old.parent.exists() and (sessions.root / SESSION_INDEX_FILE_NAME).exists()


def test_no_sessions_at_all(sessions: Sessions) -> None:
    assert sessions.used() == TokenUsageReport()
    assert not sessions.root.exists()
