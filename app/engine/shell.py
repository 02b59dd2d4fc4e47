"""Commands that the person runs (`!cmd`, `!!cmd`): one at a time, with the model's own executor."""

import asyncio
from collections.abc import Awaitable, Callable

import msgspec

from app.values.events import BashExecutionUpdate, Event, MessageEnd
from app.values.messages import BashExecutionMessage, Message
from tools.running.usershell import UserCommandResult, run_user_command
from tools.workspace import Workspace


class ShellBusy(Exception):
    """Another command is still running."""


class CommandBlocked(ShellBusy):
    """An extension does not want it."""


class ShellOpinion(msgspec.Struct, frozen=True, kw_only=True):
    """What extensions say to a command before it runs."""

    command: str | None = None
    """Runs instead."""
    result: UserCommandResult | None = None
    """Nothing runs; this is what came of it."""
    refusal: str | None = None


async def _no_opinion(command: str, exclude: bool) -> ShellOpinion:
    return ShellOpinion()


class UserShell:
    """Runs a command and records what came of it: at once, or behind the turn that is under way."""

    def __init__(
        self,
        workspace: Workspace,
        publish: Callable[[Event], Awaitable[None]],
        *,
        record: Callable[[BashExecutionMessage], Message],
        is_agent_running: Callable[[], bool],
    ) -> None:
        self.consult = _no_opinion
        self._workspace = workspace
        self._publish = publish
        self._record = record
        self._is_agent_running = is_agent_running
        self._held_back: list[BashExecutionMessage] = []
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
        message = await self._task
        self._held_back.append(message)
        if not self._is_agent_running():
            await self.record_held_back()
        return message

    def abort(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def record_held_back(self) -> None:
        """Commands that ran beside the agent are recorded behind the turn."""
        held, self._held_back = self._held_back, []
        for message in held:
            stored = self._record(message)
            await self._publish(MessageEnd(message=stored))

    async def _execute(self, command: str, exclude: bool, update_id: str | None) -> BashExecutionMessage:
        async def on_output(text: str) -> None:
            await self._publish(BashExecutionUpdate(id=update_id, delta=text))

        opinion = await self.consult(command, exclude)
        if opinion.refusal is not None:
            raise CommandBlocked(opinion.refusal)
        command = opinion.command or command
        result = opinion.result or await run_user_command(command, self._workspace, on_output)
        return BashExecutionMessage(
            command=command,
            output=result.output,
            exit_code=result.exit_code,
            cancelled=result.cancelled,
            truncated=result.truncated,
            full_output_path=result.full_output_path,
            exclude_from_context=exclude or None,
        )
