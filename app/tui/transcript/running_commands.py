"""Shows the user's `!` command while it runs, and until it is recorded.

It runs besides the agent; while the agent works, its record follows after the turn."""

from collections import deque

import msgspec

from app.tui.transcript import replay
from app.tui.transcript.running_cells import RunningCells
from app.values.messages import BashExecutionMessage
from widgets.transcript.blocks import CardState
from widgets.transcript.view import Transcript

MOST_KEPT = 20_000
"""The maximum number of characters kept of a running command's output."""


class RunningCommands:
    """Shows the user's commands: one runs at a time, and several may wait to be recorded."""

    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript
        self._cells = RunningCells(transcript)
        self.takes = self._cells.takes
        """Handles events of Python cells, which have separate events."""
        self._shown: deque[str] = deque()
        """Blocks of commands that are not recorded yet, oldest first."""
        self._count = 0
        self._running: BashExecutionMessage | None = None

    def begin(self, command: str, *, exclude: bool) -> None:
        self._count += 1
        self._shown.append(f"own-command-{self._count}")
        self._running = BashExecutionMessage(command=command, output="", exclude_from_context=exclude or None)
        self._draw(self._running, CardState.RUNNING)

    def hear(self, delta: str) -> None:
        if self._running is not None:
            output = (self._running.output + delta)[-MOST_KEPT:]
            self._running = msgspec.structs.replace(self._running, output=output)
            self._draw(self._running, CardState.RUNNING)

    def end(self, message: BashExecutionMessage | None) -> None:
        """Ends the running command. Without a message it did not run, and its block is removed."""
        was_running, self._running = self._running is not None, None
        if message is None:
            if was_running and self._shown:
                self._transcript.remove_block(self._shown.pop())
        elif self._shown:
            self._draw(message, None)

    def recorded(self) -> None:
        """Removes the oldest command's temporary block, because its recorded block is shown now."""
        if self._shown:
            self._transcript.remove_block(self._shown.popleft())

    def forget(self) -> None:
        """Forgets all commands, because another conversation is shown."""
        self._cells.forget()
        self._shown.clear()
        self._running = None

    def _draw(self, message: BashExecutionMessage, state: CardState | None) -> None:
        if self._shown:
            block = replay.command_block(self._shown[-1], message)
            self._transcript.add(msgspec.structs.replace(block, state=state) if state else block)
