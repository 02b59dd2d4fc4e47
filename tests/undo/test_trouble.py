"""A full disk, other sessions and other people's programs in the same folder."""

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from app.undo.change_records import FILE_RESTORE_ENTRY_TYPE, FileRestoreData, file_data_to_entry_data
from app.undo.session_undo import NothingToRestore
from app.values.entries import CustomEntry
from app.values.user_errors import UserError
from tests.undo.machine import World
from tests.undo.undo_session import UndoSession

NAMES = ("a", "b", "c", "d")


class Disk:
    """One that takes so many writes and no more."""

    def __init__(self, patch: pytest.MonkeyPatch, room: int) -> None:
        self.room = room
        self.is_full = False
        write = os.write

        def limited(handle: int, data: Any) -> int:
            if handle > 2:
                self.room -= 1
                if self.room < 0:
                    self.is_full = True
                    raise OSError(errno.ENOSPC, "No space left on device")
            return write(handle, data)

        patch.setattr("os.write", limited)


@pytest.mark.parametrize("room", range(20))
def test_wherever_the_disk_is_full_each_file_is_old_or_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    stage = UndoSession(tmp_path)
    stage.prompt("one")
    stage.record(*(stage.write(name, f"one {name}\n" * 900) for name in NAMES))
    stage.prompt("two")
    stage.record(*(stage.write(name, f"two {name}\n" * 900) for name in NAMES))
    before = stage.files()
    old = {name: f"one {name}\n" * 900 for name in NAMES}
    plan = stage.undo()
    with monkeypatch.context() as patch:
        disk = Disk(patch, room)
        data: FileRestoreData | None = None
        try:
            data = stage.restores.carry_out_restore_plan(plan, {})
        except UserError as problem:
            assert "Nothing was changed" in str(problem)
    now = stage.files()
    if data is None:
        assert now == before
        return
    done = {change.path for change in data.changes}
    kept = {one.path: one.why for one in data.kept}
    assert done | set(kept) == set(NAMES) and not done & set(kept)
    assert now == {name: old[name] if name in done else before[name] for name in NAMES}
    assert disk.is_full or not kept
    assert all("No space left" in why for why in kept.values())
    stage.log.append(
        CustomEntry(parent_id=None, custom_type=FILE_RESTORE_ENTRY_TYPE, data=file_data_to_entry_data(data))
    )
    stage.recorder.mark_recorded(data.id)
    stage.restore(stage.restores.plan_restore(plan.target))
    assert stage.files() == old


@pytest.mark.parametrize("room", range(14))
def test_wherever_the_disk_is_full_a_change_is_held_or_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    """By a tool and by a command: what is recorded can be taken back exactly, what cannot is named."""
    world = World(tmp_path, has_git=False)
    before = world.snapshot()
    world.prompt()
    with monkeypatch.context() as patch:
        Disk(patch, room)
        world.write("a", "by a tool\n" * 300)
    between = world.snapshot()
    assert between["a"] in (before["a"], ("file", b"by a tool\n" * 300, False))
    with monkeypatch.context() as patch:
        Disk(patch, room)
        world.command("echo by a command > b; echo new > c")
    try:
        plan = world.restores.plan_undo()
    except NothingToRestore:
        assert world.snapshot() == before
        return
    data = world.restores.carry_out_restore_plan(plan, {})
    after = world.snapshot()
    named = {one.path for one in data.kept}
    for name in {*before, *after}:
        assert after.get(name) == before.get(name) or name in named, (name, named)


def test_two_sessions_and_an_editor_in_one_folder(tmp_path: Path) -> None:
    one, other = UndoSession(tmp_path, name="one"), UndoSession(tmp_path, name="other")
    one.prompt("mine")
    one.record(one.write("shared", "by one\n"), one.write("of-one", "1\n"))
    other.prompt("theirs")
    other.record(other.write("shared", "by other\n"), other.write("of-other", "2\n"))
    plan = one.undo()
    assert {row.path: row.state for row in plan.rows} == {"shared": "conflict", "of-one": "ready"}
    one.restore(plan)
    assert one.files() == {"shared": "by other\n", "of-other": "2\n"}
    (one.root / "of-other").write_text("an editor's\n")
    other.restore(other.undo())
    assert one.files() == {"shared": "by one\n", "of-other": "an editor's\n"}
    with pytest.raises(NothingToRestore):
        other.undo()
    assert one.contents.store.folder == other.contents.store.folder


def test_a_name_that_only_changed_its_case(tmp_path: Path) -> None:
    """Where both spellings are one file, the old one is free before the new one is written."""
    stage = UndoSession(tmp_path)
    stage.prompt("one")
    stage.record(stage.write("Name", "text\n"))
    stage.prompt("two")
    stage.record(stage.write("Name", None), stage.write("name", "text\n"))
    stage.restore(stage.undo())
    assert stage.files() == {"Name": "text\n"}


def test_files_of_another_user_are_named(tmp_path: Path) -> None:
    stage = UndoSession(tmp_path)
    stage.prompt("one")
    stage.record(stage.write("a", "1"), stage.write("b", "1"))
    stage.prompt("two")
    stage.record(stage.write("a", "2"), stage.write("b", "2"))
    with pytest.MonkeyPatch.context() as patch:
        mine = os.geteuid()
        patch.setattr("os.geteuid", lambda: mine + 1)  # everything here is another user's

        def refuse(*args: object) -> None:
            raise PermissionError(errno.EPERM, "Operation not permitted")

        patch.setattr("os.fchown", refuse)
        data = stage.restore(stage.undo())
    assert [(one.path, one.why) for one in data.kept] == [
        ("a", "cannot be written: it belongs to another user"),
        ("b", "cannot be written: it belongs to another user"),
    ]
    assert stage.files() == {"a": "2", "b": "2"}


def test_a_ledger_that_cannot_be_written_stops_a_restore_before_it_begins(tmp_path: Path) -> None:
    stage = UndoSession(tmp_path)
    stage.prompt("one")
    stage.record(stage.write("a", "1"))
    (tmp_path / "session.jsonl.files").mkdir()
    with pytest.raises(UserError, match="Nothing was changed"):
        stage.restores.carry_out_restore_plan(stage.undo(), {})
    assert stage.files() == {"a": "1"}
