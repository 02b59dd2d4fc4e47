"""Commands that the user runs (`!cmd`, `!!cmd`): one at a time, with the executor of the model's commands."""

import asyncio
from collections.abc import Callable
from functools import partial

import msgspec

from app.engine.core.conversation import Conversation
from app.engine.core.event_bus import EventBus
from app.engine.core.hooks import Hooks
from app.engine.core.prompt_intake import SessionRequestRefused
from app.engine.secrets.session_mask import SessionSecretMask
from app.engine.user_runs.exclusive_task import ExclusiveTask
from app.values.events import BashExecutionUpdate, MessageEnd
from app.values.messages import BashExecutionMessage, CustomMessage
from tools.running.user_shell.user_commands import run_user_command
from tools.session_workspace import SessionWorkspace


class CommandBlocked(SessionRequestRefused):
    """Raised if an extension blocked a shell command or Python cell of the user."""


class UserShell(msgspec.Struct, eq=False):
    """Runs the user's shell commands and records their results."""

    workspace: SessionWorkspace
    conversation: Conversation
    hooks: Hooks
    masking: SessionSecretMask
    event_bus: EventBus
    is_turn_running: Callable[[], bool]
    """A function that returns whether a turn is running; the user's commands are recorded after it."""
    _held_messages: list[BashExecutionMessage | CustomMessage] = msgspec.field(
        default_factory=list[BashExecutionMessage | CustomMessage]
    )
    running_task: ExclusiveTask[BashExecutionMessage] = msgspec.field(
        default_factory=partial(ExclusiveTask[BashExecutionMessage], "A command is already running.")
    )

    async def run_command(
        self, command: str, *, exclude: bool = False, update_id: str | None = None
    ) -> BashExecutionMessage:
        """Runs a shell command of the user; the model reads it with the next request unless `exclude`."""
        message = await self.running_task.run(lambda: self._run_command(command, exclude, update_id))
        if message is None:  # the command was stopped before it started
            message = BashExecutionMessage(
                command=command,
                output="",
                cancelled=True,
                truncated=False,
                exclude_from_context=exclude or None,
            )
        self._held_messages.append(message)
        await self.record_after_turn()
        return message

    def abort(self) -> None:
        self.running_task.abort()

    def hold_message(self, message: CustomMessage) -> None:
        """Holds the message about a finished command, to be recorded after the turn."""
        self._held_messages.append(message)

    async def record_after_turn(self) -> None:
        """Records the results of finished commands, unless a turn is running; then they are recorded at its end."""
        if not self.is_turn_running():
            await self.record_held_messages()

    async def record_held_messages(self) -> None:
        """Records the held results of finished commands."""
        held, self._held_messages = self._held_messages, []
        for message in held:
            stored = self.conversation.record_message(message)
            await self.event_bus.publish(MessageEnd(message=stored, message_id=stored.id))

    async def _run_command(self, command: str, exclude: bool, update_id: str | None) -> BashExecutionMessage:
        async def on_output(text: str) -> None:
            await self.event_bus.publish(BashExecutionUpdate(id=update_id, delta=text))

        opinion = await self.hooks.before_user_command(command, exclude)
        if opinion.refusal is not None:
            raise CommandBlocked(opinion.refusal)
        command = opinion.command or command
        await asyncio.to_thread(self.masking.search_files, command)
        result = opinion.result or await run_user_command(command, self.workspace, on_output)
        message = BashExecutionMessage(
            command=command,
            output=result.output,
            exit_code=result.exit_code,
            cancelled=result.cancelled,
            truncated=result.truncated,
            full_output_path=result.full_output_path,
            exclude_from_context=exclude or None,
        )
        return await asyncio.to_thread(self.masking.mask_message, message, "your command")
