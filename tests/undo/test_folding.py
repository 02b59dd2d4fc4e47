"""Where two spellings lead to one file: nothing is lost by a name that only changes its case.

Needs such a folder: the system's own, or the one that BAYOU_FOLDING_FOLDER names.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.undo.change_records import FILE_RESTORE_ENTRY_TYPE, file_data_to_entry_data
from app.undo.disk_files import names_differing_in_case, path_spelled_as_on_disk
from app.undo.session_undo import SessionFileRestores
from app.values.entries import CustomEntry
from tests.undo.machine import World
from tests.undo.test_footprints import needs_git
from tests.undo.undo_session import UndoSession

NAMED = os.environ.get("BAYOU_FOLDING_FOLDER")


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    place = Path(tempfile.mkdtemp(dir=NAMED)) if NAMED else tmp_path / "here"
    place.mkdir(exist_ok=True)
    (place / "Probe").touch()
    if not (place / "pROBE").exists():
        pytest.skip("names keep their case here")
    (place / "Probe").unlink()
    yield Path(os.path.realpath(place))
    shutil.rmtree(place, ignore_errors=True)


def test_names_that_may_be_one_file() -> None:
    assert names_differing_in_case(["a", "A", "b", "sub/C", "SUB/c", "d"]) == {"a", "A", "sub/C", "SUB/c"}


def test_where_case_counts_names_are_what_they_are(tmp_path: Path) -> None:
    (tmp_path / "probe").touch()
    if (tmp_path / "PROBE").exists():
        pytest.skip("names fold their case here")
    os.link(tmp_path / "probe", tmp_path / "PROBE")  # one file by both names, and both are there
    for name in ("probe", "PROBE", "Probe"):
        assert path_spelled_as_on_disk(str(tmp_path / name)) == str(tmp_path / name)


def test_a_file_made_anew_by_another_spelling_goes_back(folder: Path) -> None:
    stage = UndoSession(folder)
    stage.prompt("one")
    stage.record(stage.write("Name", "text\n"))
    stage.prompt("two")
    stage.record(stage.write("Name", None), stage.write("name", "text\n"))
    stage.restore(stage.undo())
    assert stage.files() == {"Name": "text\n"}
    stage.restore(stage.redo())
    assert stage.files() == {"name": "text\n"}


def test_a_restore_that_ended_before_it_began_has_done_nothing(folder: Path) -> None:
    stage = UndoSession(folder)
    stage.prompt("one")
    stage.record(stage.write("Name", "text\n"))
    stage.prompt("two")
    stage.record(stage.write("Name", None), stage.write("name", "text\n"))
    with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr("app.undo.session_undo.run_restore_steps", _end)
        stage.restores.carry_out_restore_plan(stage.undo(), {})
    ((_, data),) = SessionFileRestores(stage.log, stage.recorder).unrecorded_file_changes()
    assert data.changes == ()
    assert stage.files() == {"name": "text\n"}


def _end(*_: object) -> None:
    raise KeyboardInterrupt


COMMANDS = (
    "mv b between && mv between B && echo two >> b",
    "echo new > A",
    "rm A; echo z > a",
    "mkdir Sub2 && echo x > SUB2/y",
    "mv sub between && mv between SUB",
)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("has_git", [False, pytest.param(True, marks=needs_git)])
def test_what_a_command_did_goes_back(folder: Path, command: str, has_git: bool) -> None:
    """Git passes a spelling over that alone is another one, and a folder keeps its new one; what the files hold goes
    back all the same.
    """
    world = World(folder, has_git=has_git)
    before = world.snapshot()
    world.prompt()
    world.command(command)
    if world.snapshot() == before:
        pytest.skip("this command does nothing here")
    try:
        plan = world.restores.plan_undo()
    except LookupError:
        raise
    except Exception:
        assert has_git
        assert _folded(world) == {name.casefold(): what for name, what in before.items()}
        return
    data = world.restores.carry_out_restore_plan(plan, {})
    assert data.kept == ()
    world._append(
        CustomEntry(parent_id=None, custom_type=FILE_RESTORE_ENTRY_TYPE, data=file_data_to_entry_data(data))
    )
    if has_git or "SUB" in command:
        assert _folded(world) == {name.casefold(): what for name, what in before.items()}
    else:
        assert world.snapshot() == before


def _folded(world: World) -> dict[str, tuple[str, bytes, bool]]:
    return {name.casefold(): what for name, what in world.snapshot().items()}


def test_a_tool_that_spells_a_name_in_another_way_changes_the_same_file(folder: Path) -> None:
    world = World(folder, has_git=False)
    world.prompt()
    world.write("A", "changed\n")
    world.prompt()
    world.write("SUB/C", "changed\n")
    world.undo(1)
    world.undo(1)
    assert world.snapshot() == world.at[None]
