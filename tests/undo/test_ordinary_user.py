"""What an ordinary user may not do is named file by file, and the rest goes back. The superuser becomes one here."""

import os
import shutil
import tempfile
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.undo.undo_session import UndoSession

NOBODY = 65534


@pytest.fixture
def folder() -> Iterator[Path]:
    """Where such a user may go: pytest's own folders are closed to others."""
    made = Path(tempfile.mkdtemp(prefix="bayou-ordinary-"))
    made.chmod(0o777)
    yield made
    for path in [made, *made.rglob("*")]:
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o700)
    shutil.rmtree(made)


def ordinarily(work: Callable[[], None]) -> None:
    if os.geteuid() != 0:
        work()
        return
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            work()
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_folders_that_take_nothing(folder: Path) -> None:
    def work() -> None:
        stage = UndoSession(folder)
        stage.prompt("one")
        stage.record(
            *(stage.write(f"locked/{name}", "1") for name in ("changed", "gone")), stage.write("free", "1")
        )
        stage.prompt("two")
        stage.record(
            stage.write("locked/changed", "2"),
            stage.write("locked/gone", None),
            stage.write("locked/new", "2"),
            stage.write("free", "2"),
        )
        (stage.root / "locked").chmod(0o555)
        done = stage.restore(stage.undo())
        assert {one.path: one.why for one in done.kept} == {
            "locked/gone": "cannot be written: Permission denied",
            "locked/new": "cannot be written: Permission denied",
        }
        assert stage.files() == {"free": "1", "locked/changed": "1", "locked/new": "2"}
        assert {path.name for path in (stage.root / "locked").iterdir()} == {"changed", "new"}

    ordinarily(work)


def test_files_that_cannot_be_read_or_written(folder: Path) -> None:
    def work() -> None:
        stage = UndoSession(folder)
        stage.prompt("one")
        stage.record(stage.write("closed", "1"), stage.write("read-only", "1", mode=0o444))
        stage.prompt("two")
        (stage.root / "read-only").chmod(0o644)
        stage.record(stage.write("closed", "2"), stage.write("read-only", "2", mode=0o444))
        (stage.root / "closed").chmod(0)
        plan = stage.undo()
        assert {row.path: (row.state, row.why) for row in plan.rows} == {
            "closed": ("refused", "cannot be read: Permission denied"),
            "read-only": ("ready", ""),
        }
        stage.restore(plan)
        assert (stage.root / "read-only").read_text() == "1"

    ordinarily(work)


@pytest.mark.skipif(os.geteuid() != 0, reason="only the superuser can give files away")
def test_files_of_another_user(folder: Path) -> None:
    (folder / "project").mkdir()
    (folder / "project").chmod(0o777)
    (folder / "project" / "theirs").write_text("2")
    (folder / "project" / "theirs").chmod(0o666)

    def work() -> None:
        stage = UndoSession(folder)
        stage.prompt("one")
        before = stage.write("mine", "1")
        stage.record(before)
        held = stage.write("theirs", "1")
        stage.prompt("two")
        stage.record(stage.write("mine", "2"), stage.write("theirs", "2", mode=0o666))
        assert held.after is not None
        done = stage.restore(stage.undo())
        assert {one.path: one.why for one in done.kept} == {
            "theirs": "cannot be written: it belongs to another user"
        }
        assert stage.files() == {"mine": "1", "theirs": "2"}

    def unmoded() -> None:
        os.chmod = lambda *_, **__: None  # type: ignore[assignment]  (only its owner may)
        Path.chmod = lambda *_, **__: None  # type: ignore[method-assign]
        work()

    ordinarily(unmoded)
