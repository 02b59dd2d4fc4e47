"""A fault of bayou's own ends the program with a report file, not with a traceback over the screen."""

import asyncio
import os
import stat
from pathlib import Path

import pytest
from textual.app import ScreenStackError

from app.assembly.command_line_options import CommandLineOptions
from app.assembly.crash_report import print_crash_report, report_crash
from app.assembly.session_builder import assemble_session
from app.resources.paths import BayouPaths
from app.tui.app import BayouApp
from app.tui.run import InternalErrorReporter
from tools.files.private_folders import existing_temporary_folders_of_bayou


def guarded(tmp_path: Path) -> tuple[BayouApp, InternalErrorReporter]:
    project = tmp_path / "project"
    project.mkdir()
    assembled = assemble_session(
        CommandLineOptions(no_session=True), BayouPaths.from_env({"HOME": str(tmp_path)}, project), {}
    )
    app = BayouApp(assembled, home=tmp_path)
    return app, InternalErrorReporter(app, tmp_path / "crash")


async def test_an_internal_error_leaves_a_report_and_ends_the_program(tmp_path: Path) -> None:
    app, faults = guarded(tmp_path)
    async with app.run_test() as pilot:

        async def fall_over() -> None:
            raise ZeroDivisionError("a fault of ours")

        app.tasks.spawn(fall_over())
        await pilot.pause()
    assert app.return_value == 70
    assert faults.crash is not None and faults.crash.report is not None
    assert "ZeroDivisionError: a fault of ours" in faults.crash.report.read_text()


async def test_work_of_a_closed_screen_is_not_a_crash(tmp_path: Path) -> None:
    app, faults = guarded(tmp_path)
    has_ended = asyncio.Event()
    async with app.run_test():
        await app.is_ready.wait()

        async def look_at_the_screen() -> None:
            await has_ended.wait()
            app.screen.refresh()

        work = asyncio.ensure_future(look_at_the_screen())
        app.tasks.spawn(work)
    has_ended.set()
    with pytest.raises(ScreenStackError):
        await work
    await asyncio.sleep(0)  # waiting callers learn of its end
    assert faults.crash is None


def test_a_report_goes_elsewhere_when_its_folder_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    monkeypatch.setattr("tools.files.private_folders._TEMPORARY_FOLDERS_PARENT", str(tmp_path))
    crash = report_crash(blocked, ValueError("x"))
    assert crash.report is not None and "ValueError: x" in crash.report.read_text()
    assert crash.report.parent.parent == tmp_path
    assert [stat.S_IMODE(path.stat().st_mode) for path in (crash.report, crash.report.parent)] == [
        0o600,
        0o700,
    ]


@pytest.mark.parametrize("taken", ["link to one's own", "link", "open to all", "another user's", "file"])
def test_no_report_is_written_into_a_folder_that_somebody_else_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, taken: str
) -> None:
    monkeypatch.setattr("tools.files.private_folders._TEMPORARY_FOLDERS_PARENT", str(tmp_path))
    usual, other = tmp_path / f"bayou-kept-{os.getuid()}", tmp_path / "other"
    other.mkdir(mode=0o700)
    if "link" in taken:
        other.chmod(0o777 if taken == "link" else 0o700)
        usual.symlink_to(other)
    elif taken == "file":
        usual.touch(mode=0o600)
    else:
        usual.mkdir()
        usual.chmod(0o777 if taken == "open to all" else 0o700)
    if taken == "another user's":
        if os.getuid() != 0:
            pytest.skip("only the superuser gives a folder away")
        os.chown(usual, 54321, 54321)
    crash = report_crash(Path("/dev/null"), ValueError("x"))
    assert crash.report is not None and crash.report.parent.parent == tmp_path
    folder = crash.report.parent
    assert stat.S_IMODE(folder.lstat().st_mode) == 0o700 and folder.lstat().st_uid == os.getuid()
    assert not list(other.iterdir()) and (not usual.is_dir() or not list(usual.iterdir()))
    assert existing_temporary_folders_of_bayou()[0] == str(folder), "it is hidden from commands"


def test_an_unwritable_crash_report_is_not_a_second_crash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    monkeypatch.setattr("tools.files.private_folders._TEMPORARY_FOLDERS_PARENT", str(blocked))
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(blocked))
    assert print_crash_report(report_crash(blocked, ValueError("red \x1b[31m\nlines"))) == 70
    assert "(ValueError: red ␛[31m lines)" in capsys.readouterr().err
