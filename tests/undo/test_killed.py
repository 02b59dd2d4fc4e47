"""Ended at any moment of changes and restores: no file is half, and the session knows what became of each."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from app.undo.change_records import (
    FILE_CHANGES_ENTRY_TYPE,
    FILE_RESTORE_ENTRY_TYPE,
    FileChangesData,
    file_data_to_entry_data,
)
from app.values.entries import CustomEntry
from tests.undo.killed_worker import NAMES, is_whole, parts_of
from tools.files.atomic_replacement import is_temporary_replacement_name

ROOT = Path(__file__).resolve().parents[2]
MOMENTS = 200 if os.environ.get("BAYOU_LONG") else 6


def end_it(session: Path, project: Path, after: float, worker_at: str = "killed_worker") -> None:
    """Lets it work until it has gone round once, and then a random moment longer."""
    worker = subprocess.Popen(
        [sys.executable, "-m", f"tests.undo.{worker_at}", str(session), str(project)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
    )
    assert worker.stdout is not None
    assert worker.stdout.read(1) == b"."
    time.sleep(after)
    worker.send_signal(signal.SIGKILL)
    worker.communicate()


def test_whenever_it_is_killed(tmp_path: Path) -> None:
    chance = random.Random(4711)
    project = Path(os.path.realpath(tmp_path)) / "project"
    project.mkdir()
    session = tmp_path / "session"
    for _ in range(MOMENTS):
        end_it(session, project, chance.random() * 0.2)
        left_beside = [path for path in project.iterdir() if path.name not in NAMES]
        assert all(is_temporary_replacement_name(path.name) for path in left_beside)
        for name in NAMES:
            assert not (project / name).exists() or is_whole((project / name).read_bytes())
        parts = parts_of(session, project)
        for key, data in parts.restores.unrecorded_file_changes():
            kind = FILE_CHANGES_ENTRY_TYPE if isinstance(data, FileChangesData) else FILE_RESTORE_ENTRY_TYPE
            parts.log.append(
                CustomEntry(parent_id=None, custom_type=kind, data=file_data_to_entry_data(data))
            )
            parts.recorder.mark_recorded(key)
        assert parts.restores.unrecorded_file_changes() == []
        assert [path for path in left_beside if path.exists()] == []
        plan = parts.restores.plan_restore_to_entry(None)
        assert {row.path: (row.state, row.why) for row in plan.rows if row.state != "ready"} == {}
        assert {row.path for row in plan.rows} == {name for name in NAMES if (project / name).exists()}
        parts.close()
        parts.log.close()


def test_whenever_it_is_killed_while_commands_run(tmp_path: Path) -> None:
    """What such a command did is not known, and that is said; nothing is put back wrongly for it."""
    chance = random.Random(815)
    interrupted = 0
    for moment in range(MOMENTS):
        project = Path(os.path.realpath(tmp_path)) / f"project{moment}"
        project.mkdir()
        session = tmp_path / f"session{moment}"
        end_it(session, project, chance.random() * 0.3, "killed_in_commands")
        parts = parts_of(session, project)
        for key, data in parts.restores.unrecorded_file_changes():
            kind = FILE_CHANGES_ENTRY_TYPE if isinstance(data, FileChangesData) else FILE_RESTORE_ENTRY_TYPE
            interrupted += isinstance(data, FileChangesData)
            parts.log.append(
                CustomEntry(parent_id=None, custom_type=kind, data=file_data_to_entry_data(data))
            )
            parts.recorder.mark_recorded(key)
        assert parts.restores.unrecorded_file_changes() == []
        before = contents(project)
        plan = parts.restores.plan_restore_to_entry(None)
        unknown = {row.path: row.why for row in plan.rows if row.state == "unheld"}
        assert set(unknown.values()) <= {"bayou ended while a command ran"}
        done = parts.restores.carry_out_restore_plan(plan, {})
        left = contents(project)
        kept = {one.path: one.why for one in done.kept}
        for name, content in left.items():  # all of it was made by commands
            assert (content == before[name] and name in kept) or unknown, name
        if not unknown:
            assert left == {}
        if done.total:
            parts.log.append(
                CustomEntry(
                    parent_id=None, custom_type=FILE_RESTORE_ENTRY_TYPE, data=file_data_to_entry_data(done)
                )
            )
            parts.recorder.mark_recorded(done.id)
            parts.restores.carry_out_restore_plan(parts.restores.plan_redo(), {})
        assert contents(project) == before
        parts.close()
        parts.log.close()
    assert interrupted or MOMENTS < 50


def contents(project: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in project.iterdir()}


@pytest.mark.parametrize("done", [0, 1, 3])
def test_a_restore_that_was_interrupted_is_finished_or_taken_back(tmp_path: Path, done: int) -> None:
    from app.undo.restore_steps import run_restore_steps
    from tests.undo.undo_session import UndoSession

    stage = UndoSession(tmp_path)
    stage.prompt("one")
    stage.record(*(stage.write(name, "one") for name in "abc"))
    stage.prompt("two")
    stage.record(*(stage.write(name, "two") for name in "abc"))
    told, count = stage.recorder.mark_recorded, iter(range(3))

    def stop() -> None:
        if next(count) == done - 1:
            raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "app.undo.session_undo.run_restore_steps",
            lambda wanted: run_restore_steps(wanted[:done], after_each=stop),
        )
        try:
            stage.restores.carry_out_restore_plan(stage.undo(), {})
        except KeyboardInterrupt:
            pass
    assert told is not None
    (key, data) = stage.restores.unrecorded_file_changes()[0]
    assert [change.path for change in data.changes] == list("abc")[:done]
    stage.log.append(
        CustomEntry(parent_id=None, custom_type=FILE_RESTORE_ENTRY_TYPE, data=file_data_to_entry_data(data))
    )
    stage.recorder.mark_recorded(key)
    if done < 3:
        stage.restore(stage.undo())
        assert stage.files() == dict.fromkeys("abc", "one")
    else:
        stage.restore(stage.redo())
        assert stage.files() == dict.fromkeys("abc", "two")
