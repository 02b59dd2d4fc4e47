"""A short module that only one other imports is part of that one, unless it is a boundary."""

import ast
from collections import defaultdict

import pytest

from tests.architecture.sources import SHIPPED, files, name, nodes

LINES = 60
CONVENTIONS = {
    "/feature.py": "declares a feature of the full screen",
    "_parts.py": "builds the parts of a subject",
    "_commands.py": "has the commands of a subject, beside it",
}
"""Ends of paths, with what makes each a boundary; `docs/architecture.md` describes them."""
BOUNDARIES = {
    "app/cli/commands/man_command.py": "a subcommand, loaded when it is the one that was typed",
    "app/cli/process_exit.py": "imports only the standard library, for an end without the session",
    "app/cli/process_protection.py": "runs before anything else is imported, to protect the process's memory",
    "app/modes/acp/protocol_log.py": "loaded late, with what knows secrets",
    "app/modes/acp/serve.py": "the face as the command line loads it",
    "app/engine/session_notes.py": "a subject of a session",
    "app/engine/tree/compaction_actions.py": "a subject of a session",
    "app/providers/offline/tour.py": "the recorded tour as data",
    "app/providers/signin/refresh.py": "loaded late, with the network",
    "app/sessions/export/jsonl.py": "a writer of one format, beside those of HTML and Markdown",
    "app/tui/features/permissions/secrets.py": "a page, made at its first use",
    "app/tui/terminal/shown_terminal_program.py": "loads the terminal emulator, with the first program",
    "tools/edits/anchored_pages.py": "knows snapshots and anchors, which pages of a `read` know nothing of",
    "tools/filemap/scanners/gherkin.py": "a scanner of one format",
    "tools/kernel/notebook_cells.py": "writes one format, and knows no session",
    "tools/repomap/likely_places.py": "loads SQLite and parsers late",
    "tools/repomap/folder_results.py": "loads SQLite and parsers late",
    "widgets/graphics/tmux.py": "an adapter to one protocol of terminals",
}
"""Each with what makes it a boundary."""


def crumbs() -> set[str]:
    paths = {name(path).removesuffix(".py").replace("/", "."): path for path in files(*SHIPPED)}
    importers: defaultdict[str, set[str]] = defaultdict(set)
    for module, path in paths.items():
        named = {alias.name for node in nodes(path, ast.Import) for alias in node.names}
        for node in nodes(path, ast.ImportFrom):
            named |= {node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)}
        for one in named & paths.keys() - {module}:
            importers[one].add(module)
    return {
        name(paths[module])
        for module, known in importers.items()
        if len(known) == 1
        and paths[module].name != "__init__.py"
        and len(paths[module].read_text(encoding="utf-8").splitlines()) < LINES
    }


@pytest.fixture(scope="module")
def found() -> set[str]:
    return crumbs()


def test_a_short_module_with_one_importer_is_part_of_it(found: set[str]) -> None:
    new = {path for path in found if not path.endswith(tuple(CONVENTIONS))} - BOUNDARIES.keys()
    assert new == set(), "Merge each into the module that imports it, or say what makes it a boundary."


def test_each_boundary_is_still_short_and_has_one_importer(found: set[str]) -> None:
    assert BOUNDARIES.keys() - found == set(), "Take them off the list."
