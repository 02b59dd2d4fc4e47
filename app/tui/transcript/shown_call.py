"""A tool call on the screen, also while its arguments stream."""

import msgspec

from app.agent.outcomes import result_from_outcome
from app.values.content import ToolCall
from app.values.events import ToolOutcome
from tools.results import ToolResult
from tools.streamed import StreamedJson
from widgets.transcript.blocks import CardState


class ShownCall(msgspec.Struct, kw_only=True):
    """The state of a tool call in the transcript."""

    block_id: str
    call: ToolCall
    heard: list[str] = msgspec.field(default_factory=list)
    """Streamed pieces of the arguments that are not parsed yet."""
    arguments: StreamedJson = msgspec.field(default_factory=StreamedJson)
    drawn: float = 0.0
    is_over: bool = False
    preview: ToolResult | None = None
    """The diffs that the call would produce, once its arguments are complete."""
    started: float | None = None
    is_asked_about: bool = False
    """Whether the call waits for the user's approval."""
    outcome: ToolOutcome | None = None

    @property
    def state(self) -> CardState:
        """The card state while the call has not ended."""
        if self.is_asked_about:
            return CardState.ASKED
        return CardState.PENDING if self.started is None else CardState.RUNNING

    @property
    def result(self) -> ToolResult | None:
        """The result to draw: the outcome, or the preview before it."""
        return self.preview if self.outcome is None else result_from_outcome(self.outcome)
