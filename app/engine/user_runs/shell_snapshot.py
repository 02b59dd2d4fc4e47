"""The snapshot of the user's shell (aliases, functions) that commands start with."""

from app.values.user_errors import UserError
from tools.running.user_shell.shell_snapshot import UserShellSnapshot, get_user_shell_snapshot
from tools.session_workspace import SessionWorkspace
from tools.tool_definition import ToolError


class ShellSnapshotSource:
    """Takes and provides the shell snapshot for a session's commands."""

    def __init__(self, workspace: SessionWorkspace) -> None:
        self._workspace = workspace

    @property
    def is_wanted(self) -> bool:
        """Whether commands start with a shell snapshot: the setting is on, and they run on this machine."""
        return self._workspace.shell_settings().user_shell is not None and self._workspace.has_local_processes

    def current_snapshot(self) -> UserShellSnapshot | None:
        """Returns the shell snapshot; None if it was not needed yet, or is off."""
        own = self._workspace.shell_settings().user_shell
        return own.last_snapshot if own is not None else None

    async def take_snapshot(self) -> UserShellSnapshot:
        """Takes a new shell snapshot from the current start-up files. Raises `UserError`."""
        try:
            found = await get_user_shell_snapshot(
                self._workspace, self._workspace.shell_settings(), is_anew=True
            )
        except ToolError as problem:
            raise UserError(str(problem)) from None
        if found is None:
            raise UserError(
                "Commands do not use your shell's aliases and functions: bash.ownShell in /settings is off."
            )
        return found
