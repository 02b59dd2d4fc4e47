"""Shows the user's `$` cell while it runs, and until it is recorded."""

from typing import Any

from app.agent.outcomes import result_from_outcome
from app.tui.transcript.cell_block import cell_block, running_cell
from app.values.cells import is_user_cell
from app.values.events import ToolExecutionEnd, ToolExecutionStart, ToolExecutionUpdate
from widgets.transcript.view import Transcript


class RunningCells:
    """Shows running cells. Their events are tool events without an answer that calls the tool."""

    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript
        self._arguments: dict[str, dict[str, Any]] = {}

    def takes(self, event: ToolExecutionStart | ToolExecutionUpdate | ToolExecutionEnd) -> bool:
        """Handles the event if it belongs to a cell; returns whether it does."""
        call_id = event.tool_call_id
        if not is_user_cell(call_id):
            return False
        if isinstance(event, ToolExecutionStart):
            self._arguments[call_id] = event.args
            self._transcript.add(running_cell(call_id, event.args, None))
        elif call_id not in self._arguments:
            pass  # it belongs to another conversation
        elif isinstance(event, ToolExecutionUpdate):
            self._transcript.add(running_cell(call_id, event.args, result_from_outcome(event.partial_result)))
        else:
            known = {
                **self._arguments.pop(call_id),
                **(event.result.details or {}),
                "isError": event.is_error,
            }
            self._transcript.add(cell_block(call_id, event.result.content, known, is_excluded=False))
        return True

    def forget(self) -> None:
        """Forgets all cells, because another conversation is shown."""
        self._arguments.clear()
