"""Lists the built-in tools. The session decides which of them are active."""

from tools.builtin.ast_grep import make_ast_edit_tool, make_ast_grep_tool
from tools.builtin.bash import make_bash_tool
from tools.builtin.edit import make_apply_patch_tool, make_edit_tool_with_old_texts
from tools.builtin.evaluate import make_eval_tool
from tools.builtin.find import make_find_tool
from tools.builtin.grep import make_grep_tool
from tools.builtin.locate import make_locate_tool
from tools.builtin.ls import make_ls_tool
from tools.builtin.read import make_read_tool
from tools.builtin.resolve import make_resolve_tool
from tools.builtin.write import make_write_tool
from tools.tool_definition import Tool


def builtin_tools() -> tuple[Tool, ...]:
    """Returns all built-in tools. `apply_patch` is inactive, because it replaces `edit` for some models only. The
    search tools are active, because their limits save context compared with bash."""
    return (
        make_read_tool(),
        make_bash_tool(),
        make_edit_tool_with_old_texts(),
        make_apply_patch_tool(),
        make_write_tool(),
        make_grep_tool(),
        make_find_tool(),
        make_locate_tool(),
        make_ls_tool(),
        make_eval_tool(),
        make_ast_grep_tool(),
        make_ast_edit_tool(),
        make_resolve_tool(),
    )
