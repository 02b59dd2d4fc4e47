"""The first paint of the real program waits for no module that it can do without: what is there when it stands."""

import ast
import json
from collections.abc import Iterator
from pathlib import Path

from tests.architecture.sources import SHIPPED, files, name, tree
from tests.support.terminals import terminal

PROGRAM = """
import os, sys
import app.tui.run
from app.tui.startup import TuiStartOptions

async def complete(self, app):
    with open("loaded.part", "w") as file:
        file.write(" ".join(sys.modules))
    os.rename("loaded.part", "loaded")

TuiStartOptions.complete_start_after_paint = complete
sys.argv = ["bayou", *sys.argv[1:]]
from app.cli.main import main
main()
"""
"""bayou, which tells what is loaded when its page has been painted, and does nothing more."""

IDLE = PROGRAM.replace(
    "async def complete(self, app):\n",
    "whole = TuiStartOptions.complete_start_after_paint\n\n"
    "async def complete(self, app):\n    await whole(self, app)\n",
)
"""The same, when all has been done that is done without being asked."""

OF_MAPS = (
    "sqlite3",
    "tools.filemap.file_mapper",
    "tools.repomap",
    "tree_sitter",
    "tree_sitter_language_pack",
)
"""What the first question to a map brings along."""

BEHIND_IT = (
    "app.agent.agent_loop",
    "app.assembly.extensions.extension_setup",
    "app.assembly.session_tools",
    "app.engine.jobs.jobs_tool",
    "app.engine.planning.planning_tools",
    "app.extensions.api",
    "app.extensions.extension_session_binding",
    "app.extensions.handler_contexts",
    "app.extensions.loading.extension_import",
    "app.extensions.ui_protocol",
    "app.extensions.headless_ui",
    "app.sessions.fork",
    "app.sessions.file.open_session",
    "app.sessions.file.session_reader",
    "httpcore2",
    "tools.box.sandbox_proxy",
    "tools.builtin",
    "tools.edits.dialects.old_text_matching",
    "tools.tool_registry",
    "tools.running.running_command",
    "tools.argument_schema",
    "tools.ast_search",
    "widgets.editor.vi.vi_mode",
    "widgets.transcript.leaves.block_leaves",
    "widgets.transcript.block_item",
    "widgets.transcript.markdown.live_reply",
    "widgets.transcript.markdown.markdown_leaves",
)
"""Modules and packages that are for what comes later."""


def loaded_in(folder: Path, program: str) -> list[str]:
    """The modules of a page that waits for its first prompt."""
    agent = folder / "agent"
    agent.mkdir()
    models = {
        "baseUrl": "http://127.0.0.1:9",
        "api": "openai-completions",
        "apiKey": "k",
        "models": [{"id": "m"}],
    }
    (agent / "models.json").write_text(json.dumps({"providers": {"local": models}}))
    env = {
        "BAYOU_AGENT_DIR": str(agent),
        "TERM": "xterm-256color",
        "PYTHONPATH": str(Path(__file__).parents[2]),
    }
    words = ("--no-session", "--model", "local/m")  # the offline model has words on its page
    with terminal(folder, *words, program=program, env=env) as shown:
        shown.until((folder / "loaded").exists)
    return (folder / "loaded").read_text().split()


def those_of(loaded: list[str], packages: tuple[str, ...]) -> list[str]:
    return [name for name in loaded if any(name == one or name.startswith(f"{one}.") for one in packages)]


def test_what_is_not_needed_for_the_first_paint_is_loaded_behind_it(tmp_path: Path) -> None:
    loaded = loaded_in(tmp_path, PROGRAM)
    assert "app.tui.app" in loaded
    early = those_of(loaded, BEHIND_IT + OF_MAPS)
    assert early == [], "Import it where it is used, with the reason; or say here why a page waits for it."
    sources = {name(path).removesuffix(".py").replace("/", "."): path for path in files(*SHIPPED)}
    compiled = [
        line for module in loaded if module in sources for line in compiled_at_import(sources[module])
    ]
    assert compiled == [], "A page is not there sooner for it: `tools.lazy_patterns.late`."


def test_a_session_that_asks_no_map_loads_nothing_of_one(tmp_path: Path) -> None:
    loaded = loaded_in(tmp_path, IDLE)
    assert "app.assembly.extensions.extension_setup" in loaded, "it has gone behind the first paint"
    assert those_of(loaded, OF_MAPS) == []


def compiled_at_import(path: Path) -> Iterator[str]:
    for statement in tree(path).body:
        if isinstance(statement, ast.Assign | ast.AnnAssign):
            for node in ast.walk(statement):
                if isinstance(node, ast.Call) and ast.unparse(node.func) == "re.compile":
                    yield f"{name(path)}:{node.lineno}"
