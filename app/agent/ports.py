"""What the loop is given: how to ask the model, which tools there are, whom to consult. It knows nobody else.

Each field has a default that does nothing, so that a test names only what it is about.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal

import msgspec

from app.agent.abort import Abort
from app.agent.queues import Queues
from app.providers.contract import AssistantStream
from app.values.content import ToolCall
from app.values.messages import AssistantMessage, SystemMessage, ToolResultMessage
from tools.base import Tool, ToolContext
from tools.results import ToolResult

InterruptMode = Literal["wait", "immediate"]


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What is decided of a call before it runs."""

    is_blocked: bool = False
    reason: str = ""
    terminate: bool = False
    arguments: dict[str, Any] | None = None
    """Replaces the arguments; they are validated like the model's."""


class TurnOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """A turn that has just ended, for `after_turn`."""

    message: AssistantMessage
    results: tuple[ToolResultMessage, ...]


async def _allow(call: ToolCall, arguments: dict[str, Any]) -> Verdict:
    return Verdict()


async def _keep(call: ToolCall, arguments: dict[str, Any], result: ToolResult) -> ToolResult:
    return result


async def _as_it_is(message: AssistantMessage) -> AssistantMessage:
    return message


async def _nothing_before() -> None:
    return None


async def _nothing_after(outcome: TurnOutcome) -> bool:
    return False


class Ports(msgspec.Struct, frozen=True, kw_only=True):
    ask: Callable[[], Awaitable[AssistantStream]]
    """Starts a request with everything that is in the conversation now."""
    tools: Callable[[], Mapping[str, Tool]] = dict
    tool_context: Callable[[ToolCall, Callable[[ToolResult], None]], ToolContext]
    queues: Queues
    abort: Abort
    interrupt_mode: Callable[[], InterruptMode] = lambda: "wait"
    system_update: Callable[[], SystemMessage | None] = lambda: None
    """What changed in prompt and tools since the last request."""
    before_request: Callable[[], Awaitable[None]] = _nothing_before
    """May compact; runs after the turn's new messages are recorded."""
    seal: Callable[[AssistantMessage], Awaitable[AssistantMessage]] = _as_it_is
    """May change a finished answer before it is recorded."""
    before_tool: Callable[[ToolCall, dict[str, Any]], Awaitable[Verdict]] = _allow
    after_tool: Callable[[ToolCall, dict[str, Any], ToolResult], Awaitable[ToolResult]] = _keep
    after_turn: Callable[[TurnOutcome], Awaitable[bool]] = _nothing_after
    """True: end the run here."""
    will_retry: Callable[[AssistantMessage], bool] = lambda message: False
    report: Callable[[str], None] = lambda text: None
    """Told of a hook that failed and was passed over."""
    unwind_seconds: float = 5.0
    """How long a cancelled tool may take to end before it is left behind."""
