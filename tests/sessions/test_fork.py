"""New sessions from old ones, and moving about in the tree."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from app.sessions.errors import NotASession, SessionError
from app.sessions.export.jsonl import export_jsonl
from app.sessions.fork import clone_session_path, copy_session, fork_session_before
from app.sessions.session_log import SessionLog
from app.values.entries import CompactionEntry, CustomMessageEntry, LabelEntry, ModelChangeEntry
from tests.sessions.make_entries import assistant_entry, tool_result_entry, user_entry


def talk(folder: Path) -> SessionLog:
    """model, user a, answer, user b, answer."""
    log = SessionLog.create(folder, folder)
    log.append(ModelChangeEntry(parent_id=None, provider="p", model_id="m"))
    for entry in (user_entry("a"), assistant_entry("A"), user_entry("b"), assistant_entry("B")):
        log.append(entry)
    return log


def test_a_fork_holds_what_stood_before_the_message(tmp_path: Path) -> None:
    log = talk(tmp_path)
    fork = fork_session_before(log, log.entries[3].id, tmp_path)
    assert fork.entries == log.entries[:3]
    assert fork.header.parent_session == str(log.path)
    assert fork.session_id != log.session_id
    fork.close()
    assert fork.path is not None
    assert SessionLog.open(fork.path).entries == log.entries[:3]


def test_a_fork_before_the_first_message_waits_for_something_to_be_said(tmp_path: Path) -> None:
    log = talk(tmp_path)
    fork = fork_session_before(log, log.entries[1].id, tmp_path)
    assert fork.path is not None and not fork.path.exists()
    fork.append(user_entry("other"))
    fork.close()
    again = SessionLog.open(fork.path)
    assert [type(entry).__name__ for entry in again.entries] == ["ModelChangeEntry", "MessageEntry"]


def test_a_clone_is_as_pi_makes_it(sample: Callable[[str], Path], tmp_path: Path) -> None:
    source = SessionLog.open(sample("06-fork-source"))
    pis = SessionLog.open(sample("07-clone-result"))
    ours = clone_session_path(source, tmp_path)
    assert ours.entries == pis.entries
    assert ours.leaf_id == pis.leaf_id


def test_a_clone_leaves_labels_out_of_the_chain_and_puts_them_at_the_end(tmp_path: Path) -> None:
    log = talk(tmp_path)
    first, last = log.entries[1].id, log.entries[4].id
    label = log.set_label(first, "kept")
    log.set_label(last, "taken away")
    log.append(CompactionEntry(parent_id=None, summary="s", first_kept_entry_id=label.id))
    log.set_label(last, None)
    log.append(user_entry("c"))
    copy = clone_session_path(log, tmp_path)
    assert [entry.id for entry in copy.entries[:5]] == [entry.id for entry in log.entries[:5]]
    compaction, said, relabelled = copy.entries[5:]
    assert isinstance(compaction, CompactionEntry) and compaction.first_kept_entry_id == compaction.id
    assert compaction.parent_id == last and said.parent_id == compaction.id
    assert isinstance(relabelled, LabelEntry) and relabelled.timestamp == label.timestamp
    assert relabelled.id != label.id and relabelled.parent_id == said.id
    assert copy.label(first) == "kept" and copy.label(last) is None


def test_a_copy_for_another_project_has_every_branch_and_leaves_the_source_alone(tmp_path: Path) -> None:
    log = talk(tmp_path / "here")
    log.move_leaf(log.entries[2].id)
    log.append(user_entry("other"))
    assert log.path is not None
    before = log.path.read_bytes()
    path = copy_session(log.path, tmp_path / "there", Path("/other"), session_id="mine")
    copy = SessionLog.open(path)
    assert copy.entries == log.entries
    assert (copy.session_id, copy.header.cwd, copy.header.parent_session) == ("mine", "/other", str(log.path))
    assert log.path.read_bytes() == before
    with pytest.raises(SessionError, match="session id"):
        copy_session(log.path, tmp_path, tmp_path, session_id="../evil")


def test_an_old_version_is_copied_in_todays(sample: Callable[[str], Path], tmp_path: Path) -> None:
    source = sample("30-v1-input")
    before = source.read_bytes()
    copy = SessionLog.open(copy_session(source, tmp_path / "there", tmp_path))
    assert len(copy.entries) == 6 and copy.problems == []
    assert source.read_bytes() == before


def test_a_copy_saves_what_stands_below_a_damaged_first_line(
    sample: Callable[[str], Path], tmp_path: Path
) -> None:
    source = sample("28-torn-header-torn")
    before = source.read_bytes()
    copy = SessionLog.open(copy_session(source, tmp_path / "there", Path("/project")))
    assert len(copy.entries) == 7 and len(copy.project_context().messages) == 5
    assert copy.header.cwd == "/project" and source.read_bytes() == before
    (tmp_path / "junk.jsonl").write_bytes(b'junk\n{"type":"x"}\n')
    with pytest.raises(NotASession, match="It contains no readable session"):
        copy_session(tmp_path / "junk.jsonl", tmp_path / "there", tmp_path)


def test_an_exported_branch_is_a_session_of_the_same_id(tmp_path: Path) -> None:
    log = talk(tmp_path)
    log.set_label(log.entries[1].id, "here")
    log.move_leaf(log.entries[2].id)
    log.append(user_entry("other"))
    lines = [json.loads(line) for line in export_jsonl(log).splitlines()]
    assert lines[0]["id"] == log.session_id and "parentSession" not in lines[0]
    assert [line["id"] for line in lines[1:]] == [entry.id for entry in log.path_to()]
    assert [line["parentId"] for line in lines[2:]] == [line["id"] for line in lines[1:-1]]


def test_branches_grow_from_any_entry_also_before_the_first_answer_and_mid_tool(tmp_path: Path) -> None:
    log = SessionLog.create(tmp_path, tmp_path)
    first = log.append(user_entry("a"))
    log.move_leaf(None)
    second = log.append(user_entry("b"))
    assert second.parent_id is None
    log.move_leaf(first.id)
    log.append(assistant_entry("", "one", "two"))
    middle = log.append(tool_result_entry("one"))
    log.append(tool_result_entry("two"))
    log.move_leaf(middle.id)
    log.append(user_entry("instead"))
    assert len(log.children(middle.id)) == 2
    assert [entry.id for entry in log.children(None)] == [first.id, second.id]
    assert log.common_ancestor(log.leaf_id, log.entries[-3].id) == middle.id
    assert log.stats(first.id).branches == 2


def test_going_to_what_a_person_said_gives_the_text_back(tmp_path: Path) -> None:
    log = talk(tmp_path)
    custom = log.append(CustomMessageEntry(parent_id=None, custom_type="note", content="words"))
    assert log.navigation(log.entries[1].id).text == "a"
    assert log.navigation(log.entries[1].id).leaf_id == log.entries[0].id
    assert log.navigation(custom.id).text == "words"
    to_answer = log.navigation(log.entries[2].id)
    assert (to_answer.leaf_id, to_answer.text) == (log.entries[2].id, None)


def test_going_to_the_root_survives_a_restart(tmp_path: Path) -> None:
    log = talk(tmp_path)
    log.move_leaf(None)
    log.close()
    assert log.path is not None
    again = SessionLog.open(log.path)
    assert again.leaf_id is None
    assert again.project_context().messages == ()
    assert len(again.children(None)) == 1


def test_names_and_labels_hold_for_the_whole_tree(tmp_path: Path) -> None:
    log = talk(tmp_path)
    log.rename("one\ntwo ")
    log.set_label(log.entries[1].id, "mark")
    log.move_leaf(log.entries[1].id)
    assert log.name == "one two" and log.label(log.entries[1].id) == "mark"
    log.rename("")
    log.set_label(log.entries[1].id, "")
    assert log.name is None and log.labels == {}
    with pytest.raises(SessionError, match="no entry"):
        log.set_label("nobody", "x")
    with pytest.raises(SessionError, match="no entry"):
        log.move_leaf("nobody")


def test_a_session_in_memory_writes_nothing(tmp_path: Path) -> None:
    log = SessionLog.in_memory(tmp_path)
    log.append(user_entry("a"))
    log.move_leaf(None)
    log.end_turn()
    log.close()
    assert log.path is None and list(tmp_path.iterdir()) == []
