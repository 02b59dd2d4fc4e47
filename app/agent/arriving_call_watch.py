"""Watches tool calls while their arguments arrive, and cancels the answer early when a call cannot work."""

from collections.abc import Callable

from app.values.content import ToolCall
from app.values.messages import AssistantMessage
from app.values.stream import BlockEvent
from tools.tool_result_values import ToolResult


class ArrivingCallWatch:
    """The default watch over tool calls that arrive in an answer: it never cancels the answer."""

    def start_watching_answer(self, message_id: str, cancel: Callable[[], None]) -> None:
        """Is called when an answer begins to arrive; `cancel` ends the answer with what has arrived."""

    def handle_stream_event(self, event: BlockEvent) -> None:
        """Is called with each stream event of the arriving answer."""

    def cut_before_doomed_call(self, message: AssistantMessage) -> AssistantMessage | None:
        """Returns a cancelled answer up to the doomed call, if this watch cancelled it; otherwise None."""
        return None

    def result_of_doomed_call(self, call: ToolCall) -> ToolResult | None:
        """Returns the result of the doomed call, which never runs because its arguments are incomplete."""
        return None
