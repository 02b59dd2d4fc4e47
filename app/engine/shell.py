"""Commands that the person runs (`!cmd`, `!!cmd`): one at a time, with the model's own executor."""

import asyncio
from collections.abc import Callable

from app.values.events import BashExecutionUpdate, Event
from app.values.messages import BashExecutionMessage
from tools.usershell import run_user_command
from tools.workspace import Workspace


class ShellBusy(Exception):
    """Another command is still running."""


class UserShell:
    """Runs a command and says what to record."""

    def __init__(self, workspace: Workspace, publish_now: Callable[[Event], None]) -> None:
        self._workspace = workspace
        self._publish = publish_now
        self._task: asyncio.Task[BashExecutionMessage] | None = None

    @property
    def is_running(self) -> bool:
        return self._task is not None and not self._task.done()

    async def run(
        self, command: str, *, exclude: bool = False, update_id: str | None = None
    ) -> BashExecutionMessage:
        if self.is_running:
            raise ShellBusy("A command is already running. Wait for it, or stop it with Escape.")
        self._task = asyncio.create_task(self._execute(command, exclude, update_id))
        return await self._task

    def abort(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def _execute(self, command: str, exclude: bool, update_id: str | None) -> BashExecutionMessage:
        def on_output(text: str) -> None:
            self._publish(BashExecutionUpdate(id=update_id, delta=text))

        result = await run_user_command(command, self._workspace, on_output)
        return BashExecutionMessage(
            command=command,
            output=result.output,
            exit_code=result.exit_code,
            cancelled=result.cancelled,
            truncated=result.truncated,
            full_output_path=result.full_output_path,
            exclude_from_context=exclude or None,
        )
