"""What is seen of a person's own `$` cell while it runs; its record takes that block's place."""

from app.agent.outcomes import from_message
from app.tui.transcript.cell_block import running_cell
from app.values.cells import is_own_cell
from app.values.events import ToolExecutionEnd, ToolExecutionStart, ToolExecutionUpdate, ToolOutcome
from app.values.messages import ToolResultMessage
from tools.results import ToolResult
from widgets.transcript.view import Transcript


class ShownCells:
    """Their events are those of tools, but no answer has asked for them."""

    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript
        self._arguments: dict[str, object] = {}

    def takes(self, event: ToolExecutionStart | ToolExecutionUpdate | ToolExecutionEnd) -> bool:
        """Whether the event is one of theirs, and done with here."""
        call_id = event.tool_call_id
        if not is_own_cell(call_id):
            return False
        if isinstance(event, ToolExecutionStart):
            self._arguments[call_id] = event.args
            self._draw(call_id, None)
        elif isinstance(event, ToolExecutionUpdate):
            self._draw(call_id, event.partial_result)
        else:
            self._draw(call_id, event.result)
            self._arguments.pop(call_id, None)
        return True

    def forget(self) -> None:
        """Another conversation is shown."""
        self._arguments.clear()

    def _draw(self, call_id: str, outcome: ToolOutcome | None) -> None:
        if call_id in self._arguments:
            block = running_cell(call_id, self._arguments[call_id], _result(call_id, outcome))
            self._transcript.add(block)


def _result(call_id: str, outcome: ToolOutcome | None) -> ToolResult | None:
    if outcome is None:
        return None
    return from_message(
        ToolResultMessage(
            tool_call_id=call_id, tool_name="eval", content=outcome.content, details=outcome.details
        )
    )
