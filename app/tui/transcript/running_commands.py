"""Shows the user's own `!` command and `$` Python cell in the transcript while they run, until they are recorded. They
run besides the agent; while it works, their record follows after the turn."""

from collections import deque
from typing import Any

import msgspec

from app.agent.tool_results import tool_result_from_outcome
from app.tui.transcript import message_blocks
from app.tui.transcript.cell_block import finished_cell_block, running_cell_block
from app.tui.transcript.goal_block import RunningGoalChecks
from app.values.cells import is_user_cell_call_id
from app.values.events import ToolExecutionEnd, ToolExecutionStart, ToolExecutionUpdate
from app.values.messages import BashExecutionMessage
from widgets.transcript.transcript_blocks import CardState
from widgets.transcript.view import Transcript

MAX_KEPT_COMMAND_OUTPUT_CHARS = 20_000
"""The maximum number of characters kept of a running command's output."""


class RunningUserCommands:
    """Shows the user's own commands in the transcript: one runs at a time, and several may wait to be recorded."""

    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript
        self._cells = RunningPythonCells(transcript)
        self._checks = RunningGoalChecks(transcript)
        self._unrecorded_blocks: deque[str] = deque()
        """Blocks of commands that are not recorded yet, oldest first."""
        self._count = 0
        self._running: BashExecutionMessage | None = None

    def handle_event(self, event: ToolExecutionStart | ToolExecutionUpdate | ToolExecutionEnd) -> bool:
        """Shows a tool event of a Python cell or a goal's check, which no answer of the model calls; returns False for
        any other event."""
        return self._cells.handle_event(event) or self._checks.handle_event(event)

    def start_command(self, command: str, *, exclude: bool) -> None:
        self._count += 1
        self._unrecorded_blocks.append(f"own-command-{self._count}")
        self._running = BashExecutionMessage(command=command, output="", exclude_from_context=exclude or None)
        self._draw(self._running, CardState.RUNNING)

    def add_output(self, delta: str) -> None:
        if self._running is not None:
            output = (self._running.output + delta)[-MAX_KEPT_COMMAND_OUTPUT_CHARS:]
            self._running = msgspec.structs.replace(self._running, output=output)
            self._draw(self._running, CardState.RUNNING)

    def end_command(self, message: BashExecutionMessage | None) -> None:
        """Shows the end of the running command; if there is no message, it did not run, and its block is removed."""
        was_running, self._running = self._running is not None, None
        if message is None:
            if was_running and self._unrecorded_blocks:
                self._transcript.remove_block(self._unrecorded_blocks.pop())
        elif self._unrecorded_blocks:
            self._draw(message, None)

    def remove_temporary_block(self) -> None:
        """Removes the oldest command's temporary block, because its recorded block is shown now."""
        if self._unrecorded_blocks:
            self._transcript.remove_block(self._unrecorded_blocks.popleft())

    def forget(self) -> None:
        """Forgets all commands, because another conversation is shown."""
        self._cells.forget()
        self._unrecorded_blocks.clear()
        self._running = None

    def _draw(self, message: BashExecutionMessage, state: CardState | None) -> None:
        if self._unrecorded_blocks:
            block = message_blocks.user_command_block(self._unrecorded_blocks[-1], message)
            self._transcript.add(msgspec.structs.replace(block, state=state) if state else block)


class RunningPythonCells:
    """Shows the user's Python cells in the transcript while they run. Their events are tool events, although no answer
    of the model calls them."""

    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript
        self._arguments: dict[str, dict[str, Any]] = {}

    def handle_event(self, event: ToolExecutionStart | ToolExecutionUpdate | ToolExecutionEnd) -> bool:
        """Shows a tool event of a user's Python cell; returns False for any other event."""
        call_id = event.tool_call_id
        if not is_user_cell_call_id(call_id):
            return False
        if isinstance(event, ToolExecutionStart):
            self._arguments[call_id] = event.args
            self._transcript.add(running_cell_block(call_id, event.args, None))
        elif call_id not in self._arguments:
            pass  # it belongs to another conversation
        elif isinstance(event, ToolExecutionUpdate):
            self._transcript.add(
                running_cell_block(call_id, event.args, tool_result_from_outcome(event.partial_result))
            )
        else:
            known = {
                **self._arguments.pop(call_id),
                **(event.result.details or {}),
                "isError": event.is_error,
            }
            self._transcript.add(finished_cell_block(call_id, event.result.content, known, is_excluded=False))
        return True

    def forget(self) -> None:
        """Forgets all cells, because another conversation is shown."""
        self._arguments.clear()
