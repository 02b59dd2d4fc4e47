"""Calls while their arguments arrive: who looks at them, and may say that one cannot work, so that the rest of the
answer is not waited for."""

from collections.abc import Callable

from app.values.content import ToolCall
from app.values.messages import AssistantMessage
from app.values.stream import BlockEvent
from tools.results import ToolResult


class CallWatch:
    """Nobody looks."""

    def begin(self, message_id: str, cancel: Callable[[], None]) -> None:
        """An answer arrives. `cancel` ends it as it stands."""

    def hear(self, event: BlockEvent) -> None:
        """More of it."""

    def cut(self, message: AssistantMessage) -> AssistantMessage | None:
        """An answer that was cancelled, as it counts if that was for a call in it, which is its last; else None."""
        return None

    def refusal(self, call: ToolCall) -> ToolResult | None:
        """What that call is answered with. It never runs: its arguments are not whole."""
        return None
