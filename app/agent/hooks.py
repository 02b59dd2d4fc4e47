"""Hooks of the agent loop, with defaults that change nothing.

`app.engine.core.hooks` implements these hooks and more for a session."""

from typing import Any

import msgspec

from app.values.content import ToolCall
from app.values.messages import AssistantMessage, ToolResultMessage
from tools.results import ToolResult


class CallVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """The decision on a call before it runs."""

    is_blocked: bool = False
    reason: str = ""
    terminate: bool = False
    arguments: dict[str, Any] | None = None
    """Replaces the arguments; they are validated like the model's."""


class TurnOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """The answer and the tool results of a finished turn."""

    message: AssistantMessage
    results: tuple[ToolResultMessage, ...]


class LoopHooks:
    """The default hooks: nothing is changed, blocked or ended."""

    async def seal(self, message: AssistantMessage) -> AssistantMessage:
        """May change a finished answer before it is recorded."""
        return message

    async def before_tool(
        self, call: ToolCall, arguments: dict[str, Any], parent_id: str | None = None
    ) -> CallVerdict:
        """May block a call or change its arguments. An exception blocks the call. `parent_id`: the call
        within which it is made."""
        return CallVerdict()

    async def after_tool(
        self, call: ToolCall, arguments: dict[str, Any], result: ToolResult, parent_id: str | None = None
    ) -> ToolResult:
        """May change a result before the model reads it."""
        return result

    async def after_turn(self, outcome: TurnOutcome) -> bool:
        """Returns True to end the run here."""
        return False
