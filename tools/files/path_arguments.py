"""Resolves the path arguments of tool calls, in the same way for every tool that reads."""

from collections.abc import Iterable

from tools.base import ToolContext, ToolError
from tools.files.paths import resolve_path
from tools.workspace import Workspace, workspace_of_context


def path_exists(workspace: Workspace, path: str) -> bool:
    try:
        workspace.files.stat(path)
    except (OSError, ValueError):
        return False
    return True


def resolve_path_argument(workspace: Workspace, raw: str | None, context: ToolContext) -> str:
    """Returns the absolute path of a call's path argument; without an argument, the working directory."""
    if raw is None or not raw.strip():
        return str(context.cwd)
    if "\0" in raw:
        raise ToolError("The path contains a null byte, which no file name can have. Remove it.")
    return resolve_path(raw, context.cwd, lambda path: path_exists(workspace, path))


def withheld_files(workspace: Workspace, files: Iterable[tuple[str, str]]) -> frozenset[str]:
    """Returns those of the files that searches must skip because reading them needs permission, except those that
    the model already read by an allowed call. `files` has the real path of each file and its key in the read cache.
    """
    is_kept_back, seen = workspace.hidden_path_test(), workspace.read_cache.note_seen
    return frozenset(real for real, key in files if is_kept_back(real) and seen(key) is None)


def resolve_path_arguments(context: ToolContext, *raws: str | None) -> tuple[str, ...]:
    """Returns the absolute paths of several path arguments of a call, each once."""
    workspace = workspace_of_context(context)
    return tuple(dict.fromkeys(resolve_path_argument(workspace, raw, context) for raw in raws))
