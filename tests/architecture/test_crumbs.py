"""A short module that only one other imports is part of that one, unless it is a boundary."""

import ast
from collections import defaultdict

import pytest

from tests.architecture.sources import SHIPPED, files, name, nodes

LINES = 60
BOUNDARIES = {
    "/feature.py": "declares a feature of the full screen",
    "_parts.py": "builds the parts of a subject",
    "_commands.py": "has the commands of a subject",
    "app/cli/": "loaded late, so that a command line imports only what it needs",
    "app/engine/jobs/job_notices.py": "brings together the core and the jobs, which do not know it",
    "app/engine/session_notes.py": "a subject of a session",
    "app/engine/tree/compaction.py": "a subject of a session",
    "app/assembly/own_tools.py": "loads the tools behind the first paint",
    "app/permits/": "pure: the engine asks, and no command is judged there",
    "app/providers/signin/": "loaded late, with the network",
    "app/providers/offline/tour.py": "the recorded tour as data",
    "app/sessions/export/": "a writer of one format",
    "tools/filemap/scanners/": "a scanner of one format",
    "tools/kernel/notebook.py": "writes one format",
    "tools/repomap/": "loads SQLite and parsers late",
    "tools/structure/child.py": "the entry point of a process",
    "widgets/graphics/": "an adapter to one protocol of terminals",
}
"""Ends or beginnings of paths, with what makes each a boundary."""
NOT_MERGED = {
    "app/engine/models/request_head.py",
    "app/resources/memory.py",
    "app/tui/extensions/shortcuts.py",
    "app/tui/features/keys/screens.py",
    "app/tui/features/permissions/secrets.py",
    "app/tui/garbage.py",
    "app/tui/keys/run_action.py",
    "app/tui/launch_frame.py",
    "app/tui/links.py",
    "app/tui/prompt/notes.py",
    "app/tui/row_order.py",
    "app/tui/screens.py",
    "app/tui/status/cache_misses.py",
    "app/tui/status/git_state.py",
    "app/tui/terminal/clipboard.py",
    "app/tui/terminal/images.py",
    "app/tui/terminal/programs.py",
    "app/tui/terminal/shown_program.py",
    "app/tui/terminal/suspending.py",
    "app/tui/transcript/running_cells.py",
    "app/tui/transcript/staged_cards.py",
    "app/tui/transcript/streamed_calls.py",
    "tools/edits/shown_rows.py",
    "tools/running/card.py",
    "widgets/completion/kernel_names.py",
    "widgets/terminal/appearance.py",
    "widgets/transcript/markdown/printed_markdown.py",
}
"""Those that are part of their importer, and still have modules of their own: the list only shrinks."""


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


def is_boundary(path: str) -> bool:
    return any(path.startswith(mark) or path.endswith(mark) for mark in BOUNDARIES)


def test_a_short_module_with_one_importer_is_part_of_it(found: set[str]) -> None:
    new = {path for path in found if not is_boundary(path)} - NOT_MERGED
    assert new == set(), "Merge each into the module that imports it, or say what makes it a boundary."


def test_the_list_of_those_to_merge_only_shrinks(found: set[str]) -> None:
    assert NOT_MERGED - found == set(), "Take them off the list."
