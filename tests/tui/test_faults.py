"""A fault of bayou's own ends the program with a report file, not with a traceback over the screen."""

from pathlib import Path

from app.assembly.build import assemble
from app.assembly.crash import write_crash_report
from app.assembly.options import Options
from app.resources.paths import Paths
from app.tui.run import GuardedApp


async def test_an_internal_error_leaves_a_report_and_ends_the_program(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    assembled = assemble(Options(no_session=True), Paths.from_env({"HOME": str(tmp_path)}, project), {})
    app = GuardedApp(assembled, crash_dir=tmp_path / "crash", home=tmp_path)
    async with app.run_test():

        async def fall_over() -> None:
            raise ZeroDivisionError("a fault of ours")

        app.spawn(fall_over())
    assert app.return_value == 70
    assert app.crash_report is not None
    assert "ZeroDivisionError: a fault of ours" in app.crash_report.read_text()


def test_a_report_that_cannot_be_written_is_no_second_fault(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    path = write_crash_report(blocked, ValueError("x"))
    assert path.parent == blocked
