"""Commands that the person runs (`!cmd`, `!!cmd`): one at a time, with the model's own executor."""

import asyncio
from collections.abc import Callable
from functools import partial

import msgspec

from app.engine.core.conversation import Conversation
from app.engine.core.event_bus import EventBus
from app.engine.core.hooks import Hooks
from app.engine.core.prompt_intake import Refused
from app.engine.secrets.session_mask import SessionMask
from app.engine.user_runs.one_at_a_time import SingleTask
from app.values.events import BashExecutionUpdate, MessageEnd
from app.values.messages import BashExecutionMessage, CustomMessage
from tools.running.user_shell.user_commands import run_user_command
from tools.workspace import Workspace


class CommandBlocked(Refused):
    """An extension does not want it."""


class UserShell(msgspec.Struct, eq=False):
    """Runs a command; what came of it is recorded when that is asked for."""

    workspace: Workspace
    conversation: Conversation
    hooks: Hooks
    masking: SessionMask
    telling: EventBus
    has_turn: Callable[[], bool]
    """A turn is under way, behind which what a person runs is recorded."""
    _held_back: list[BashExecutionMessage | CustomMessage] = msgspec.field(
        default_factory=list[BashExecutionMessage | CustomMessage]
    )
    underway: SingleTask[BashExecutionMessage] = msgspec.field(
        default_factory=partial(SingleTask[BashExecutionMessage], "A command is already running.")
    )

    async def run(
        self, command: str, *, exclude: bool = False, update_id: str | None = None
    ) -> BashExecutionMessage:
        """Runs a person's command; the model reads it with the next request unless `exclude`."""
        message = await self.underway.run(lambda: self._execute(command, exclude, update_id))
        if message is None:  # it was stopped before it began
            message = BashExecutionMessage(
                command=command,
                output="",
                cancelled=True,
                truncated=False,
                exclude_from_context=exclude or None,
            )
        self._held_back.append(message)
        await self.record_after_turn()
        return message

    def abort(self) -> None:
        self.underway.abort()

    def hold_back(self, message: CustomMessage) -> None:
        """To be recorded with the commands."""
        self._held_back.append(message)

    async def record_after_turn(self) -> None:
        """Records what ran, unless a turn is under way: its end does."""
        if not self.has_turn():
            await self.record_held_back()

    async def record_held_back(self) -> None:
        """What ran: at once, or behind the turn that was under way beside it."""
        held, self._held_back = self._held_back, []
        for message in held:
            stored = self.conversation.record(message)
            await self.telling.publish(MessageEnd(message=stored))

    async def _execute(self, command: str, exclude: bool, update_id: str | None) -> BashExecutionMessage:
        async def on_output(text: str) -> None:
            await self.telling.publish(BashExecutionUpdate(id=update_id, delta=text))

        opinion = await self.hooks.before_shell(command, exclude)
        if opinion.refusal is not None:
            raise CommandBlocked(opinion.refusal)
        command = opinion.command or command
        await asyncio.to_thread(self.masking.look, command)
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
        return await asyncio.to_thread(self.masking.said, message, "your command")
