"""Nothing grows without being noticed: modules, functions, folders, and what one module knows of others."""

import ast
from collections import Counter
from functools import cache
from pathlib import Path

from tests.architecture.sources import ROOT, SHIPPED, files, functions, name, nodes

MODULE_LINES = 600
FUNCTION_LINES = 80
"""The house rule is 60; this is where the build stops."""
TEST_FOLDERS = ("tests", "bench")
MADE_BY_A_PROGRAM = {"app/package/bayou/client_commands.py", "app/package/bayou/values.py"}
"""As long as the table that it is made from."""

FOLDER_MODULES = 20

OWN_IMPORTS = 25


@cache
def modules_in() -> Counter[str]:
    return Counter(name(path.parent) for path in files(*SHIPPED) if path.name != "__init__.py")


@cache
def own_modules() -> frozenset[str]:
    return frozenset(name(each).removesuffix(".py").replace("/", ".") for each in files(*SHIPPED))


@cache
def own_imports(path: Path) -> int:
    """How many modules of ours it imports, those of functions and of annotations too."""
    known = own_modules()
    found: set[str] = set()
    for node in nodes(path, ast.ImportFrom):
        for alias in node.names:
            found |= {f"{node.module}.{alias.name}", node.module or ""} & known
    for node in nodes(path, ast.Import):
        found |= {alias.name for alias in node.names} & known
    return len(found)


def test_no_module_is_too_long():
    long = {
        name(path): lines
        for path in files(*SHIPPED, *TEST_FOLDERS)
        if name(path) not in MADE_BY_A_PROGRAM
        and (lines := len(path.read_text(encoding="utf-8").splitlines())) > MODULE_LINES
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


def test_no_folder_is_crowded():
    crowded = {folder: count for folder, count in modules_in().items() if count > FOLDER_MODULES}
    assert crowded == {}, f"More than {FOLDER_MODULES} modules: make folders by subject."


def test_no_module_comes_to_know_more_of_the_others():
    hubs = {name(path): count for path in files(*SHIPPED) if (count := own_imports(path)) > OWN_IMPORTS}
    assert hubs == {}, f"More than {OWN_IMPORTS} modules of ours are imported: it has more than one subject."


def test_a_folder_is_found_at_all():
    assert len(files(*SHIPPED)) > 50
    assert (ROOT / "pyproject.toml").is_file()
