"""Names and the small marks of the house."""

import ast
import re

import pytest

from tests.architecture.sources import ROOT, SHIPPED, classes, files, name, tree

VAGUE_CLASS = re.compile(r"(Manager|Handler|Helper|Utils?|Util)$")
VAGUE_MODULE = re.compile(r"^(utils?|helpers?|managers?|handlers?)$")
UNFINISHED = re.compile(r"#\s*(TO" + "DO|FIX" + "ME|X" + r"XX)\b")
BLANKET_TYPE = re.compile(r"#\s*(type|pyright):\s*ignore(?!\[)")
BARE_NOQA = re.compile(r"#\s*noqa(?!:)")
REASONED_NOQA = re.compile(r"#\s*noqa:[^\n]*\b(BLE001|PLC0415)\b(?P<rest>[^\n]*)")
TOP_LEVEL = {
    *("pyproject.toml", "app", "widgets", "styles", "tools", "tests", "snapshots", "README.md"),
    *("bench", "docs", "requirements.lock", "CHANGELOG.md", "LICENSE", "AGENTS.md"),
}
MADE_BY_TOOLS = {"build", "dist"}


def test_the_top_level_is_what_it_was_agreed_to_be():
    found = {path.name for path in ROOT.iterdir() if not path.name.startswith(".")} - MADE_BY_TOOLS
    assert found <= TOP_LEVEL, f"Not agreed upon: {sorted(found - TOP_LEVEL)}"
    assert (ROOT / ".ci" / "run").is_file()


def test_no_class_has_a_name_that_says_nothing():
    vague = [
        f"{name(path)}: {found.name}"
        for path in files(*SHIPPED)
        for found in classes(path)
        if VAGUE_CLASS.search(found.name)
    ]
    assert vague == []


def test_no_module_has_a_name_that_says_nothing():
    assert [name(path) for path in files(*SHIPPED) if VAGUE_MODULE.match(path.stem)] == []


def test_packages_are_only_folders():
    """An `__init__.py` with code would be run by every import below it. One has names for other programs."""
    assert [name(path) for path in files(*SHIPPED) if path.name == "__init__.py" and path.stat().st_size] == [
        "app/package/bayou/__init__.py"
    ]


def test_every_folder_with_modules_is_a_package():
    folders = {path.parent for path in files(*SHIPPED)}
    assert [name(folder) for folder in sorted(folders) if not (folder / "__init__.py").is_file()] == []


def test_every_module_says_what_lives_in_it():
    silent = [
        name(path)
        for path in files(*SHIPPED)
        if path.name != "__init__.py" and ast.get_docstring(tree(path)) is None
    ]
    assert silent == []


@pytest.mark.parametrize(
    ("pattern", "what"),
    [
        (UNFINISHED, "unfinished work belongs into an issue"),
        (BLANKET_TYPE, "an ignored type error names its rule"),
        (BARE_NOQA, "an ignored finding names its rule"),
    ],
    ids=["unfinished", "type ignore", "noqa"],
)
def test_no_blanket_marks(pattern: re.Pattern[str], what: str):
    here = ROOT / "tests" / "architecture"
    found = [
        f"{name(path)}:{number}"
        for path in files(*SHIPPED, "tests", "bench")
        if path.parent != here
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if pattern.search(line)
    ]
    assert found == [], what


def test_broad_excepts_have_a_reason():
    found = [
        f"{name(path)}:{number}"
        for path in files(*SHIPPED)
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if (match := REASONED_NOQA.search(line))
        and match[1] == "BLE001"
        and not re.search(r"\w", match["rest"])
    ]
    assert found == [], "Say why everything may be caught here."
