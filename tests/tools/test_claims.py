"""Which calls wait for others, judged by their arguments."""

from pathlib import Path
from typing import Any

import pytest

from app.agent.call_order import CallResourceClaim, must_call_wait_for, resource_claim_of_call
from tools.argument_schema import validate_tool_arguments
from tools.session_workspace import workspace_of_context
from tools.tool_definition import ToolContext
from tools.tool_registry import builtin_tools

TOOLS = {tool.name: tool for tool in builtin_tools()}

Call = tuple[str, dict[str, Any]]


def claim(call: Call, cwd: Path) -> CallResourceClaim:
    name, arguments = call
    context = ToolContext(call_id="c", cwd=cwd)
    effects = TOOLS[name].effects_of(validate_tool_arguments(TOOLS[name], arguments), context)
    return resource_claim_of_call(effects, workspace_of_context(context).files)


def edit(path: str) -> Call:
    return "edit", {"path": path, "edits": [{"oldText": "a", "newText": "b"}]}


def write(path: str) -> Call:
    return "write", {"path": path, "content": "x"}


def read(path: str) -> Call:
    return "read", {"path": path}


def bash(command: str) -> Call:
    return "bash", {"command": command}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").write_text("a")
    (tmp_path / "link.py").symlink_to("src/a.py")
    (tmp_path / "hard.py").hardlink_to(tmp_path / "src" / "a.py")
    return tmp_path


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        (write("n.py"), edit("n.py")),
        (write("n.py"), write("./src/../n.py")),
        (edit("src/a.py"), read("src/a.py")),
        (edit("src/a.py"), read("@src/a.py")),
        (write("n.py"), read("n.py:3-5")),
        (edit("link.py"), read("src/a.py")),
        (edit("hard.py"), write("src/a.py")),
        (read("src/a.py"), edit("src/a.py")),
        (write("src/new/deep.py"), ("ls", {"path": "src"})),
        (write("src/b.py"), ("grep", {"pattern": "x"})),
        (write("src/b.py"), ("find", {"pattern": "*.py"})),
        (write("n.py"), bash("python other.py")),
        (read("src/a.py"), bash("sed -i s/a/b/ src/a.py")),
        (bash("sed -i s/a/b/ src/a.py"), read("src/a.py")),
        (bash("rm -rf src"), read("src/a.py")),
        (bash("touch src/b"), ("ls", {"path": "src"})),
        (bash("cd src && echo b > a.py"), edit("src/a.py")),
        (bash('echo "x" >"n m.txt"'), bash("cat 'n m.txt'")),
    ],
)
def test_these_keep_the_order_of_the_calls(earlier: Call, later: Call, project: Path) -> None:
    assert must_call_wait_for(claim(later, project), claim(earlier, project))


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        (read("src/a.py"), read("src/a.py")),
        (write("a"), write("b")),
        (write("src2"), read("src")),
        (edit("src/a.py"), ("grep", {"pattern": "x", "path": "n.py"})),
        (bash("sleep 10"), ("grep", {"pattern": "x"})),
        (bash("npm test"), edit("src/a.py")),
        (bash("pytest src/a.py > log"), bash("pytest src/a.py")),
        (bash("sleep 10; ls ."), read("src/a.py")),
        (bash("make"), bash("make test")),
        (write("n.py"), ("read", {"path": "artifact://1"})),
    ],
)
def test_these_run_side_by_side(earlier: Call, later: Call, project: Path) -> None:
    assert not must_call_wait_for(claim(later, project), claim(earlier, project))
