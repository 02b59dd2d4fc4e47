"""Files that a crash, a full disk or another program left in a bad state."""

import base64
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from app.sessions.errors import (
    NotASession,
    SessionError,
    SessionNotFound,
    SessionReadOnly,
    SessionTooNew,
)
from app.sessions.file.quarantine import read_quarantine
from app.sessions.file.session_file import SessionFile, SyncTiming
from app.sessions.file.session_reader import read_session
from app.sessions.session_ids import session_sidecar_path
from app.sessions.session_log import SessionLog
from app.values.codec import encode
from app.values.entries import SessionHeader
from tests.conftest import OUTSIDE
from tests.sessions.make_entries import assistant_entry, tool_result_entry, user_entry


def quarantined_bytes(record: dict[str, Any]) -> bytes:
    """The line as it stood in the file."""
    return base64.b64decode(record["base64"]) if "base64" in record else record["text"].encode()


def written(folder: Path) -> tuple[Path, bytes]:
    """Writes a small session with different kinds of lines: non-ASCII, long, with a Unicode line separator."""
    log = SessionLog.create(folder, folder)
    log.append(user_entry("hej då \u2028 😀"))
    log.append(assistant_entry("one", "call"))
    log.append(tool_result_entry("call", "x" * 300))
    log.append(assistant_entry("two"))
    log.close()
    assert log.path is not None
    return log.path, log.path.read_bytes()


def test_cut_anywhere_it_opens_with_all_whole_lines_and_takes_the_next_entry(tmp_path: Path) -> None:
    _, whole = written(tmp_path / "source")
    first = whole.index(b"\n") + 1
    for length in range(first - 1, len(whole) + 1):
        cut = tmp_path / "cut.jsonl"
        cut.write_bytes(whole[:length])
        lines = whole[:length].split(b"\n")
        complete = len(lines) - 2
        if lines[-1] and length < len(whole) and whole[length : length + 1] == b"\n":
            complete += 1  # all but the line feed is there
        log = SessionLog.open(cut)
        assert len(log.entries) == max(complete, 0), length
        added = log.append(user_entry("on"))
        log.close()
        again = SessionLog.open(cut)
        assert again.problems == []
        assert again.entries == log.entries and again.leaf_id == added.id
        again.close()
        for line in cut.read_bytes().split(b"\n")[:-1]:
            json.loads(line)
        cut.unlink()
        session_sidecar_path(cut, "quarantine").unlink(missing_ok=True)


def test_cut_within_the_header_it_is_refused(tmp_path: Path) -> None:
    _, whole = written(tmp_path / "source")
    for length in range(1, whole.index(b"\n")):
        cut = tmp_path / "cut.jsonl"
        cut.write_bytes(whole[:length])
        with pytest.raises(NotASession):
            SessionLog.open(cut)
        assert cut.read_bytes() == whole[:length]


def test_a_torn_line_goes_into_the_quarantine_before_it_leaves_the_file(tmp_path: Path) -> None:
    path, whole = written(tmp_path)
    torn = b'{"type":"message","id":"12345678","par'
    path.write_bytes(whole + torn)
    log = SessionLog.open(path)
    assert path.read_bytes() == whole
    assert [quarantined_bytes(record) for record in read_quarantine(path)] == [torn]
    assert (
        "incomplete" in log.problems[0] and session_sidecar_path(path, "quarantine").name in log.problems[0]
    )


def test_a_torn_line_that_cannot_be_set_aside_stays_and_nothing_is_glued_to_it(tmp_path: Path) -> None:
    path, whole = written(tmp_path)
    path.write_bytes(whole + b'{"torn')
    session_sidecar_path(path, "quarantine").mkdir()
    log = SessionLog.open(path)
    assert "could not be moved to another file" in log.problems[0]
    added = log.append(user_entry("on"))
    log.close()
    assert path.read_bytes().startswith(whole + b'{"torn\n')
    assert SessionLog.open(path, read_only=True).entries[-1] == added


def test_a_file_that_is_replaced_while_it_is_opened_is_opened_as_it_then_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, whole = written(tmp_path)
    other = tmp_path / "other.jsonl"
    other.write_bytes(whole[: whole.rindex(b"\n", 0, -1) + 1])
    real = SessionFile.open.__func__  # pyright: ignore[reportFunctionMemberAccess]

    def open_slowly(cls: type[SessionFile], place: Path, sync: SyncTiming) -> SessionFile:
        file = real(cls, place, sync)
        if other.exists():
            other.replace(path)
        return file

    monkeypatch.setattr(SessionFile, "open", classmethod(open_slowly))
    log = SessionLog.open(path)
    assert len(log.entries) == 3
    log.append(user_entry("on"))
    assert len(read_session(path).entries) == 4


def test_zeros_of_a_power_cut_are_no_entry_and_hide_none(tmp_path: Path) -> None:
    path, whole = written(tmp_path)
    lines = whole.split(b"\n")
    path.write_bytes(b"\n".join([*lines[:3], b"\0" * 40 + lines[3], lines[4]]) + b"\n" + b"\0" * 4096)
    log = SessionLog.open(path)
    assert len(log.entries) == 4
    log.append(user_entry("on"))
    log.close()
    assert len(SessionLog.open(path).entries) == 5


def test_the_path_leads_across_a_line_that_cannot_be_read(tmp_path: Path) -> None:
    path, whole = written(tmp_path)
    lines = whole.split(b"\n")
    lines[2] = lines[2][:-20] + b"\x00garbage"
    path.write_bytes(b"\n".join(lines))
    log = SessionLog.open(path)
    assert [entry.id for entry in log.path_to()] == [log.entries[0].id, log.entries[1].id, log.entries[2].id]
    assert len(log.entries) == 3


