"""bayou reads what pi 1.5.2 wrote, as pi reads it, and writes it back unchanged.

`NAME.expected.json` holds what pi itself made of each file: state, leaf, tree and context.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from app.sessions.context_projection import ProjectedContext
from app.sessions.errors import NotASession
from app.sessions.session_log import SessionLog
from app.values.codec import encode
from app.values.entries import Entry, MessageEntry, UnknownEntry
from app.values.messages import UnknownMessage
from app.values.wire import to_wire
from tests.sessions.make_entries import assistant_entry, user_entry

FIXTURES = Path(__file__).parent / "fixtures"
REFUSED = {"28-torn-header-torn"}
STARTED_ANEW = {"28-torn-empty"}
MORE_LENIENT = {"28-torn-bom"}  # pi refuses the byte order mark; nothing is gained by that
MIGRATED = {"30-v1-input"}  # new ids are drawn, and pi adds a thinking level on opening
ALL = sorted(path.stem for path in FIXTURES.glob("*.jsonl"))
COMPARABLE = [name for name in ALL if name not in REFUSED | STARTED_ANEW | MORE_LENIENT | MIGRATED]

Sample = Callable[[str], Path]


def expected(name: str) -> dict[str, Any]:
    return json.loads((FIXTURES / f"{name}.expected.json").read_text(encoding="utf-8"))


def row(log: SessionLog, entry: Entry) -> tuple[str, str | None, str, str | None]:
    kind = to_wire(entry)["type"]
    if isinstance(entry, MessageEntry):
        kind += f":{to_wire(entry.message)['role']}"
    return entry.id, entry.parent_id, kind, log.label(entry.id)


def context(projection: ProjectedContext, like: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """bayou's messages, each with the keys that pi has shown."""
    messages = [to_wire(message) for message in projection.messages]
    assert len(messages) == len(like)
    return [{key: ours.get(key) for key in theirs} for ours, theirs in zip(messages, like, strict=True)]


@pytest.mark.parametrize("name", COMPARABLE)
def test_state_tree_and_context_are_as_pi_has_them(name: str, sample: Sample) -> None:
    wanted = expected(name)
    log = SessionLog.open(sample(name))
    state, projection = wanted["state"], log.project_context()
    assert log.session_id == state["sessionId"]
    assert log.name == state["sessionName"]
    assert projection.thinking_level == state["thinkingLevel"]
    assert "/".join(projection.model or ()) == state["model"]
    assert log.leaf_id == wanted["leafId"]
    assert sorted(row(log, entry) for entry in log.entries) == sorted(tuple(one) for one in wanted["tree"])
    assert context(projection, wanted["context_messages"]) == wanted["context_messages"]


@pytest.mark.parametrize("name", COMPARABLE)
def test_every_line_is_understood_and_written_back_with_the_same_content(name: str, sample: Sample) -> None:
    path = sample(name)
    lines = [line for line in path.read_bytes().split(b"\n") if line.startswith(b'{"type"')]
    log = SessionLog.open(path)
    assert not [entry for entry in log.entries if isinstance(entry, UnknownEntry)]
    assert not [
        entry
        for entry in log.entries
        if isinstance(entry, MessageEntry) and isinstance(entry.message, UnknownMessage)
    ]
    assert [json.loads(encode(value)) for value in (log.header, *log.entries)] == [
        json.loads(line) for line in lines
    ]


@pytest.mark.parametrize("name", [name for name in ALL if name not in REFUSED])
def test_opening_changes_nothing_and_appending_only_adds(name: str, sample: Sample) -> None:
    path = sample(name)
    before = path.read_bytes()
    log = SessionLog.open(path)
    if name not in STARTED_ANEW | MIGRATED:
        assert path.read_bytes() == before
    before = path.read_bytes()
    count = len(log.entries)
    log.append(user_entry("NEXT"))
    log.append(assistant_entry("done"))
    log.close()
    assert path.read_bytes().startswith(before)
    again = SessionLog.open(path)
    assert len(again.entries) == count + 2
    assert [message.timestamp for message in again.project_context().messages[-2:]] == [
        entry.message.timestamp for entry in again.entries[-2:] if isinstance(entry, MessageEntry)
    ]


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_a_damaged_first_line_is_refused_with_the_file_untouched(name: str, sample: Sample) -> None:
    path = sample(name)
    before = path.read_bytes()
    with pytest.raises(NotASession, match=path.name):
        SessionLog.open(path)
    assert path.read_bytes() == before
    assert sorted(path.parent.iterdir()) == [path]


def test_an_empty_file_becomes_a_new_session_and_says_so(sample: Sample) -> None:
    path = sample("28-torn-empty")
    log = SessionLog.open(path, cwd=Path("/home/user/proj"))
    assert "was empty" in log.problems[0]
    assert json.loads(path.read_bytes())["cwd"] == "/home/user/proj"


def test_garbage_in_the_middle_is_reported_once_and_kept(sample: Sample) -> None:
    path = sample("28-torn-garbage-middle")
    with_garbage = path.read_bytes()
    first = SessionLog.open(path)
    assert ["2 lines" in problem for problem in first.problems] == [True]
    first.close()
    assert SessionLog.open(path).problems == []
    assert path.read_bytes() == with_garbage


def test_version_1_is_migrated_as_pi_does_it_and_the_original_kept(sample: Sample) -> None:
    path = sample("30-v1-input")
    original = path.read_bytes()
    wanted = expected("30-v1-input")
    log = SessionLog.open(path)
    assert path.with_name(path.name + ".v1").read_bytes() == original
    assert json.loads(path.read_bytes().split(b"\n")[0])["version"] == 3
    assert [row(log, entry)[2] for entry in log.entries] == [one[2] for one in wanted["tree"]][:-1]
    assert context(log.project_context(), wanted["context_messages"]) == wanted["context_messages"]
    log.append(user_entry("on"))
    log.close()
    assert [entry.id for entry in SessionLog.open(path).entries] == [entry.id for entry in log.entries]


def test_a_version_1_file_opened_for_reading_stays_as_it_is(sample: Sample) -> None:
    path = sample("30-v1-input")
    original = path.read_bytes()
    log = SessionLog.open(path, read_only=True)
    assert len(log.entries) == 6
    assert path.read_bytes() == original
    assert list(path.parent.iterdir()) == [path]
