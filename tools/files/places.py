"""Finding what a call's path argument means, the same way for every tool that looks."""

from tools.base import ToolContext, ToolError
from tools.files.paths import resolve
from tools.touches import Key, keys
from tools.workspace import Workspace, workspace_of


def exists(workspace: Workspace, path: str) -> bool:
    try:
        workspace.files.stat(path)
    except (OSError, ValueError):
        return False
    return True


def locate(workspace: Workspace, raw: str | None, context: ToolContext) -> str:
    """The absolute path; without one, where the session works."""
    if raw is None or not raw.strip():
        return str(context.cwd)
    if "\0" in raw:
        raise ToolError("The path holds a null byte, which no file name can have.")
    return resolve(raw, context.cwd, lambda path: exists(workspace, path))


def touched(context: ToolContext, *raws: str | None) -> frozenset[Key]:
    """What a call with these path arguments touches."""
    workspace = workspace_of(context)
    return keys(workspace.files, [locate(workspace, raw, context) for raw in raws])
