"""Faces drive a session by the public methods of it and its subjects; pages know nothing of the application."""

import ast
from pathlib import Path

from tests.architecture.sources import ROOT, files, name, nodes

FULL_SCREEN = files("app/tui")
MADE_BY_THE_APPLICATION = {"app.py", "run.py", "feature_services.py", "startup.py"}
"""The module that builds it; no other may import it."""

NO_PAGES = {
    "approvals.py",
    "shared_dialogs.py",
    "questions.py",
    "todo_list.py",
    "side_panel_updater.py",
    "screens.py",
    "overlay.py",
}
"""What stands in features and is tested with the screen: the bar of questions, lists that are always there, keys."""
SCREEN_ITSELF = "app/tui/features/screen/"
"""Nothing of it is without the screen."""
PARTS_OF_PAGES = {
    "context_groups.py",
    "side_panel_sections.py",
    "desk.py",
    "__init__.py",
    "feature.py",
    "screen.py",
    "trust_screen.py",
    "form_screen.py",
    "rows.py",
    "hunk_blocks.py",
    "comparison.py",
    "review_page_content.py",
    "entries.py",
}
"""Screens are tested with the other widgets, rows with their page."""


SESSION_METHODS = 32
"""Of the conversation as a whole. What is about one subject is a method of that subject."""


def private_reaches(path: Path) -> list[str]:
    """`session._made`, `session.jobs._told`"""
    return [
        f"{name(path)}:{node.lineno} {ast.unparse(node)}"
        for node in nodes(path, ast.Attribute)
        if node.attr.startswith("_") and not node.attr.startswith("__") and _begins_with_session(node.value)
    ]


def _begins_with_session(value: ast.expr) -> bool:
    while isinstance(value, ast.Attribute):
        if value.attr in ("session", "_session"):
            return True
        value = value.value
    return isinstance(value, ast.Name) and value.id in ("session", "_session")


def test_nothing_outside_the_engine_reaches_private_parts_of_a_session():
    outside = [path for path in files("app") if not name(path).startswith("app/engine/")]
    assert [found for path in outside for found in private_reaches(path)] == []


def test_a_session_itself_has_few_methods():
    tree = ast.parse((ROOT / "app/engine/session.py").read_text(encoding="utf-8"))
    methods = [
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("_")
    ]
    assert len(methods) <= SESSION_METHODS, "Make it a method of its subject."


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
        if node.module in ("app.tui.app", "app.tui.feature_register", "tests.tui.scripted_app")
    }
    assert found == set(), "A page is handed what it takes, in a few words."
    tested = {
        node.module
        for path in here.glob("test_*.py")
        for node in nodes(path, ast.ImportFrom)
        if (node.module or "").startswith("app.tui.features.")
    }
    pages = {
        name(path).removesuffix(".py").replace("/", ".")
        for path in files("app/tui/features")
        if path.name not in NO_PAGES | PARTS_OF_PAGES and not name(path).startswith(SCREEN_ITSELF)
    }
    assert pages - tested == set(), "A page without a separate test."
