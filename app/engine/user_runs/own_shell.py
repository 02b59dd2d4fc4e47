"""What commands have of the person's own shell: its snapshot, looked at and taken anew."""

from app.values.unable import Unable
from tools.base import ToolError
from tools.running.user_shell.shell_snapshot import ShellSnapshot, own_snapshot
from tools.workspace import Workspace


class SessionShell:
    """The snapshot of the person's shell that a session's commands begin with."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    @property
    def is_wanted(self) -> bool:
        """Commands are to have it: by the settings, and where they run on this machine."""
        return self._workspace.shell().own is not None and self._workspace.has_local_processes

    def view(self) -> ShellSnapshot | None:
        """What was taken; None: nothing was needed yet, or nothing is wanted."""
        own = self._workspace.shell().own
        return own.known if own is not None else None

    async def take(self) -> ShellSnapshot:
        """Anew, from the start-up files as they are now. Raises `Unable`."""
        try:
            found = await own_snapshot(self._workspace, self._workspace.shell(), is_anew=True)
        except ToolError as problem:
            raise Unable(str(problem)) from None
        if found is None:
            raise Unable("Commands have nothing of your shell here: bash.ownShell in /settings is off.")
        return found
