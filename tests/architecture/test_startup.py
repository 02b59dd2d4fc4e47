"""What starting costs is what it imports. A fresh interpreter per entry module tells what came along."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.sources import ROOT, SHIPPED, files, late_imports, name, tree

HEAVY = (
    "textual",
    "rich",
    "httpcore2",
    "anthropic",
    "openai",
    "tree_sitter",
    "pydantic",
    "pygments",
    "yaml",
    "PIL",
    "mcp",
    "mcp_types",
    "httpx2",
    "anyio",
    "acp",
)
NETWORK = ("httpcore2", "anthropic", "openai", "pydantic", "mcp", "mcp_types", "httpx2")
PARSERS = ("tree_sitter", "tree_sitter_language_pack")

ENTRIES: dict[str, tuple[str, ...]] = {
    "app.version": (*HEAVY, "msgspec", "asyncio", "json"),
    "bayou": (*HEAVY, "msgspec", "asyncio", "json", "app", "importlib.util"),
    "bayou.client": ("app", "tools", "widgets", *HEAVY),
    "bayou.__main__": (*HEAVY, "msgspec", "asyncio", "json"),
    "app.cli.main": (*HEAVY, "msgspec", "asyncio", "json"),
    "app.cli.flags": (*HEAVY, "asyncio"),
    "app.assembly.command_line_options": (*HEAVY, "asyncio"),
    "app.values.codec": (*HEAVY, "asyncio"),
    "app.values.events": (*HEAVY, "asyncio"),
    "app.providers.adapter_registry": HEAVY,
    "app.providers.offline.guide": HEAVY,
    "app.agent.agent_loop": HEAVY,
    "app.sessions.session_log": HEAVY,
    "app.resources.settings.settings": HEAVY,
    "app.engine.session": HEAVY,
    "app.modes.print_mode": HEAVY,
    "app.cli.commands.acp_command": (*HEAVY, "app.engine.session"),
    "app.cli.headless": (*HEAVY, "app.providers.offline.answers", "app.modes.rpc.serve"),
    "tools.tool_result_values": (*HEAVY, "asyncio"),
    "tools.tool_registry": HEAVY,
    "widgets.transcript.view": (*NETWORK, *PARSERS, "markdown_it", "pygments.lexers.python"),
    "app.tui.run": (*NETWORK, *PARSERS, "markdown_it", "pygments.lexers.python"),
}
"""Module, and what importing it may not bring along."""

NOT_PRINTED = (
    "app.engine.commands.response_data",
    "app.extensions.command_listing",
    "app.resources.launch_frame",
    "app.tui.run",
    "textual",
    "tools.running.pty.pty_run",
    "widgets.terminal.early_terminal",
)
"""What an answer that is printed can do without."""

DEFERRED = {
    "anthropic": "the first request of a model whose transport is its SDK",
    "openai": "the first request of a model whose transport is its SDK",
    "mcp": "the first contact with a server",
    "mcp_types": "the first contact with a server",
    "anyio": "the first request",
    "certifi": "the first encrypted connection",
    "jwt": "the first request by a Google service account",
    "jiter": "the first tool call that streams in",
    "jsonschema": "an answer that has to fit a schema",
    "referencing": "an answer that has to fit a schema",
    "yaml": "the first file with front matter",
    "regex": "the first rule with a condition",
    "markdown_it": "the first answer that is drawn",
    "pygments": "the first code block that is drawn",
    "filelock": "the first change of a file that bayou shares with others",
    "tree_sitter_language_pack": "the first outline",
    "PIL": "optional: resizing an image",
    "termaid": "optional: drawing a diagram",
}
"""Libraries that may be imported inside a function, and when that is. Modules of our own and of the standard
library may be put off too, with the reason beside the import."""


REASON = re.compile(r"PLC0415\W+\w")
"""Words after the mark."""
COMMENT = re.compile(r"\s*(# \w|\"\"\")")


def loaded_after(program: str, cwd: Path) -> set[str]:
    """The modules of a fresh interpreter after `program`, which may write what it likes."""
    paths = [str(ROOT), str(ROOT / "app" / "package")]
    script = f"{program}\nimport sys; sys.stderr.write('\\nLOADED ' + ' '.join(sys.modules))"
    run = subprocess.run(
        [sys.executable, "-P", "-c", f"import sys; sys.path[:0] = {paths!r}\n{script}"],
        capture_output=True,
        text=True,
        cwd=cwd,
        check=True,
    )
    return set(run.stderr.rsplit("LOADED ", 1)[1].split())


@pytest.mark.parametrize("module", ENTRIES)
def test_importing_a_module_brings_no_more_than_it_needs(module: str, tmp_path: Path):
    assert sorted(loaded_after(f"import {module}", tmp_path) & set(ENTRIES[module])) == []


@pytest.mark.parametrize("words", [["--version"], ["--help"], ["--fork"], ["--mode", "x"]], ids=" ".join)
def test_answers_without_a_session_load_no_session(words: list[str], tmp_path: Path):
    loaded = loaded_after(f"from app.cli.main import main; main({words!r})", tmp_path)
    assert sorted(loaded & {*HEAVY, *PARSERS, "app.engine.session", "app.tui.run", "asyncio"}) == []


def test_a_flag_that_only_an_extension_could_know_costs_no_face(tmp_path: Path):
    loaded = loaded_after("from app.cli.main import main; main(['--no-such-flag', '-p', ''])", tmp_path)
    assert sorted(loaded & {*HEAVY, *PARSERS, "app.tui.run"}) == []


def test_a_printed_answer_loads_nothing_of_screens_terminals_and_listings(tmp_path: Path):
    loaded = loaded_after(
        f"import os; os.environ['BAYOU_AGENT_DIR'] = {str(tmp_path / 'agent')!r}\n"
        "from app.cli.main import main; main(['--no-session', '--offline', '-p', 'list'])",
        tmp_path,
    )
    assert "app.modes.print_mode" in loaded, "it has answered"
    assert sorted(loaded & set(NOT_PRINTED)) == []


def test_the_version_needs_nothing_but_itself(tmp_path: Path):
    loaded = loaded_after("from app.cli.main import main; main(['--version'])", tmp_path)
    assert sorted(found for found in loaded if found.startswith(("app.", "tools.", "widgets."))) == [
        "app.cli",
        "app.cli.main",
        "app.exit_codes",
        "app.printing",
        "app.version",
    ]


def is_library(module: str) -> bool:
    top = module.partition(".")[0]
    return top not in (*SHIPPED, "bayou") and top not in sys.stdlib_module_names


def test_libraries_that_are_imported_late_are_declared():
    undeclared = [
        f"{name(path)}:{line} imports {module}"
        for path in files(*SHIPPED)
        for line, module in late_imports(path)
        if is_library(module) and module.partition(".")[0] not in DEFERRED
    ]
    assert undeclared == [], "Import at the top, or declare in DEFERRED when and why it is put off."


def test_every_declared_library_is_imported_late():
    used = {module.partition(".")[0] for path in files(*SHIPPED) for _, module in late_imports(path)}
    assert set(DEFERRED) - used == set()


def test_late_imports_have_their_reason_beside_them():
    """In the line, in a comment near it, or in the module's docstring; several imports may share one."""
    bare = []
    for path in files(*SHIPPED):
        lines = path.read_text(encoding="utf-8").splitlines()
        if "import" in (ast.get_docstring(tree(path)) or ""):
            continue  # it says so for all of them
        for line, module in late_imports(path):
            near = lines[max(0, line - 12) : line + 2]
            if not any(REASON.search(text) or COMMENT.match(text) for text in near):
                bare.append(f"{name(path)}:{line} imports {module}")
    assert bare == []
