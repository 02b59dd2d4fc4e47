"""What the loop asks others on its way, each question with the answer that changes nothing.

A session's own class of hooks answers these and more (`app.engine.core.hooks`).
"""

from typing import Any

import msgspec

from app.values.content import ToolCall
from app.values.messages import AssistantMessage, ToolResultMessage
from tools.results import ToolResult


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What is decided of a call before it runs."""

    is_blocked: bool = False
    reason: str = ""
    terminate: bool = False
    arguments: dict[str, Any] | None = None
    """Replaces the arguments; they are validated like the model's."""


class TurnOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """A turn that has just ended."""

    message: AssistantMessage
    results: tuple[ToolResultMessage, ...]


class LoopHooks:
    """Nobody has an opinion."""

    async def seal(self, message: AssistantMessage) -> AssistantMessage:
        """May change a finished answer before it is recorded."""
        return message

    async def before_tool(
        self, call: ToolCall, arguments: dict[str, Any], parent_id: str | None = None
    ) -> Verdict:
        """May block a call or change its arguments. One that raises closes the gate. `parent_id`: the call within
        which it is made."""
        return Verdict()

    async def after_tool(
        self, call: ToolCall, arguments: dict[str, Any], result: ToolResult, parent_id: str | None = None
    ) -> ToolResult:
        """May change a result before the model reads it."""
        return result

    async def after_turn(self, outcome: TurnOutcome) -> bool:
        """True ends the run here."""
        return False
