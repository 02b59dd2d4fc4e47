"""The state of a tool call in the transcript, also while its arguments stream."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec

from app.agent.tool_results import tool_result_from_outcome
from app.values.content import ToolCall
from app.values.events import ToolOutcome
from tools.streamed_json import StreamedJsonParser
from tools.tool_result_values import ToolResult
from widgets.transcript.transcript_blocks import CardState


class ShownToolCall(msgspec.Struct, kw_only=True):
    """The state of a tool call as the transcript shows it: arguments so far, preview, waiting, outcome."""

    block_id: str
    call: ToolCall
    argument_pieces: list[str] = msgspec.field(default_factory=list)
    """Streamed pieces of the arguments that are not parsed yet."""
    arguments: StreamedJsonParser = msgspec.field(default_factory=StreamedJsonParser)
    drawn_at: float = 0.0
    has_ended: bool = False
    preview: ToolResult | None = None
    """The diffs that the call would produce, once its arguments are complete."""
    started_at: float | None = None
    is_asked_about: bool = False
    """Whether the call waits for the user's approval."""
    is_behind_question: bool = False
    """Whether the call has not begun because another call of its answer waits for approval."""
    outcome: ToolOutcome | None = None

    @property
    def state(self) -> CardState:
        """The card's state while the call has not ended: waiting for approval, running, or pending."""
        if self.is_asked_about:
            return CardState.ASKED
        return CardState.PENDING if self.started_at is None or self.is_waiting else CardState.RUNNING

    @property
    def is_waiting(self) -> bool:
        """Whether the tool call cannot begin before the user answers a question about it or an earlier call."""
        return self.is_asked_about or self.is_behind_question

    @property
    def result(self) -> ToolResult | None:
        """The result that the card draws: the outcome, or before it the preview of what the call would change."""
        return self.preview if self.outcome is None else tool_result_from_outcome(self.outcome)


MIN_SECONDS_BETWEEN_CALL_DRAWINGS = 0.15
"""Minimum seconds between two drawings of a call whose arguments stream."""


class StreamedToolCalls(msgspec.Struct, frozen=True):
    """Draws tool calls while their arguments stream in from the model."""

    has_preview: Callable[[str], bool]
    preview: Callable[[str, Mapping[str, Any]], Awaitable[ToolResult | None]]
    draw: Callable[[ShownToolCall], None]
    spawn: Callable[[Awaitable[None]], object]
    clock: Callable[[], float]

    def add_arguments(self, known: ShownToolCall, delta: str) -> None:
        known.argument_pieces.append(delta)
        now = self.clock()
        if now - known.drawn_at < MIN_SECONDS_BETWEEN_CALL_DRAWINGS:
            return
        known.drawn_at = now
        heard, known.argument_pieces = known.argument_pieces, []
        known.arguments.parse_chunk("".join(heard))
        known.call = msgspec.structs.replace(known.call, arguments=dict(known.arguments.partial_members()))
        self.draw(known)

    def draw_complete_call(self, known: ShownToolCall) -> None:
        """Draws a call whose arguments are complete, and starts its preview."""
        self.draw(known)
        if self.has_preview(known.call.name):
            self.spawn(self._show_preview(known))

    async def _show_preview(self, known: ShownToolCall) -> None:
        preview = await self.preview(known.call.name, known.call.arguments)
        if preview is not None and not known.has_ended:
            known.preview = preview
            self.draw(known)
