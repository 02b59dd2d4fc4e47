"""Watches tool calls while their arguments arrive, and cancels the answer early when a call cannot work."""

from collections.abc import Callable

from app.values.content import ToolCall
from app.values.messages import AssistantMessage
from app.values.stream import BlockEvent
from tools.results import ToolResult


class CallWatch:
    """The default watch: it never cancels an answer."""

    def begin(self, message_id: str, cancel: Callable[[], None]) -> None:
        """An answer begins to arrive; `cancel` ends it with what has arrived."""

    def hear(self, event: BlockEvent) -> None:
        """Takes the next event of the answer."""

    def cut(self, message: AssistantMessage) -> AssistantMessage | None:
        """Returns a cancelled answer up to the doomed call, if this watch cancelled it; otherwise None."""
        return None

    def refusal(self, call: ToolCall) -> ToolResult | None:
        """Returns the result of the doomed call, which never runs because its arguments are incomplete."""
        return None
