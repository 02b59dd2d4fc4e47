"""Nothing grows without being noticed. A module that comes near its bound has more than one subject."""

from tests.architecture.sources import ROOT, SHIPPED, files, functions, name

MODULE_LINES = 450
FUNCTION_LINES = 80
"""The house rule is 60; this is where the build stops."""
ALL_VERBS = {"app/engine/session.py": 700}
"""What every face can do with a session, a few lines a verb, each handed on to the part that does it."""
TEST_FOLDERS = ("tests", "bench")
MADE_BY_A_PROGRAM = {"app/modes/client_commands.py"}
"""As long as the table that it is made from."""


def test_no_module_is_too_long():
    long = {
        name(path): lines
        for path in files(*SHIPPED, *TEST_FOLDERS)
        if name(path) not in MADE_BY_A_PROGRAM
        and (lines := len(path.read_text(encoding="utf-8").splitlines()))
        > ALL_VERBS.get(name(path), MODULE_LINES)
    }
    assert long == {}, f"Longer than {MODULE_LINES} lines: split them by subject."


def test_no_function_is_too_long():
    long = {
        f"{name(path)}:{function.lineno} {function.name}": lines
        for path in files(*SHIPPED)
        for function in functions(path)
        if (lines := (function.end_lineno or function.lineno) - function.lineno + 1) > FUNCTION_LINES
    }
    assert long == {}, f"Longer than {FUNCTION_LINES} lines: give the steps names."


def test_a_folder_is_found_at_all():
    assert len(files(*SHIPPED)) > 50
    assert (ROOT / "pyproject.toml").is_file()
