"""Programs that bayou starts by itself: each has a row in `docs/security.md`, and nothing starts one without."""

import ast
import re
from pathlib import Path

from tests.architecture.sources import ROOT, files, functions, name, tree

_MODULES = ("subprocess", "webbrowser", "multiprocessing", "pty")
_OF_MODULES = {
    "subprocess": re.compile("run|Popen|call|check_|getoutput|getstatusoutput"),
    "webbrowser": re.compile("open|get"),
    "multiprocessing": re.compile("."),
    "pty": re.compile("fork|spawn"),
    "os": re.compile("exec|spawn|fork|posix_spawn|system|popen|startfile"),
}
_ELSEWHERE = {
    "create_subprocess_exec",
    "create_subprocess_shell",
    "subprocess_exec",
    "subprocess_shell",
    "open_url",
}
_WORTH_A_LOOK = re.compile(
    r"subprocess|ChildProgram\.start|webbrowser|multiprocessing|\bpty\b|open_url|\bos\b|operations import|git_command"
)
_ROW = re.compile(r"^\| `(?P<place>[\w/.]+:\w+)` \|", re.MULTILINE)


def starts(node: ast.AST, *, is_given_commands: bool) -> bool:
    """By what it names, called here or handed on. `CommandLine` is what the session's processes are given to start, and
    the caller of `git_command` starts it."""
    match node:
        case ast.Attribute(value=ast.Name(id=module), attr=word) if module in _OF_MODULES:
            return _OF_MODULES[module].match(word) is not None
        case ast.Attribute(value=ast.Name(id="ChildProgram"), attr="start"):
            return True
        case ast.Attribute(attr=word):
            return word in _ELSEWHERE
        case ast.Call(func=ast.Name(id="CommandLine")):
            return is_given_commands
        case ast.Call(func=ast.Name(id="make_read_only_git_command")):
            return True
    return False


def shipped() -> list[Path]:
    return [path for path in files("app", "widgets", "tools") if _WORTH_A_LOOK.search(path.read_text())]


def places() -> set[str]:
    found: set[str] = set()
    for path in shipped():
        is_given = (
            re.search(r"from tools.file_and_process_operations import .*\bCommandLine\b", path.read_text())
            is not None
        )
        for function in functions(path):
            types = {id(node.value) for node in ast.walk(function) if isinstance(node, ast.Subscript)}
            if any(
                starts(node, is_given_commands=is_given) and id(node) not in types
                for node in ast.walk(function)
            ):
                found.add(f"{name(path)}:{function.name}")
    return found


def test_every_start_of_a_program_has_a_row_and_every_row_a_start() -> None:
    rows = set(_ROW.findall((ROOT / "docs" / "security.md").read_text()))
    assert places() == rows, "say in docs/security.md which program it is, when it starts, and what steers it"


def test_every_program_start_is_found_under_any_name() -> None:
    """`from subprocess import run` and the like would not be seen above."""
    hidden = [
        f"{name(path)}:{node.lineno}"
        for path in shipped()
        for node in ast.walk(tree(path))
        if isinstance(node, ast.ImportFrom)
        if node.module in (*_MODULES, "asyncio.subprocess")
        or (
            node.module == "os"
            and any(alias.name.startswith(("exec", "spawn", "fork")) for alias in node.names)
        )
    ]
    assert hidden == []
