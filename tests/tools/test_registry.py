"""The table of tools, its page, and the token cost of declarations."""

import json
import subprocess
import sys
from pathlib import Path

from tools.builtin.edit import make_edit_tool_for_mode
from tools.tool_definition import Tool
from tools.tool_registry import builtin_tools
from tools.tools_doc_page import format_tools_doc_page

ROOT = Path(__file__).parents[2]


def test_the_page_has_the_tools_as_they_are() -> None:
    page = (ROOT / "docs/tools.md").read_text(encoding="utf-8")
    assert page.endswith(format_tools_doc_page(builtin_tools())), (
        "run python -m tools.tools_doc_page and put its output into docs/tools.md"
    )


def test_each_tool_is_defined_once_and_in_full() -> None:
    tools = builtin_tools()
    active = ["read", "bash", "edit", "write", "grep", "find", "locate", "ls", "eval", "resolve"]
    assert [tool.name for tool in tools if tool.is_active] == active
    assert [tool.name for tool in tools if not tool.is_active] == ["apply_patch", "ast_grep", "ast_edit"]
    for tool in tools:
        assert tool.description and tool.snippet and tool.arguments
        assert tool.kind != "other"
    assert {tool.name for tool in tools if tool.is_read_only} == {
        "read",
        "grep",
        "find",
        "locate",
        "ls",
        "ast_grep",
        "ast_edit",
    }


def test_having_the_tools_loads_nothing_heavy() -> None:
    code = (
        "import sys, tools.tool_registry; tools.tool_registry.builtin_tools();"
        "print(*sorted({name.split('.')[0] for name in sys.modules} & "
        "{'textual', 'rich', 'httpcore2', 'tree_sitter', 'PIL', 'pygments', 'app', 'widgets', 'openai'}))"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert loaded.stdout.strip() == ""


def test_declarations_stay_within_their_budget() -> None:
    """Of 4.2 characters a token; each form of edit separately, and all declared tools together."""

    def tokens(tool: Tool) -> float:
        told = {"name": tool.name, "description": tool.description, "parameters": tool.schema}
        return len(json.dumps(told)) / 4.2

    assert tokens(make_edit_tool_for_mode("replace")) <= 240
    assert tokens(make_edit_tool_for_mode("anchored")) <= 320
    assert tokens(make_edit_tool_for_mode("patch")) <= 320
    others = sum(tokens(tool) for tool in builtin_tools() if tool.is_active and tool.name != "edit")
    assert others + 320 <= 2_100
