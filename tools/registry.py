"""Lists the built-in tools. The session decides which of them are active."""

from tools.base import Tool
from tools.builtin.bash import bash_tool
from tools.builtin.edit import edit_tool, patch_tool
from tools.builtin.evaluate import eval_tool
from tools.builtin.find import find_tool
from tools.builtin.grep import grep_tool
from tools.builtin.locate import locate_tool
from tools.builtin.ls import ls_tool
from tools.builtin.read import read_tool
from tools.builtin.resolve import resolve_tool
from tools.builtin.structure import ast_edit_tool, ast_grep_tool
from tools.builtin.write import write_tool


def builtin_tools() -> tuple[Tool, ...]:
    """Returns all built-in tools. `apply_patch` is inactive, because it replaces `edit` for some models only. The
    search tools are active, because their limits save context compared with bash."""
    return (
        read_tool(),
        bash_tool(),
        edit_tool(),
        patch_tool(),
        write_tool(),
        grep_tool(),
        find_tool(),
        locate_tool(),
        ls_tool(),
        eval_tool(),
        ast_grep_tool(),
        ast_edit_tool(),
        resolve_tool(),
    )
