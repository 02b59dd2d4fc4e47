"""Hooks of the agent loop, with defaults that change nothing.

`app.engine.core.hooks` implements these hooks and more for a session."""

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from app.values.content import ToolCall
from app.values.messages import AssistantMessage, ToolResultMessage
from tools.tool_result_values import ToolResult


class ToolCallVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """The decision of hooks or the permission gate on a tool call before it runs."""

    is_blocked: bool = False
    reason: str = ""
    denied_with: str | None = None
    """The reason that the user gave for denying the call, which may be empty; None if no user denied it."""
    should_end_run: bool = False
    arguments: dict[str, Any] | None = None
    """Arguments that replace the call's; they are validated like the model's. None: the call's stay."""
    note: str = ""
    """The note to the model about a call that runs, added after its result."""
    recheck: Callable[[], Awaitable[str]] | None = None
    """A function that returns why an allowed call may not begin any more; empty if it may. None: nothing is checked
    again."""


class FinishedTurn(msgspec.Struct, frozen=True, kw_only=True):
    """The answer and the tool results of a finished turn."""

    message: AssistantMessage
    results: tuple[ToolResultMessage, ...]


class AgentLoopHooks:
    """The default hooks: nothing is changed, blocked or ended."""

    async def change_finished_answer(self, message: AssistantMessage) -> AssistantMessage:
        """A hook that may change a finished answer before it is recorded."""
        return message

    async def before_tool(
        self, call: ToolCall, arguments: dict[str, Any], parent_id: str | None = None
    ) -> ToolCallVerdict:
        """A hook that may block a tool call or change its arguments. An exception blocks the call. `parent_id`:
        the call within which the call is made."""
        return ToolCallVerdict()

    async def after_tool(
        self, call: ToolCall, arguments: dict[str, Any], result: ToolResult, parent_id: str | None = None
    ) -> ToolResult:
        """A hook that may change a tool result before the model reads it."""
        return result

    async def after_turn(self, outcome: FinishedTurn) -> bool:
        """A hook that is called after each turn; True ends the run."""
        return False
