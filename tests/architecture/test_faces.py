"""The full screen drives a session by its verbs and reads one view of it; its pages know nothing of the application."""

import ast
from pathlib import Path

from tests.architecture.sources import ROOT, files, name, nodes

FULL_SCREEN = files("app/tui")
READ = {"state", "stats", "cwd"}
"""Plain values of a session. What else it has is handed on as a whole, or asked by a verb."""
MADE_BY_THE_APPLICATION = {"app.py", "run.py", "opening.py", "every_page.py"}
"""Where it is put together; nobody else may know it."""

NO_PAGES = {"__init__.py", "asking.py", "entry_texts.py", "map_rows.py", "tree_entries.py"}
"""What stands among the pages and is none: small questions, and texts of entries."""


def reaches(path: Path) -> list[str]:
    """`session.part.thing`"""
    found = []
    for node in nodes(path, ast.Attribute):
        if not isinstance(node.value, ast.Attribute):
            continue
        part, owner = node.value.attr, node.value.value
        called = owner.attr if isinstance(owner, ast.Attribute) else getattr(owner, "id", "")
        if called in ("session", "_session") and part not in READ:
            found.append(f"{name(path)}:{node.lineno} {called}.{part}.{node.attr}")
    return found


def test_nobody_reaches_into_the_parts_of_a_session():
    assert [found for path in FULL_SCREEN for found in reaches(path)] == []


def test_the_application_is_known_where_it_is_put_together_and_nowhere_else():
    here = ROOT / "app" / "tui"
    found = {
        path.relative_to(here).as_posix()
        for path in FULL_SCREEN
        for node in nodes(path, ast.ImportFrom)
        if node.module == "app.tui.app"
    }
    assert found <= MADE_BY_THE_APPLICATION


def test_pages_are_tested_without_the_application():
    here = ROOT / "tests" / "tui" / "pages"
    found = {
        f"{name(path)}: {node.module}"
        for path in sorted(here.glob("*.py"))
        for node in nodes(path, ast.ImportFrom)
        if node.module in ("app.tui.app", "app.tui.every_page", "tests.tui.stage")
    }
    assert found == set(), "A page is handed what it takes, in a few words."
    tested = {
        node.module
        for path in here.glob("test_*.py")
        for node in nodes(path, ast.ImportFrom)
        if (node.module or "").startswith("app.tui.pages.")
    }
    pages = {
        name(path).removesuffix(".py").replace("/", ".")
        for path in files("app/tui/pages")
        if path.name not in NO_PAGES
    }
    assert pages - tested == set(), "A page without a test of its own."
