"""Resolves the path arguments of tool calls, in the same way for every tool that reads."""

from collections.abc import Iterable

from tools.files.paths import resolve_path
from tools.session_workspace import SessionWorkspace, workspace_of_context
from tools.tool_definition import ToolContext, ToolError


def workspace_path_exists(workspace: SessionWorkspace, path: str) -> bool:
    try:
        workspace.files.stat(path)
    except (OSError, ValueError):
        return False
    return True


def resolve_path_argument(workspace: SessionWorkspace, raw: str | None, context: ToolContext) -> str:
    """Returns the absolute path of a call's path argument; without an argument, the working directory."""
    if raw is None or not raw.strip():
        return str(context.cwd)
    if "\0" in raw:
        raise ToolError("The path contains a null byte, which no file name can have. Remove it.")
    return resolve_path(raw, context.cwd, lambda path: workspace_path_exists(workspace, path))


def find_withheld_files(workspace: SessionWorkspace, files: Iterable[tuple[str, str]]) -> frozenset[str]:
    """Returns those of the files that searches must skip because reading them needs permission, except those that
    the model already read by an allowed call. `files` has the real path of each file and its key in the read cache.
    """
    is_kept_back, seen = workspace.hidden_path_test(), workspace.read_cache.mark_as_recently_seen
    return frozenset(real for real, key in files if is_kept_back(real) and seen(key) is None)


def resolve_path_arguments(context: ToolContext, *raws: str | None) -> tuple[str, ...]:
    """Returns the absolute paths of several path arguments of a call, each once."""
    workspace = workspace_of_context(context)
    return tuple(dict.fromkeys(resolve_path_argument(workspace, raw, context) for raw in raws))
