"""Resolves a call's path argument, in the same way for every tool that reads."""

from collections.abc import Iterable

from tools.base import ToolContext, ToolError
from tools.files.paths import resolve_path
from tools.workspace import Workspace, workspace_of


def exists(workspace: Workspace, path: str) -> bool:
    try:
        workspace.files.stat(path)
    except (OSError, ValueError):
        return False
    return True


def resolve_argument(workspace: Workspace, raw: str | None, context: ToolContext) -> str:
    """Returns the absolute path; without an argument, the working directory."""
    if raw is None or not raw.strip():
        return str(context.cwd)
    if "\0" in raw:
        raise ToolError("The path holds a null byte, which no file name can have.")
    return resolve_path(raw, context.cwd, lambda path: exists(workspace, path))


def withheld_files(workspace: Workspace, files: Iterable[tuple[str, str]]) -> frozenset[str]:
    """Returns the files that searches skip and that the model has not read by an allowed call. `files` has the real
    path of each and its key in the read cache."""
    is_kept_back, seen = workspace.kept_back(), workspace.read_cache.seen
    return frozenset(real for real, key in files if is_kept_back(real) and seen(key) is None)


def resolve_arguments(context: ToolContext, *raws: str | None) -> tuple[str, ...]:
    """Returns the absolute paths of these path arguments, each once."""
    workspace = workspace_of(context)
    return tuple(dict.fromkeys(resolve_argument(workspace, raw, context) for raw in raws))