def with_lines(path: Path, *entries: dict[str, object]) -> Path:
    head = encode(SessionHeader(id="s", cwd="/"))
    path.write_bytes(b"\n".join([head, *(json.dumps(entry).encode() for entry in entries)]) + b"\n")
    return path


def mark(entry_id: str, parent: str | None) -> dict[str, object]:
    return {
        "type": "custom",
        "id": entry_id,
        "parentId": parent,
        "timestamp": "2026-01-01T00:00:00.000Z",
        "customType": "t",
    }


def test_cycles_orphans_and_duplicate_ids_end_somewhere(tmp_path: Path) -> None:
    path = with_lines(
        tmp_path / "s.jsonl",
        mark("self", "self"),
        mark("a", "b"),
        mark("b", "a"),
        mark("orphan", "nobody"),
        mark("twice", None),
        mark("child", "twice"),
        mark("twice", "child"),
    )
    log = SessionLog.open(path)
    assert len(log.entries) == 7
    assert [entry.id for entry in log.path_to("self")] == ["self"]
    assert [entry.id for entry in log.path_to("b")] in (["a", "b"], ["b"])
    assert [entry.id for entry in log.path_to("orphan")] == ["orphan"]
    assert [entry.id for entry in log.path_to("twice")] == ["twice", "child", "twice"]
    assert "have the id of an earlier entry" in log.problems[0]
    assert len(log.subtree(None)) == 7
    assert log.append(user_entry("on")).parent_id == "twice"


def test_unknown_types_and_fields_survive(tmp_path: Path) -> None:
    strange = {**mark("a", None), "type": "hologram", "beam": [1, {"two": None}]}
    extended = {**mark("b", "a"), "colour": "green"}
    path = with_lines(tmp_path / "s.jsonl", strange, extended)
    log = SessionLog.open(path)
    log.append(user_entry("on"))
    assert [json.loads(encode(entry)) for entry in log.entries[:2]] == [strange, extended]
    assert [entry.id for entry in log.path_to()][:2] == ["a", "b"]


def test_a_line_of_many_megabytes_is_read(tmp_path: Path) -> None:
    size = (200 if OUTSIDE.get("BAYOU_LONG") else 20) * 1024 * 1024
    log = SessionLog.create(tmp_path, tmp_path)
    log.append(user_entry("x" * size))
    log.close()
    assert log.path is not None
    with log.path.open("ab") as file:
        file.write(b"y" * size)
    again = SessionLog.open(log.path)
    assert again.entries == log.entries
    assert "incomplete" in again.problems[0]
    assert quarantined_bytes(read_quarantine(log.path)[0]) == b"y" * size


@pytest.mark.parametrize(
    "content",
    [
        b"hello",
        b"\n\n\n",
        b"\0" * 4096,
        b"[1]\n",
        b'{"type":"message"}\n',
        b'{"type":"session"}\n',
        b"\xff\xfe" * 9,
        b"x" * 3_000_000,
    ],
)
def test_what_is_no_session_is_refused_and_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(content)
    with pytest.raises(NotASession, match=r"s\.jsonl"):
        SessionLog.open(path)
    assert path.read_bytes() == content
    assert list(tmp_path.iterdir()) == [path]


def test_missing_files_and_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SessionNotFound):
        SessionLog.open(tmp_path / "none.jsonl")
    with pytest.raises(NotASession, match="folder"):
        SessionLog.open(tmp_path)
    os.mkfifo(tmp_path / "pipe.jsonl")
    with pytest.raises(NotASession, match="regular"):
        SessionLog.open(tmp_path / "pipe.jsonl")
    with pytest.raises(SessionError):
        SessionLog.open(Path("a\0b"))


def test_a_newer_version_is_read_but_not_written(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(encode(SessionHeader(id="s", cwd="/", version=4)) + b"\n")
    with pytest.raises(SessionTooNew, match=r"version 4.*Update bayou"):
        SessionLog.open(path)
    assert SessionLog.open(path, read_only=True).session_id == "s"


def test_a_migration_that_fails_leaves_the_old_file(
    tmp_path: Path, sample: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = sample("30-v1-input")
    original = path.read_bytes()

    def refuse(self: Path, target: Path) -> Path:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(SessionError, match="cannot be converted to version 3"):
        SessionLog.open(path)
    assert path.read_bytes() == original
    monkeypatch.undo()
    assert len(SessionLog.open(path).entries) == 6


def test_a_session_says_when_its_folder_is_gone(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    log = SessionLog.create(tmp_path, project)
    assert not log.is_cwd_gone
    project.rmdir()
    assert log.is_cwd_gone


def test_a_file_that_may_not_be_written_is_opened_for_reading(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, whole = written(tmp_path)
    real = os.open

    def refuse(name: str, flags: int, *rest: int) -> int:
        if flags & os.O_RDWR:
            raise PermissionError(13, "Permission denied")
        return real(name, flags, *rest)

    monkeypatch.setattr(os, "open", refuse)
    log = SessionLog.open(path)
    assert log.is_read_only and "Fork it" in log.problems[0]
    with pytest.raises(SessionReadOnly):
        log.append(user_entry("on"))
    log.move_leaf(log.entries[0].id)
    assert log.leaf_id == log.entries[0].id
    assert path.read_bytes() == whole
