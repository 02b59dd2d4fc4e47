"""Where no sandbox works, the footer of the real program says in `auto-edit` why commands ask."""

from pathlib import Path

from tests.support.terminals import terminal

ROOT = Path(__file__).parents[2]
STARTS = (
    "import os, sys; os.execv(sys.executable, [sys.executable, '-m', 'tests.permits.by_doing.crippled', "
    "sys.executable, '-P', '-m', 'app', *sys.argv[1:]])"
)
"""On a system that has neither namespaces nor Landlock."""


def test_the_footer_says_that_commands_ask_for_want_of_a_sandbox(tmp_path: Path) -> None:
    how = {"program": STARTS, "env": {"PYTHONPATH": str(ROOT)}, "size": (80, 24)}
    with terminal(tmp_path, "--permissions", "auto-edit", **how) as shown:
        shown.until("no sandbox: commands need approval")
        assert "AUTO-EDIT  no sandbox: commands need approval" in shown.screen
        shown.press("run `touch made`\r")
        shown.until("Run this command?")
        assert not (tmp_path / "made").exists()
