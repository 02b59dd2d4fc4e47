"""A session log: what is appended is in the file, in memory, and there again after opening."""

import os
from pathlib import Path

import pytest

from app.sessions.errors import SessionLocked
from app.sessions.session_log import SessionLog
from app.values.entries import MessageEntry, ModelChangeEntry
from tests.sessions.make_entries import assistant_entry, user_entry


def test_nothing_is_on_disk_until_something_is_said(tmp_path: Path) -> None:
    log = SessionLog.create(tmp_path / "sessions", tmp_path)
    log.append(ModelChangeEntry(parent_id=None, provider="p", model_id="m"))
    assert not (tmp_path / "sessions").exists()
    log.append(user_entry("hello"))
    assert log.path is not None
    assert log.path.read_bytes().count(b"\n") == 3


def test_an_appended_entry_hangs_below_the_leaf_and_is_there_after_opening(tmp_path: Path) -> None:
    log = SessionLog.create(tmp_path, tmp_path)
    first = log.append(user_entry("hello"))
    second = log.append(assistant_entry("hi"))
    assert second.parent_id == first.id
    assert isinstance(second, MessageEntry) and second.message.id == second.id
    log.close()
    assert log.path is not None
    again = SessionLog.open(log.path)
    assert again.entries == [first, second]
    assert again.leaf_id == second.id
    assert [message.id for message in again.project_context().messages] == [first.id, second.id]


def test_resuming_returns_to_where_the_person_had_gone(tmp_path: Path) -> None:
    log = SessionLog.create(tmp_path, tmp_path)
    first = log.append(user_entry("hello"))
    log.append(assistant_entry("hi"))
    log.append(user_entry("more"))
    log.move_leaf(first.id)
    log.close()
    assert log.path is not None
    again = SessionLog.open(log.path)
    assert again.leaf_id == first.id
    assert again.append(assistant_entry("other")).parent_id == first.id


def test_a_second_writer_is_told_who_has_the_session(tmp_path: Path) -> None:
    log = SessionLog.create(tmp_path, tmp_path)
    log.append(user_entry("hello"))
    assert log.path is not None
    with pytest.raises(SessionLocked, match="or continue in a copy") as told:
        SessionLog.open(log.path)
    assert told.value.holder in (None, os.getpid())  # not every system tells
    reader = SessionLog.open(log.path, read_only=True)
    assert reader.entries == log.entries
    log.close()
    SessionLog.open(log.path).close()
